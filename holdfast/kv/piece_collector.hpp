// piece_collector.hpp: removes the pieces that no record counts any more. pieces.hpp says which.
//
// For each record in pieces that died, under the latch of its key: what the key leads to, and the
// versions behind it, say how many pieces of that lineage are still counted. The others leave the
// index of pieces and are marked dead; reclamation gets their bytes back as those of any record.
// Nothing of this is written: after a crash sweep() finds the same pieces.
//
// Threads    One at a time (Maintenance's mutex), beside any others; the caller is in no guard.
// Complexity collect(): O(pieces removed). sweep(): O(pieces of the store).
#pragma once

#include <cstdint>
#include <string_view>

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
  // How many pieces of the lineage the key's records count, the versions behind them included.
  Result<std::uint32_t> counted(std::uint16_t space, Bytes key, std::uint64_t lineage);
  void remove(std::string_view piece);

  Rooms& rooms_;
};

}  // namespace holdfast::kv
