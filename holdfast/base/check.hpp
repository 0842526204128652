// check.hpp: our own mistakes stop the process before they harm the medium.
//
// HF_CHECK   always on; a violated invariant of ours prints where and what, then aborts.
// HF_DCHECK  the same in debug builds only, for hot or costly conditions.
// What comes from a medium or a user is never checked with these: it is returned as an Error.
#pragma once

namespace holdfast {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace holdfast

#define HF_CHECK(condition)                                     \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::holdfast::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)

#ifdef NDEBUG
#define HF_DCHECK(condition) \
  do {                       \
  } while (false && (condition))
#else
#define HF_DCHECK(condition) HF_CHECK(condition)
#endif
