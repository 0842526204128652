#include <holdfast/base/result.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace holdfast {

std::string_view name(Errc code) {
  switch (code) {
    case Errc::kOk: return "kOk";
    case Errc::kInvalidOption: return "kInvalidOption";
    case Errc::kNotFound: return "kNotFound";
    case Errc::kAlreadyExists: return "kAlreadyExists";
    case Errc::kBusy: return "kBusy";
    case Errc::kNotHoldfast: return "kNotHoldfast";
    case Errc::kNewerFormat: return "kNewerFormat";
    case Errc::kWrongType: return "kWrongType";
    case Errc::kCorrupt: return "kCorrupt";
    case Errc::kNoSpace: return "kNoSpace";
    case Errc::kReadOnly: return "kReadOnly";
    case Errc::kIo: return "kIo";
    case Errc::kUnsupported: return "kUnsupported";
    case Errc::kTooLarge: return "kTooLarge";
    case Errc::kVersionMismatch: return "kVersionMismatch";
    case Errc::kClosed: return "kClosed";
  }
  return "kUnknown";
}

const Error& detail::ErrorWord::without_detail(Errc code) {
  static const std::array<Error, 16> errors = [] {
    std::array<Error, 16> all;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].code = static_cast<Errc>(i);
    return all;
  }();
  return errors[static_cast<std::size_t>(code)];
}

namespace {

[[noreturn]] void stop(const char* what, const std::source_location* where,
                       const std::string& why) noexcept {
  if (where != nullptr) {
    std::fprintf(stderr, "holdfast: %s at %s:%u, in %s%s\n", what, where->file_name(),
                 where->line(), where->function_name(), why.c_str());
  } else {
    std::fprintf(stderr, "holdfast: %s (value() instead of * or -> says where)%s\n", what,
                 why.c_str());
  }
  std::abort();
}

}  // namespace

void detail::stop_without_value(const Error& error, const std::source_location* where) noexcept {
  stop("the value of a failed Result was asked for", where, ": " + error.message());
}

void detail::stop_without_error(const std::source_location& where) noexcept {
  stop("the error of a successful Result was asked for", &where, "");
}

std::string Error::message() const {
  std::string text{name(code)};
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

}  // namespace holdfast
