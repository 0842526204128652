#include <holdfast/kv/record_lines.hpp>

#define HF_VERB [[gnu::flatten, gnu::target(HF_TARGET_AVX2)]]
#include <holdfast/kv/verbs_of_path.inc>

namespace holdfast::kv {
namespace {

template <LineWay kWay, Patchable kPatch>
using Path = HotPath<Avx2Lines, kWay, kPatch>;

template <LineWay kWay>
Verbs verbs_on(Patchable patchable) {
  using Read = ReadsOn<Path<LineWay::kStore, Patchable::kNone>>;
  return patchable == Patchable::kNone ? verbs_of<WritesOn<Path<kWay, Patchable::kNone>>, Read>()
                                       : verbs_of<WritesOn<Path<kWay, Patchable::kFirst>>, Read>();
}

}  // namespace

Verbs verbs_avx2(LineWay way, Patchable patchable) {
  switch (way) {
    case LineWay::kStore: return verbs_on<LineWay::kStore>(patchable);
    case LineWay::kWriteBack: return verbs_on<LineWay::kWriteBack>(patchable);
    case LineWay::kStream: break;
  }
  return verbs_on<LineWay::kStream>(patchable);
}

}  // namespace holdfast::kv
