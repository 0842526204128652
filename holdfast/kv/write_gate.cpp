#include <holdfast/kv/write_gate.hpp>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/event_queue.hpp>

namespace holdfast::kv {

Error WriteGate::refusal() const {
  if (read_only_) {
    return {Errc::kReadOnly,
            "the store was opened read-only; reopen it with RegionAccess::kOpen to write"};
  }
  if (left_to_parent_) return refusal_to_child();
  if (const auto cause = failure()) {
    return {Errc::kReadOnly,
            "the store refuses writes since " + cause->message() +
                "; what was acknowledged before stays readable, close it and check the medium"};
  }
  return {Errc::kUnsupported,
          "durability=power on a medium that loses everything with the power (" + loses_power_ +
              "); use a file, persistent memory, or durability=process"};
}

Error WriteGate::refusal_to_child() {
  return {Errc::kClosed,
          "this process was forked from the one that opened the store, which alone may use it and "
          "close it; open the store after the fork"};
}

void WriteGate::fail(const Error& error) {
  if (error.code != Errc::kNoSpace && error.code != Errc::kTooLarge) fail_in_doubt(error);
}

void WriteGate::fail_in_doubt(const Error& error) {
  const Lock lock(mutex_);
  if (!failure_ && events_ != nullptr) events_->post(FailureEvent{error});
  if (!failure_) failure_ = error;
  close();
}

WriteGate::Hold::Hold(WriteGate& gate, EpochDomain& epochs) HF_ACQUIRE(gate.holding_)
    : gate_(gate) {
  gate.holding_.lock();
  gate.held_.store(true, std::memory_order_release);
  gate.takes_all_.store(false, std::memory_order_release);
  HF_MUTANT("K140", epochs.synchronize_writers(), void());
}

WriteGate::Hold::~Hold() HF_RELEASE(gate_.holding_) {
  {
    const Lock lock(gate_.mutex_);
    gate_.held_.store(false, std::memory_order_release);
    gate_.takes_all_.store(gate_.open() && gate_.gives_power_, std::memory_order_release);
  }
  gate_.holding_.unlock();
}

std::optional<Error> WriteGate::failure() const {
  const Lock lock(mutex_);
  return failure_;
}

}  // namespace holdfast::kv
