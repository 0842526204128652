// fiber.hpp: an interleaved operation as a C++20 coroutine.
// Public header.
//
//   Fiber<bool> insert(Member& member, Table& table, Key key) {
//     co_await touched(member, table.bucket(key));        // Others run until the line is there.
//     while (!member.latch(table.latch(key))) co_await blocked();
//     co_await switched();                                 // See Member::latch().
//     table.write(member, key);                            // Member's store and write_back.
//     co_await ordered(member);                            // The group's fence.
//     table.commit(member, key);
//     co_return true;                                      // Acknowledged after one more fence.
//   }
//
// Frames are recycled per thread: no allocation in the steady state.
// Threads    A fiber stays on the thread that made it.   Errors  An exception ends the process.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include <holdfast/base/thread_kept.hpp>
#include <holdfast/blocks/interleave/scheduler.hpp>

namespace holdfast::blocks {

namespace fiber_detail {

// Free frames by size, in steps of a line; larger ones come from the heap.
class FramePool {
 public:
  ~FramePool() {
    for (auto* block : free_) {
      while (block != nullptr)
        ::operator delete(std::exchange(block, block->next));
    }
  }
  void* take(std::size_t bytes) {
    const auto step = step_of(bytes);
    if (step >= kSteps) return ::operator new(bytes);
    if (auto* const block = free_[step]; block != nullptr) {
      free_[step] = block->next;
      return block;
    }
    return ::operator new((step + 1) * kCacheLineBytes);
  }
  void give(void* frame, std::size_t bytes) noexcept {
    const auto step = step_of(bytes);
    if (step >= kSteps) return ::operator delete(frame);
    free_[step] = new (frame) Block{free_[step]};
  }

 private:
  static constexpr std::size_t kSteps = 16;
  struct Block {
    Block* next;
  };
  static std::size_t step_of(std::size_t bytes) { return (bytes - 1) / kCacheLineBytes; }
  std::array<Block*, kSteps> free_{};
};

struct PromiseBase {
  Step step = Step::kAgain;  // Why it stands still.
  static void* operator new(std::size_t bytes) { return ThreadKept<FramePool>::get().take(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    if (auto* const pool = ThreadKept<FramePool>::peek()) return pool->give(frame, bytes);
    ::operator delete(frame);
  }
};

// Stands still for `step`, if at all.
struct Pause {
  Step step;
  bool stop;
  bool await_ready() const noexcept { return !stop; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
    self.promise().step = step;
  }
  void await_resume() const noexcept {}
};

}  // namespace fiber_detail

template <class T>
class [[nodiscard]] Fiber {
 public:
  struct promise_type : fiber_detail::PromiseBase {
    T result{};
    Fiber get_return_object() {
      return Fiber(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    fiber_detail::Pause final_suspend() noexcept { return {Step::kDone, true}; }
    void return_value(T value) { result = std::move(value); }
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };

  Fiber(Fiber&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Fiber& operator=(Fiber&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Fiber() {
    if (frame_) frame_.destroy();
  }

  Step step(Member&) {
    frame_.resume();
    return frame_.promise().step;
  }
  const T& result() const { return frame_.promise().result; }

 private:
  explicit Fiber(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

// For co_await: see Step.
inline fiber_detail::Pause touched(const Member& member, const void* address) {
  return {Step::kAgain, member.touch(address)};
}
inline fiber_detail::Pause ordered(Member& member, HF_SITE) {
  return {Step::kFence, member.order(site)};
}
inline fiber_detail::Pause switched() { return {Step::kAgain, true}; }
inline fiber_detail::Pause blocked() { return {Step::kBlocked, true}; }

}  // namespace holdfast::blocks
