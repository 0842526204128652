// What a store tells of its own work, kept until it is asked for.
#include <algorithm>
#include <cstring>
#include <deque>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {

// The store's listener. Of more than kMost events that nobody took the oldest are dropped.
class KeptEvents final : public kv::EventListener {
 public:
  void on_recovery(const kv::RecoveryReport& report) noexcept override {
    hf_event event = of(HF_EVENT_RECOVERY);
    event.records = report.records;
    event.seconds = report.seconds;
    keep(event);
  }
  void on_growth(const kv::GrowthEvent& growth) noexcept override {
    hf_event event = of(HF_EVENT_GROWTH);
    event.bytes_before = growth.bytes_before;
    event.bytes_after = growth.bytes_after;
    keep(event);
  }
  void on_reclaim(const kv::ReclaimEvent& reclaim) noexcept override {
    hf_event event = of(HF_EVENT_RECLAIM);
    event.freed_blocks = reclaim.freed_blocks;
    event.relocated_bytes = reclaim.relocated_bytes;
    event.seconds = reclaim.seconds;
    event.in_caller = reclaim.in_caller;
    keep(event);
  }
  void on_failure(const kv::FailureEvent& failure) noexcept override {
    hf_event event = of(HF_EVENT_FAILURE);
    event.code = static_cast<std::int32_t>(failure.error.code);
    const std::string& text = failure.error.detail;
    std::memcpy(event.text, text.data(), std::min(text.size(), sizeof event.text - 1));
    keep(event);
  }
  void on_stall(const kv::StallEvent& stall) noexcept override {
    hf_event event = of(HF_EVENT_STALL);
    event.seconds = stall.seconds;
    event.made_room = stall.made_room;
    keep(event);
  }

  bool take(hf_event& event) {
    const Lock lock(mutex_);
    if (events_.empty()) return false;
    event = events_.front();
    events_.pop_front();
    return true;
  }

 private:
  static constexpr std::size_t kMost = 1024;

  static hf_event of(std::int32_t kind) {
    hf_event event{};
    event.size = sizeof event;
    event.kind = kind;
    return event;
  }
  void keep(const hf_event& event) noexcept {
    const Lock lock(mutex_);
    if (events_.size() == kMost) events_.pop_front();
    try {
      events_.push_back(event);
    } catch (const std::bad_alloc&) {
      // Nobody is told of it: there is no memory to do so.
    }
  }

  Mutex mutex_;
  std::deque<hf_event> events_ HF_GUARDED_BY(mutex_);
};

Opening::Opening(const hf_options* given) : options(options_of(given)) {
  if (given == nullptr || !given->keep_events) return;
  events = std::make_shared<KeptEvents>();
  options.listener = events;
}

}  // namespace holdfast::c

int32_t hf_options_keep_events(hf_options* options, int32_t keep) {
  return boundary([&]() -> Status {
    HF_NEEDS(options);
    options->keep_events = keep != 0;
    return {};
  });
}

int32_t hf_next_event(hf_store* store, hf_event* event) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(event);
    const std::uint64_t size = event->size;
    if (size < 2 * sizeof size)
      return Error{Errc::kInvalidOption,
                   "event->size=" + std::to_string(size) + "; sizeof(hf_event) is allowed"};
    if (store->events == nullptr)
      return Error{Errc::kInvalidOption,
                   "the store keeps no events; it must be opened with hf_options_keep_events"};
    hf_event taken;
    if (!store->events->take(taken)) return Error{Errc::kNotFound, "no event now"};
    taken.size = std::min<std::uint64_t>(size, sizeof taken);
    std::memcpy(event, &taken, taken.size);
    return {};
  });
}
