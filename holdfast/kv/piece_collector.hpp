// piece_collector.hpp: removes the pieces that no record counts any more. pieces.hpp says which.
//
// For each record in pieces that died, under the latch of its key: what the key leads to, and the
// versions behind it, say how many pieces of that lineage are still counted. The others leave the
// index of pieces and are marked dead; reclamation gets their bytes back as those of any record.
// Nothing of this is written: after a crash sweep() finds the same pieces.
//
// When they leave    If the key's newest record is of the lineage, at once, under the latch: none
//                    ever counted more, and an append may put and count the same pieces as soon
//                    as the latch is free. If not, none will count them, but readers may have
//                    found one that did: when these are done.
//
// Threads    One at a time (Maintenance's mutex), beside any others; the caller is in no guard.
// Complexity collect(): O(pieces removed). sweep(): O(pieces of the store).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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
  // Pieces from `first` on that no record counts, nor ever will.
  struct Uncounted {
    Pieces::Ended ended;
    std::uint32_t first = 0;
  };
  // Removes what of the pieces from `from` on can go at once; puts what readers may need to `left`.
  Status look_at(const Pieces::Ended& ended, std::uint32_t from, std::vector<Uncounted>& left);
  void remove_after_readers(const std::vector<Uncounted>& left);
  void remove(const Pieces::Ended& ended, std::uint32_t first);
  void remove(std::string_view piece);

  Rooms& rooms_;
};

}  // namespace holdfast::kv
