// pmdk_locks.hpp: the loop over a lock, for any kind of lock.
//
// `Locks` has, for a lock number: lock_mutex, unlock_mutex, lock_shared, unlock_shared,
// lock_unique, unlock_unique; Status open(const Context&, unsigned locks), close(), std::uint64_t&
// counter(number) that the lock protects, has(operation) and facts(context). Internal to
// bench/blocks.
#pragma once

#include <holdfast/peers/blocks/pmdk_suite.hpp>

namespace holdfast::bench::blocks {

inline constexpr unsigned kLocksMax = 64;  // As many as threads.

// That locks exclude one another is the answer that is checked: a counter behind each of them, that
// no thread changes but under the lock, has counted every operation.
template <class Locks>
class LockSubject final : public BlockSubject {
 public:
  LockSubject(const Context& context, const LockShape& shape)
      : BlockSubject(context), shape_(shape) {}
  ~LockSubject() override { locks_.close(); }

  Status create() override { return locks_.open(context_); }
  bool supports(const std::string& operation) const override { return locks_.has(operation); }
  bool counts_persists() const override { return false; }
  std::uint64_t operations_bound(const std::string&) const override { return shape_.operations; }
  results::Fields facts() const override { return locks_.facts(context_); }
  Status before(const Phase&) override {
    for (unsigned i = 0; i < kLocksMax; ++i)
      locks_.counter(i) = 0;
    done_.store(0);
    return {};
  }
  Status run(PhaseThread& thread) override {
    const unsigned number = shape_.shared ? 0 : thread.index() % kLocksMax;
    auto& counter = locks_.counter(number);
    const auto& operation = thread.phase().operation;
    const auto loop = [&](auto&& body) {
      return timed_loop(thread, 128, 1, 0, [&](std::uint64_t) { body(); });
    };
    Status status;
    if (operation == "mutex") {
      status = loop([&] {
        locks_.lock_mutex(number);
        ++counter;
        locks_.unlock_mutex(number);
      });
    } else if (operation == "write_lock") {
      status = loop([&] {
        locks_.lock_unique(number);
        ++counter;
        locks_.unlock_unique(number);
      });
    } else {
      std::uint64_t sum = 0;
      status = loop([&] {
        locks_.lock_shared(number);
        sum += *static_cast<volatile std::uint64_t*>(&counter) + 1;
        locks_.unlock_shared(number);
      });
      if (sum != thread.operations) thread.wrong("a reader saw a writer where there is none");
    }
    done_.fetch_add(thread.operations);
    return status;
  }
  Status after(const Phase& phase) override {
    std::uint64_t counted = 0;
    for (unsigned i = 0; i < kLocksMax; ++i)
      counted += locks_.counter(i);
    if (phase.operation != "read_lock" && counted != done_.load())
      return Error{Errc::kCorrupt, "wrong: " + std::to_string(done_.load()) +
                                       " operations under the lock were counted as " +
                                       std::to_string(counted)};
    return {};
  }
  void destroy() override { locks_.close(); }

 private:
  const LockShape shape_;
  Locks locks_;
  std::atomic<std::uint64_t> done_{0};
};

template <class Locks>
SubjectEntry lock_entry(const std::string& name, const Context& context, const LockShape& shape) {
  return subject_entry<LockSubject<Locks>>(name, context, shape);
}

}  // namespace holdfast::bench::blocks
