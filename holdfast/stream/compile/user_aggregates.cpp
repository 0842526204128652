#include "user_aggregates.hpp"

#include <array>
#include <deque>
#include <string>

#include <holdfast/base/mutex.hpp>
#include <holdfast/sql/user_calls.hpp>

namespace holdfast::stream::compile {
namespace {

class CalledAggregate final : public query::UserAggregate {
 public:
  explicit CalledAggregate(const sql::UserAggregate& function) : function_(function) {}

  // The name is for errors: one function can have several.
  bool is(const sql::UserAggregate& function) const {
    return function_.overload == function.overload && function_.name == function.name;
  }

  void* copy(const void* state) const override {
    return state == nullptr ? nullptr : new sql::UserState(state_of(state));
  }
  void destroy(void* state) const override { delete static_cast<sql::UserState*>(state); }
  bool add(void*& state, const query::Slot* arguments) const override {
    return made(state).add(function_, Slots(function_, arguments).all.data());
  }
  bool take_back(void*& state, const query::Slot* arguments) const override {
    return made(state).take_back(function_, Slots(function_, arguments).all.data());
  }
  void merge(void*& state, const void* other) const override {
    if (other != nullptr) made(state).merge(state_of(other));
  }
  query::Text write(const void* state) const override {
    thread_local std::string bytes;
    bytes.clear();
    state_of(state).append_bytes(bytes);
    return {bytes.data(), bytes.size()};
  }
  bool take(void*& state, query::Text& bytes) const override {
    std::string_view rest(bytes.data, bytes.size);
    if (!made(state).take_bytes(function_, rest)) return false;
    bytes = {rest.data(), rest.size()};
    return true;
  }

 private:
  struct Slots {
    Slots(const sql::UserAggregate& function, const query::Slot* arguments) {
      for (std::uint32_t i = 0; i < function.overload->count; ++i)
        all[i] = slot_of(arguments[i]);
    }
    std::array<functions::Slot, sql::kMostUserArguments> all;
  };

  static sql::UserState& made(void*& state) {
    if (state == nullptr) state = new sql::UserState();
    return *static_cast<sql::UserState*>(state);
  }

  const sql::UserAggregate function_;
};

class AllAggregates {
 public:
  std::uint32_t number_of(const sql::UserAggregate& function) {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].is(function)) return static_cast<std::uint32_t>(i);
    }
    all_.emplace_back(function);
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  const query::UserAggregate* at(std::uint32_t number) {
    const Lock lock(mutex_);
    return &all_[number];
  }

 private:
  KernelMutex mutex_;
  std::deque<CalledAggregate> all_ HF_GUARDED_BY(mutex_);
};

AllAggregates& all_aggregates() {
  static AllAggregates all;
  return all;
}

}  // namespace

std::uint32_t number_of(const sql::UserAggregate& function) {
  return all_aggregates().number_of(function);
}

const query::UserAggregate* user_aggregate(std::uint32_t number) {
  return all_aggregates().at(number);
}

const sql::UserState& state_of(const void* state) {
  static const sql::UserState kNone;
  return state == nullptr ? kNone : *static_cast<const sql::UserState*>(state);
}

}  // namespace holdfast::stream::compile
