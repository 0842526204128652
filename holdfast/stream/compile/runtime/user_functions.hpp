// user_functions.hpp: functions and aggregates that users wrote in C++, which the command calls
// (sql/function.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include <holdfast/stream/compile/runtime/values.hpp>

namespace holdfast::query {

// The arguments of a call. Braces evaluate them in their order.
template <std::size_t kCount>
struct Arguments {
  Slot all[kCount + 1];
};

template <class T, std::size_t kCount>
Maybe<T> called(Run& run, std::uint32_t call, const Arguments<kCount>& arguments) {
  Slot out;
  if (run.failed) return {};
  if (!run.host.call(call, arguments.all, out)) run.failed = true;
  if constexpr (std::is_same_v<T, Text>) run.output.texts().note_of_command(out.text.size);
  return run.failed ? Maybe<T>{} : from_slot<T>(out);
}

// Of the aggregates of this process: set before there is a state.
template <std::uint32_t kNumber>
inline std::atomic<const UserAggregate*> user_aggregate{nullptr};

// A state of user_aggregate<kNumber>, which is the query's number kPart. `T`: of its result.
template <std::uint32_t kNumber, std::uint32_t kPart, class T>
class OfUser {
 public:
  OfUser() = default;
  OfUser(const OfUser& other) : state_(calls().copy(other.state_)) {}
  OfUser(OfUser&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  OfUser& operator=(OfUser other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~OfUser() {
    if (state_ != nullptr) calls().destroy(state_);
  }

  template <std::size_t kCount>
  void add(Run& run, const Arguments<kCount>& arguments) {
    if (!run.failed && !calls().add(state_, arguments.all)) fail(run);
  }
  template <std::size_t kCount>
  void take_back(Run& run, const Arguments<kCount>& arguments) {
    if (!run.failed && !calls().take_back(state_, arguments.all)) fail(run);
  }
  void merge(const OfUser& other) { calls().merge(state_, other.state_); }
  Maybe<T> result(Run& run) const {
    Slot out;
    if (run.failed) return {};
    if (!run.host.user_result(kPart, state_, out)) run.failed = true;
    if constexpr (std::is_same_v<T, Text>) run.output.texts().note_of_command(out.text.size);
    return run.failed ? Maybe<T>{} : from_slot<T>(out);
  }
  void append(std::string& bytes) const {
    const Text written = calls().write(state_);
    bytes.append(written.data, written.size);
  }
  bool take(Text& bytes) { return calls().take(state_, bytes); }

 private:
  static const UserAggregate& calls() {
    return *user_aggregate<kNumber>.load(std::memory_order_relaxed);
  }
  void fail(Run& run) {
    run.host.fail_user(kPart, state_);
    run.failed = true;
  }

  void* state_ = nullptr;  // Null: no value was added.
};

}  // namespace holdfast::query
