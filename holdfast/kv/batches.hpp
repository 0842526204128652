// batches.hpp: atomic write batches: one frame on the medium (appender.hpp), one moment in DRAM.
//
// All homes are latched in one order before the batch is appended. If it were appended first,
// another session could publish reserved, higher sequence numbers in between, and after a crash
// some members would lose to writes that were acknowledged before the batch began. The new lines
// are published while the index sends readers from them to their predecessors; ending that is one
// store, and makes the batch visible.
//
// Threads    Any.   Errors  see store.hpp.
#pragma once

#include <span>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/kv/writes.hpp>

namespace holdfast::kv {

class BatchHomes;

class Batches {
 public:
  Batches(Rooms& rooms, Writes& writes)
      : rooms_(rooms), attempts_(writes.attempts()), publication_(writes.publication()) {}

  Result<Version> write(const WriteBatch& batch, WriteOptions options);
  // The same for a batch that also writes to keyspaces: `spaces`, numbered as in the batch. The
  // caller keeps them from being dropped.
  Result<Version> write_across(const WriteBatch& batch, std::span<SpaceRooms* const> spaces,
                               WriteOptions options);

 private:
  Result<Version> try_write(const WriteBatch& batch, WriteOptions options);
  Result<Version> try_write_across(const WriteBatch& batch, std::span<SpaceRooms* const> spaces,
                                   WriteOptions options);
  Result<Version> append(Session& own, std::span<BatchMember> members, WriteOptions options);
  void publish(Session& own, std::span<BatchMember> members, BatchHomes& homes);
  void or_in_doubt(FunctionRef<void()> publish);

  Rooms& rooms_;
  BasicAttempts<Rooms>& attempts_;
  BasicPublication<Rooms>& publication_;
};

}  // namespace holdfast::kv
