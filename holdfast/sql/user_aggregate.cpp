#include "user_aggregate.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include <holdfast/sql/nested.hpp>
#include <holdfast/sql/user_calls.hpp>

namespace holdfast::sql {
namespace {

// How long a state is, where there is none, or none that could be written.
constexpr std::uint32_t kNoState = ~std::uint32_t{0}, kUnwritten = kNoState - 1;

void append_length(std::uint32_t length, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
}

}  // namespace

// The object of the user.
class UserState::Held {
 public:
  explicit Held(const functions::Aggregate& calls) : calls_(calls) {
    UserReply reply;
    state_ = calls_.create(reply);
    if (state_ == nullptr) fail(reply.error);
  }
  Held(const Held& other) : calls_(other.calls_), error_(other.error_), failed_(other.failed_) {
    if (failed_) return;
    UserReply reply;
    state_ = calls_.copy(other.state_, reply);
    if (state_ == nullptr) fail(reply.error);
  }
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (state_ != nullptr) calls_.destroy(state_);
  }

  using Change = bool (*)(void*, const functions::Slot*, functions::Reply&);
  void change(Change call, const UserAggregate& function, const Value& value) {
    if (failed_) return;
    std::vector<Value> parts;
    if (function.is_row) parts = parts_of(value, function.argument);
    const auto arguments = function.is_row ? std::span<const Value>(parts) : std::span(&value, 1);
    change(call, function, UserSlots(*function.overload, arguments).data());
  }
  bool change(Change call, const UserAggregate& function, const functions::Slot* arguments) {
    if (failed_) return false;
    UserReply reply;
    if (!call(state_, arguments, reply))
      fail(user_error(function.name, *function.overload, arguments, reply.error).detail);
    return !failed_;
  }
  void merge(const Held& other, const UserAggregate& function) {
    if (failed_) return;
    if (other.failed_) return fail(other.error_);
    UserReply reply;
    if (!calls_.merge(state_, other.state_, reply)) fail(function.name + ": " + reply.error);
  }
  Result<Value> result(const UserAggregate& function) const {
    if (failed_) return error();
    UserReply reply;
    const bool good = calls_.result(state_, reply);
    if (good) {
      auto value = reply.take(function.overload->result);
      if (value) return value;
      reply.error = value.error().detail;
    }
    return Error{Errc::kInvalidOption, function.name + ": " + reply.error};
  }
  // Empty: it could not.
  std::optional<std::string> encoded(const UserAggregate& function) {
    if (failed_) return std::nullopt;
    UserReply reply;
    if (calls_.encode(state_, reply) && reply.text.size() < kUnwritten)
      return std::move(reply.text);
    fail(function.name + ": its state cannot be written: " + reply.error);
    return std::nullopt;
  }
  bool decode(std::string_view bytes) {
    UserReply reply;
    return !failed_ && calls_.decode(state_, bytes.data(), bytes.size(), reply);
  }

  bool failed() const { return failed_; }
  Error error() const { return {Errc::kInvalidOption, error_}; }

 private:
  void fail(std::string error) {
    failed_ = true;
    error_ = std::move(error);
  }

  const functions::Aggregate& calls_;
  void* state_ = nullptr;
  std::string error_;
  bool failed_ = false;
};

UserState::UserState() = default;
UserState::UserState(const UserState& other)
    : held_(other.held_ == nullptr ? nullptr : std::make_unique<Held>(*other.held_)) {}
UserState::UserState(UserState&&) noexcept = default;
UserState& UserState::operator=(UserState other) noexcept {
  std::swap(held_, other.held_);
  return *this;
}
UserState::~UserState() = default;

UserState::Held& UserState::held(const UserAggregate& function) {
  if (held_ == nullptr) held_ = std::make_unique<Held>(*function.overload->aggregate);
  return *held_;
}

void UserState::add(const UserAggregate& function, const Value& value) {
  held(function).change(function.overload->aggregate->add, function, value);
}

void UserState::take_back(const UserAggregate& function, const Value& value) {
  held(function).change(function.overload->aggregate->take_back, function, value);
}

bool UserState::add(const UserAggregate& function, const functions::Slot* arguments) {
  return held(function).change(function.overload->aggregate->add, function, arguments);
}

bool UserState::take_back(const UserAggregate& function, const functions::Slot* arguments) {
  return held(function).change(function.overload->aggregate->take_back, function, arguments);
}

void UserState::merge(const UserAggregate& function, const UserState& other) {
  if (other.held_ == nullptr) return;
  if (held_ == nullptr)
    held_ = std::make_unique<Held>(*other.held_);
  else
    held_->merge(*other.held_, function);
}

Result<Value> UserState::result(const UserAggregate& function) const {
  if (held_ == nullptr) return Held(*function.overload->aggregate).result(function);
  return held_->result(function);
}

bool UserState::failed() const { return held_ != nullptr && held_->failed(); }
Error UserState::error() const { return held_->error(); }

void UserState::append_bytes(const UserAggregate& function, std::string& bytes) const {
  if (held_ == nullptr) return append_length(kNoState, bytes);
  const auto state = held_->encoded(function);
  append_length(state ? static_cast<std::uint32_t>(state->size()) : kUnwritten, bytes);
  if (state) bytes += *state;
}

bool UserState::take_bytes(const UserAggregate& function, std::string_view& bytes) {
  held_.reset();
  std::uint32_t length = 0;
  if (bytes.size() < sizeof length) return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  if (length == kNoState) return true;
  if (length > bytes.size()) return false;  // kUnwritten, too.
  const auto state = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return held(function).decode(state);
}

}  // namespace holdfast::sql
