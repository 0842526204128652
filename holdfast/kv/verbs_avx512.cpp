#include <holdfast/kv/record_lines.hpp>

#define HF_VERB [[gnu::flatten, gnu::target(HF_TARGET_AVX512)]]
#include <holdfast/kv/verbs_of_path.inc>

namespace holdfast::kv {

Verbs verbs_avx512(LineWay way, Patchable patchable, bool ordered) {
  return verbs_of_lines<Avx512Lines>(way, patchable, ordered);
}

}  // namespace holdfast::kv
