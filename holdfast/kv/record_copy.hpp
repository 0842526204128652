// record_copy.hpp: a record moves to another place, checked and copied in one pass over its lines.
//
// The copy gets the sums of its new place: the old ones, changed by what place and seed change in
// them. So a damaged record stays damaged, whatever happens next; and since the sum of what was
// copied is known by then, the caller hears of it.
// Stores     Exactly the lines of the padded record, each once, line 0 last. Nothing is fenced.
// Reads      The same lines of the original, which nobody changes meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

#include <holdfast/kv/record_kernel.hpp>

namespace holdfast::kv {

// Where a record lies and where it goes: the seeds of both runs, and its word 3 there.
struct RecordMove {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t from_seed = 0, seed = 0;
  std::uint64_t place = 0;
};

// False: its sum does not hold, and neither does that of the copy. A record of version 2 whose
// lengths stay within its run. `isa` is at most record_isa().
bool copy_record_by(RecordIsa isa, const Persist& persist, const RecordMove& move,
                    const PatchableWords& words, HF_SITE);

}  // namespace holdfast::kv
