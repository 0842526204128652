// merges.hpp: append() and merge() of merge.hpp. The new value depends on what is there, so they
// decide, append, fence and publish under the key's latch, as conditional writes do. A piece that
// is full is put before the record that counts it, and is durable before that.
//
// Threads    Any.   Errors  see store.hpp.
#pragma once

#include <holdfast/kv/merge.hpp>
#include <holdfast/kv/writes.hpp>

namespace holdfast::kv {

// `R`: of the store's own keys, or of a space's (space_rooms.hpp).
template <class R>
class BasicMerges {
 public:
  BasicMerges(R& rooms, Maintenance& maintenance, BasicWrites<R>& writes)
      : rooms_(rooms),
        maintenance_(maintenance),
        attempts_(writes.attempts()),
        publication_(writes.publication()) {}

  Result<Version> merge(Bytes key, Bytes operand, MergeFunction function, WriteOptions options);

 private:
  using Purpose = BlockTable::Purpose;
  // What is to be in the place of what a key has: a record, and a piece before.
  struct Merged;

  Result<Version> try_merge(Bytes key, Bytes operand, MergeFunction function, WriteOptions options);
  Result<Merged> merged(Bytes key, const Live& present, Bytes operand,
                        MergeFunction function) const;
  Result<Merged> grown(Bytes key, const RecordView& present, Bytes added) const;
  bool may_be_in_pieces(Bytes key) const;
  Status put_piece(Session& own, const NewRecord& record, const Merged& merged,
                   WriteOptions options);

  R& rooms_;
  Maintenance& maintenance_;
  BasicAttempts<R>& attempts_;
  BasicPublication<R>& publication_;
};
using Merges = BasicMerges<Rooms>;

}  // namespace holdfast::kv
