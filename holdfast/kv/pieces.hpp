// pieces.hpp: values that grow without being rewritten. docs/pieces.md.
//
// The record that a key leads to (kInPieces) has the front of the value and its end; between them
// belong the pieces, which are records of a hidden keyspace, found by the key, the value's lineage
// and their number. A piece is written once, durably before the record that counts it, and serves
// all later records of its lineage: an append writes what is behind the last piece, and now and
// then that as a piece.
//
// A piece lives as long as a record that counts it: the one the key leads to, or a version that a
// snapshot sees. It has no tombstone: a piece that no record counts is garbage. When a record in
// pieces is marked dead, it is noted here. PieceCollector then removes the pieces that no record
// counts any more; after a crash it looks at all pieces.
//
// Invariant  A reader that is in a guard since it found a record finds its pieces: they are removed
//            only when all guards have ended that were there when the collector saw that nothing
//            counts them.
// Threads    Any.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/record.hpp>

namespace holdfast::kv {

struct Rooms;
struct SpaceRooms;

// What of a value in pieces lies in its record. Of a record that fits its run.
struct PiecesView {
  InPieces head{};
  std::string_view front, tail;

  // False: it is none.
  static bool read(const RecordView& record, PiecesView& view);
  std::uint64_t value_bytes() const { return front.size() + head.piece_bytes + tail.size(); }
};

// The key of a piece: the key itself, then lineage (8), number (4), keyspace (2), little-endian.
inline constexpr std::size_t kPieceSuffixBytes = 14;
std::string piece_key(std::string_view key, std::uint64_t lineage, std::uint32_t number,
                      std::uint16_t space);
struct PieceName {
  std::string_view key;
  std::uint64_t lineage = 0;
  std::uint32_t number = 0;
  std::uint16_t space = 0;
};
// False: it is no piece's key.
bool parse_piece_key(std::string_view key, PieceName& name);

class Pieces : public DeadWatch {
 public:
  // Values up to here are one record; what an append finds behind the last piece grows up to here.
  static constexpr std::uint64_t kPieceBytes = 1 * KiB;
  static constexpr std::uint64_t kFrontBytes = 64;

  explicit Pieces(Rooms& rooms) : rooms_(rooms) {}
  Pieces(const Pieces&) = delete;

  // Whether the store may have values in pieces. False for stores that never had one.
  bool any() const { return space_.load(std::memory_order_acquire) != nullptr; }
  SpaceRooms& space() const { return *space_.load(std::memory_order_acquire); }
  // What recovery found: pieces, or none.
  void adopt(SpaceRooms* found);
  // Before the first: says on the medium that there may be pieces. The caller is in no guard.
  // Fences: three, once in a store's life. Errors: kIo, kNoSpace (no memory).
  Status begin();
  // While it is held the first one is not begun.
  Mutex& mutex() HF_RETURN_CAPABILITY(mutex_) { return mutex_; }

  // The whole value, of a record that a reader found in the guard that it is in. Errors: kCorrupt.
  Result<std::string> gather(const RecordView& record) const;

  // ---- For PieceCollector ----
  struct Ended {  // A record in pieces that died.
    std::string key;
    std::uint16_t space = 0;
    std::uint64_t lineage = 0;
    std::uint32_t pieces = 0;
  };
  // A record was marked dead; it can still be read. Any locks may be held.
  void died(std::uint64_t line) override;
  // Or it was not written in the end, but its last piece was.
  void end(Ended ended);
  bool any_ended() const { return ended_count_.load(std::memory_order_acquire) != 0; }
  std::vector<Ended> take_ended();

 private:
  Rooms& rooms_;
  Mutex mutex_;  // Of begin().
  std::atomic<SpaceRooms*> space_{nullptr};
  KernelMutex ended_mutex_;
  std::vector<Ended> ended_ HF_GUARDED_BY(ended_mutex_);
  std::atomic<std::uint64_t> ended_count_{0};
};

}  // namespace holdfast::kv
