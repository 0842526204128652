// boundary.hpp: from C to C++ and back. No exception passes; each failure leaves a code, and its
// text for hf_last_error().
//
//   int32_t hf_sync(hf_store* store) {
//     return boundary([&]() -> Status {
//       HF_NEEDS(store);
//       return store->store.sync();
//     });
//   }
//
// Cost   of a success: nothing. Of a code without a text: a store to thread-local memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <holdfast/c/holdfast.h>
#include <holdfast/base/result.hpp>

namespace holdfast::c {

// Keeps what went wrong in this thread, and returns its code.
std::int32_t failed(Error error) noexcept;
// The same of what a Status released: a success saves no registers for it.
[[gnu::cold]] std::int32_t failed(std::uintptr_t error_word) noexcept;
std::int32_t out_of_memory() noexcept;
// The same of the exception that is being handled.
[[gnu::cold]] std::int32_t caught() noexcept;

[[gnu::cold]] detail::ErrorWord null_argument(const char* name);
Error unknown_number(const char* what, std::int64_t seen, const char* allowed);

template <class Body>
std::int32_t boundary(Body&& body) noexcept {
  try {
    Status status = body();
    if (status) [[likely]]
      return HF_OK;
    return failed(std::move(status).pass_on().release());
  } catch (...) {
    return caught();
  }
}

// Copies as much of `text` as has room, and a zero where that has room, too.
void copy_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* length);

}  // namespace holdfast::c

// An argument that must be there.
#define HF_NEEDS(pointer)                \
  if ((pointer) == nullptr) [[unlikely]] \
  return ::holdfast::c::null_argument(#pointer)
// Bytes of the caller: a pointer to so many.
#define HF_NEEDS_BYTES(pointer, count)                   \
  if ((pointer) == nullptr && (count) != 0) [[unlikely]] \
  return ::holdfast::c::null_argument(#pointer)
