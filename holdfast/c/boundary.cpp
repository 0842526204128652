#include <holdfast/c/boundary.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include <holdfast/base/thread_kept.hpp>

namespace holdfast::c {
namespace {

// The numbers of hf_code are those of Errc, for ever.
constexpr std::string_view kNames[] = {
    "HF_OK",          "HF_INVALID_OPTION", "HF_NOT_FOUND",        "HF_ALREADY_EXISTS",
    "HF_BUSY",        "HF_NOT_HOLDFAST",   "HF_NEWER_FORMAT",     "HF_WRONG_TYPE",
    "HF_CORRUPT",     "HF_NO_SPACE",       "HF_READ_ONLY",        "HF_IO",
    "HF_UNSUPPORTED", "HF_TOO_LARGE",      "HF_VERSION_MISMATCH", "HF_CLOSED"};
constexpr bool same(hf_code code, Errc errc) {
  return static_cast<int>(code) == static_cast<int>(errc);
}
static_assert(same(HF_OK, Errc::kOk) && same(HF_INVALID_OPTION, Errc::kInvalidOption) &&
              same(HF_NOT_FOUND, Errc::kNotFound) &&
              same(HF_ALREADY_EXISTS, Errc::kAlreadyExists) && same(HF_BUSY, Errc::kBusy) &&
              same(HF_NOT_HOLDFAST, Errc::kNotHoldfast) &&
              same(HF_NEWER_FORMAT, Errc::kNewerFormat) && same(HF_WRONG_TYPE, Errc::kWrongType) &&
              same(HF_CORRUPT, Errc::kCorrupt) && same(HF_NO_SPACE, Errc::kNoSpace) &&
              same(HF_READ_ONLY, Errc::kReadOnly) && same(HF_IO, Errc::kIo) &&
              same(HF_UNSUPPORTED, Errc::kUnsupported) && same(HF_TOO_LARGE, Errc::kTooLarge) &&
              same(HF_VERSION_MISMATCH, Errc::kVersionMismatch) && same(HF_CLOSED, Errc::kClosed));

// What this thread's last failure was; its text is put together when it is asked for.
constinit thread_local Errc last_code = Errc::kOk;
struct Words {
  std::string detail, text;
};

}  // namespace

std::int32_t failed(Error error) noexcept {
  last_code = error.code;
  try {
    ThreadKept<Words>::get().detail = std::move(error.detail);
  } catch (const std::bad_alloc&) {
    // The first failure of this thread, and no memory for its words.
  }
  return static_cast<std::int32_t>(error.code);
}

std::int32_t failed(std::uintptr_t error_word) noexcept {
  return failed(detail::ErrorWord::adopt(error_word).take());
}

std::int32_t out_of_memory() noexcept {
  last_code = Errc::kNoSpace;
  // Words would take memory.
  if (Words* const words = ThreadKept<Words>::peek()) words->detail.clear();
  return HF_NO_SPACE;
}

std::int32_t caught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return failed({Errc::kTooLarge, "a length beyond what memory can hold was given"});
  } catch (const std::exception& exception) {
    return failed({Errc::kIo, exception.what()});
  } catch (...) {
    return failed({Errc::kIo, "an exception of no known type"});
  }
}

detail::ErrorWord null_argument(const char* name) {
  return detail::ErrorWord(
      {Errc::kInvalidOption, std::string(name) + " is NULL; a valid pointer is needed"});
}

Error unknown_number(const char* what, std::int64_t seen, const char* allowed) {
  return {Errc::kInvalidOption,
          std::string(what) + "=" + std::to_string(seen) + "; " + allowed + " is allowed"};
}

void copy_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* length) {
  const std::size_t copied = std::min(text.size(), capacity);
  if (copied != 0) std::memcpy(buffer, text.data(), copied);
  if (copied < capacity) buffer[copied] = 0;
  *length = text.size();
}

}  // namespace holdfast::c

using namespace holdfast;

uint32_t hf_abi_version(void) { return HF_ABI_VERSION; }
const char* hf_version_string(void) { return HF_VERSION; }

const char* hf_code_name(int32_t code) {
  const bool known = code >= 0 && static_cast<std::size_t>(code) < std::size(c::kNames);
  return known ? c::kNames[code].data() : "HF_?";
}

const char* hf_last_error(void) {
  if (c::last_code == Errc::kOk) return "";
  const char* name = hf_code_name(static_cast<std::int32_t>(c::last_code));
  c::Words* const words = ThreadKept<c::Words>::peek();
  if (words == nullptr || words->detail.empty()) return name;
  try {
    words->text = std::string(name) + ": " + words->detail;
    return words->text.c_str();
  } catch (const std::bad_alloc&) {
    return name;
  }
}
