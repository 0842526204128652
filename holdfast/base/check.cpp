#include <holdfast/base/check.hpp>

#include <cstdio>
#include <cstdlib>

namespace holdfast {

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "holdfast: internal error: %s does not hold at %s:%d\n", condition, file,
               line);
  std::abort();
}

}  // namespace holdfast
