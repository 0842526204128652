// user_aggregate.hpp: an aggregate that a user wrote in C++ (function.hpp), and its state.
//
// A call that fails leaves its error in the state, which computes nothing from then on. Who adds
// looks at failed(), so that the query ends at once; else the result is that error.
//
// Threads  A state is used by one at a time; different ones by any number.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/function.hpp>
#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {

// It outlives its states.
struct UserAggregate {
  std::string name;  // With its version: plans are told apart by it.
  const functions::Overload* overload = nullptr;
  Type argument;        // Of a value that is added.
  bool is_row = false;  // Which is a ROW of the arguments, not the only one.

  bool takes_back() const { return overload->aggregate->take_back != nullptr; }
  bool merges() const { return overload->aggregate->merge != nullptr; }
};

class UserState {
 public:
  UserState();
  UserState(const UserState& other);
  UserState(UserState&&) noexcept;
  UserState& operator=(UserState other) noexcept;
  ~UserState();

  void add(const UserAggregate& function, const Value& value);
  void take_back(const UserAggregate& function, const Value& value);
  // The same of the arguments one by one. False: it has failed.
  bool add(const UserAggregate& function, const functions::Slot* arguments);
  bool take_back(const UserAggregate& function, const functions::Slot* arguments);
  void merge(const UserState& other);
  // Errors come without their place.
  Result<Value> result(const UserAggregate& function) const;

  bool failed() const { return held_ != nullptr && has_failed(); }
  Error error() const;

  // A state that cannot be written is one that take_bytes() refuses.
  void append_bytes(std::string& bytes) const;
  // Whether this thread wrote all that append_bytes() was asked to, since this was asked. Else the
  // bytes are of no use.
  static Status take_unwritten();
  bool take_bytes(const UserAggregate& function, std::string_view& bytes);

 private:
  class Held;
  Held& held(const UserAggregate& function);
  bool has_failed() const;

  std::unique_ptr<Held> held_;  // Null: no value was added.
};

}  // namespace holdfast::sql
