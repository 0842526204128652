#include "user_aggregate.hpp"

#include <cstring>
#include <optional>
#include <span>
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

// What append_bytes() of this thread could not write; empty: nothing.
thread_local std::string unwritten_of_user;

}  // namespace

// The object of the user.
class UserState::Held {
 public:
  explicit Held(const UserAggregate& function) : function_(function) {
    UserReply reply;
    state_ = calls().create(reply);
    if (state_ == nullptr) fail(reply.error);
  }
  Held(const Held& other)
      : function_(other.function_), error_(other.error_), failed_(other.failed_) {
    if (failed_) return;
    UserReply reply;
    state_ = calls().copy(other.state_, reply);
    if (state_ == nullptr) fail(reply.error);
  }
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (state_ != nullptr) calls().destroy(state_);
  }

  using Change = bool (*)(void*, const functions::Slot*, functions::Reply&);
  void change(Change call, const Value& value) {
    if (failed_) return;
    std::vector<Value> parts;
    if (function_.is_row) parts = parts_of(value, function_.argument);
    const auto arguments = function_.is_row ? std::span<const Value>(parts) : std::span(&value, 1);
    change(call, UserSlots(*function_.overload, arguments).data());
  }
  bool change(Change call, const functions::Slot* arguments) {
    if (failed_) return false;
    UserReply reply;
    if (!call(state_, arguments, reply))
      fail(user_error(function_.name, *function_.overload, arguments, reply.error));
    return !failed_;
  }
  void merge(const Held& other) {
    if (failed_) return;
    if (other.failed_) return fail(other.error());
    UserReply reply;
    if (!calls().merge(state_, other.state_, reply)) fail(reply.error);
  }
  Result<Value> result() const {
    if (failed_) return error();
    UserReply reply;
    if (!calls().result(state_, reply)) return user_error(function_.name, reply.error);
    const auto& type = function_.overload->result;
    if (const char* wrong = reply.misfit(type)) return user_error(function_.name, wrong);
    return reply.take(type);
  }
  // Nothing: it could not.
  std::optional<std::string> encoded() {
    if (failed_) return std::nullopt;
    UserReply reply;
    const bool good = calls().encode(state_, reply);
    if (good && reply.text.size() < kUnwritten) return std::move(reply.text);
    fail("its state cannot be written: " + (good ? "4 GiB or more" : reply.error));
    return std::nullopt;
  }
  bool decode(std::string_view bytes) {
    UserReply reply;
    return !failed_ && calls().decode(state_, bytes.data(), bytes.size(), reply);
  }

  bool failed() const { return failed_; }
  Error error() const { return {Errc::kInvalidOption, error_}; }

 private:
  const functions::Aggregate& calls() const { return *function_.overload->aggregate; }
  void fail(std::string_view what) { fail(user_error(function_.name, what)); }
  void fail(Error error) {
    failed_ = true;
    error_ = std::move(error.detail);
  }

  const UserAggregate& function_;
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
  if (held_ == nullptr) held_ = std::make_unique<Held>(function);
  return *held_;
}

void UserState::add(const UserAggregate& function, const Value& value) {
  held(function).change(function.overload->aggregate->add, value);
}

void UserState::take_back(const UserAggregate& function, const Value& value) {
  held(function).change(function.overload->aggregate->take_back, value);
}

bool UserState::add(const UserAggregate& function, const functions::Slot* arguments) {
  return held(function).change(function.overload->aggregate->add, arguments);
}

bool UserState::take_back(const UserAggregate& function, const functions::Slot* arguments) {
  return held(function).change(function.overload->aggregate->take_back, arguments);
}

void UserState::merge(const UserState& other) {
  if (other.held_ == nullptr) return;
  if (held_ == nullptr)
    held_ = std::make_unique<Held>(*other.held_);
  else
    held_->merge(*other.held_);
}

Result<Value> UserState::result(const UserAggregate& function) const {
  return held_ == nullptr ? Held(function).result() : held_->result();
}

bool UserState::has_failed() const { return held_->failed(); }
Error UserState::error() const { return held_->error(); }

void UserState::append_bytes(std::string& bytes) const {
  if (held_ == nullptr) return append_length(kNoState, bytes);
  const auto state = held_->encoded();
  append_length(state ? static_cast<std::uint32_t>(state->size()) : kUnwritten, bytes);
  if (state) bytes += *state;
  if (!state) unwritten_of_user = held_->error().detail;
}

Status UserState::take_unwritten() {
  if (unwritten_of_user.empty()) return {};
  return Error{Errc::kInvalidOption, std::exchange(unwritten_of_user, {})};
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
