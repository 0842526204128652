// piece_collector.hpp: removes the pieces that no record counts any more. pieces.hpp says which.
//
// For each record in pieces that died, under the latch of its key: what the key leads to, and the
// versions behind it, say how many pieces of that lineage are still counted. The others leave the
// index of pieces under the same latch, so that no append counts them meanwhile, and are marked dead;
// reclamation gets their bytes back as those of any record.
// Nothing of this is written: after a crash sweep() finds the same pieces.
//
// Threads    One at a time (Maintenance's mutex), beside any others; the caller is in no guard.
// Complexity collect(): O(pieces removed). sweep(): O(pieces of the store).
#pragma once

#include <cstdint>
#include <string_view>

#include <holdfast/kv/pieces.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

class PieceCollector {
 public:
  explicit PieceCollector(Rooms& rooms) : rooms_(rooms) {}

  // Those of records that died since the last call. Errors: kIo.
  Status collect();
  // Looks at all pieces: after a crash, and when a keyspace was dropped.
  Status sweep();

 private:
  // Under the latch of the key: of the pieces from `from` on, removes some that neither the key's
  // record nor a version behind it counts. Returns where to go on; `of.pieces`: there are no more.
  Result<std::uint32_t> remove_uncounted(const Pieces::Ended& of, std::uint32_t from);
  void remove(std::string_view piece);

  Rooms& rooms_;
};

}  // namespace holdfast::kv
