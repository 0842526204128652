#define HF_VERB [[gnu::flatten]]
#include <holdfast/kv/verbs_of_path.inc>

namespace holdfast::kv {

Verbs verbs_of_any() { return verbs_of<WritesOn<AnyPath>, ReadsOn<AnyPath>>(false); }

namespace {

Verbs best_verbs(const Rooms& rooms, RecordIsa at_most) {
  const Patchable patchable = patchable_of(rooms.records.patchable());
  if (rooms.medium.paged() || !rooms.index.hashes_by_instruction() || patchable == Patchable::kSome)
    return verbs_of_any();
  const bool ordered = rooms.index.is_ordered();
  const LineWay way = rooms.medium.persist().line_way();
  switch (std::min(at_most, record_isa())) {
    case RecordIsa::kAvx512: return verbs_avx512(way, patchable, ordered);
    case RecordIsa::kAvx2: return verbs_avx2(way, patchable, ordered);
    case RecordIsa::kPortable: break;
  }
  return verbs_of_any();
}

}  // namespace

Verbs verbs_for(const Rooms& rooms, RecordIsa at_most) {
  if (rooms.expiry.any()) return verbs_of_any();  // Only those ask.
  const Verbs best = best_verbs(rooms, at_most);
  if (!rooms.options.verify_reads) return best;
  // Only those of all media ask; but for verbs that read nothing that they tell.
  Verbs verbs = verbs_of_any();
  verbs.put = best.put;
  verbs.erase = best.erase;
  verbs.put_many = best.put_many;
  verbs.append_some = best.append_some;
  return verbs;
}

}  // namespace holdfast::kv
