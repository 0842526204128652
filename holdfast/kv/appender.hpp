// appender.hpp: puts records on the medium, durably. It knows nothing of keys or of the index.
//
//   appender.append(lane, record, …)     written back, not yet durable
//   appender.commit(lane)                the fence (page media: handed to the kernel)
//
// Guarantee  When commit() returns, every record that was appended to the lane survives the
//            process, and power loss where fences give that. A record or a batch that is too large
//            for a block gets a run of its own, and is durable when its append returns.
// Errors     kNoSpace, kTooLarge: nothing is in doubt. kBusy: nothing either; the lane needs a new
//            run, and its writer has to pause first (pace.hpp). The verbs pause and try again. kIo:
//            the write gate closes.
// Threads    As the lane's.   Fences  one per commit, one per sealed run (959 records of 256
//            bytes), two per record with a run of its own.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include <holdfast/kv/group_commit.hpp>
#include <holdfast/kv/lane.hpp>
#include <holdfast/kv/pace.hpp>
#include <holdfast/kv/record_writer.hpp>
#include <holdfast/kv/records.hpp>
#include <holdfast/kv/sequences.hpp>
#include <holdfast/kv/write_gate.hpp>

namespace holdfast::kv {

// A member of an atomic batch.
struct BatchMember {
  NewRecord record;
  Appended appended;
  std::uint16_t space = kDefaultSpace;
};

class Appender {
 public:
  using Purpose = BlockTable::Purpose;

  // `space`: of the records that append() is given.
  // `run_opened`: called after a lane took a block.
  Appender(Medium& medium, BlockTable& table, const Records& records, Sequences& sequences,
           WriteGate& gate, Pace& pace, GroupCommit& group, std::uint16_t space,
           std::function<void()> run_opened);
  Appender(const Appender&) = delete;

  // From here on records are of this space. No run is open.
  void serve(std::uint16_t space) { space_ = space; }

  // How many blocks the record would open now. It may be one more: another thread may seal the
  // lane's run first.
  std::uint64_t blocks_to_open(Lane& lane, const NewRecord& record) const;

  // One record with the lane's next sequence; `fresh`: newer than all that was handed out before.
  template <class Path = AnyPath>
  Status append(Lane& lane, const NewRecord& record, bool fresh, Purpose purpose,
                Appended& appended) {
    if (!fresh && append_at_once<Path>(lane, record, appended)) [[likely]]
      return {};
    const std::uint64_t sequence = sequences_.draw(lane.chunk, fresh);
    HF_ASSIGN_OR_RETURN(appended, append_slowly(lane, record, sequence, purpose));
    return {};
  }
  // The same where the open run has room and the lane a sequence. False: nothing was done.
  template <class Path>
  bool append_at_once(Lane& lane, const NewRecord& record, Appended& appended) {
    const std::uint64_t padded = Geometry::padded(record.bytes(Path::header_bytes(geometry_)));
    OpenRun& run = lane.run;
    const std::uint64_t sequence = lane.chunk.next;
    if (!sequences_.lasts(lane.chunk) || !run.fits(padded, 1) || run.records == run.entries_end ||
        sequence - run.min_sequence > kMaxSequenceSpan) [[unlikely]] {
      return false;
    }
    lane.chunk.next = sequence + 1;
    appended = {run.offset + run.at, padded, sequence};
    // Code compiled for one path serves the store's own keys only.
    if constexpr (Path::kFixed)
      put_record<Path>(run, record, sequence, padded, kDefaultSpace);
    else
      put_record<Path>(run, record, sequence, padded, space_);
    return true;
  }
  // How many of `count` records the open run's entries and the lane's sequences allow.
  // append_next() may then be called that often, as long as the run has room.
  std::size_t ready_for(Lane& lane, std::size_t count) {
    const OpenRun& run = lane.run;
    const std::size_t ready = std::min<std::size_t>(
        std::min<std::size_t>(count, Sequences::kPerChunk), run.entries_end - run.records);
    if (run.left == 0 || ready == 0 || !sequences_.renew(lane.chunk, ready) ||
        lane.chunk.next + ready - run.min_sequence > kMaxSequenceSpan) [[unlikely]]
      return 0;
    return ready;
  }
  // append_at_once() behind ready_for(), on a medium without pages. False: the run has no room.
  template <class Path>
  bool append_next(Lane& lane, const NewRecord& record, Appended& appended) {
    const std::uint64_t padded = Geometry::padded(record.bytes(Path::header_bytes(geometry_)));
    OpenRun& run = lane.run;
    if (!run.fits(padded, 1)) [[unlikely]]
      return false;
    appended = {run.offset + run.at, padded, lane.chunk.next++};
    put_record<Path>(run, record, appended.sequence, padded, kDefaultSpace);
    return true;
  }
  // A copy of a record of a sealed run, under its own sequence. `rule` is that of its run; no
  // thread changes it meanwhile. False: its sum does not hold, and nothing was appended.
  Result<bool> append_copy(Lane& lane, const RecordView& record, std::uint64_t hash,
                           const SumRule& rule, Appended& appended);
  // An atomic batch: all members under one sequence, newer than all before. Durable as commit()
  // says when it returns; each member's `appended` is set.
  Result<std::uint64_t> append_batch(Lane& lane, std::span<BatchMember> members);

  template <class Path = AnyPath>
  Status commit(Lane& lane) {
    OpenRun& run = lane.run;
    if (run.committed == run.at) [[unlikely]]
      return {};  // A record in a run of its own is durable already.
    if (!Path::kFixed && group_.needed()) return hand_over(lane);
    Path::fence(medium_.persist());
    run.committed = run.durable = run.at;
    return {};
  }

  // commit() of what append_at_once() appended, on a medium without pages.
  template <class Path>
  void commit_at_once(Lane& lane) {
    Path::fence(medium_.persist());
    lane.run.committed = lane.run.durable = lane.run.at;
  }

  // Ends the lane's run, if one is open: commits, and seals it.
  Status seal(Lane& lane);
  // The same; a run without records is given back.
  Status close(Lane& lane);

 private:
  // The append itself, where the open run has room for the record.
  template <class Path = AnyPath>
  void put_record(OpenRun& run, const NewRecord& record, std::uint64_t sequence,
                  std::uint64_t padded, std::uint16_t space) {
    writer_.write<Path>(run.base + run.at, record,
                        {sequence, run.records, run.durable == run.at, flags_of(space)}, run.seed);
    if constexpr (!Path::kFixed) note_space(run, space);
    run.max_sequence = sequence;
    enter_record(run, record.hash, record.kind, sequence, padded);
  }
  static std::uint64_t flags_of(std::uint16_t space) { return std::uint64_t{space} << kSpaceShift; }
  static void note_space(OpenRun& run, std::uint16_t space) {
    if (run.space != space) run.space = kMixedSpaces;
  }
  // Enters a record in the run's summary to come and in the books.
  static void enter_record(OpenRun& run, std::uint64_t hash, RecordKind kind,
                           std::uint64_t sequence, std::uint64_t padded) {
    run.entries[run.records] = RunEntry::of(hash, sequence, run.at, kind);
    ++run.records;
    if (kind == RecordKind::kErase) [[unlikely]]
      count_dead(run, padded);
    run.at += padded;
    run.left -= padded + OpenRun::kTailBytesPerRecord;
    run.meta->used_bytes.store(run.at, std::memory_order_relaxed);
  }
  static void count_dead(OpenRun& run, std::uint64_t bytes) {  // One thread at a time writes it.
    auto& dead = run.meta->own_dead_bytes;
    dead.store(dead.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  // Rare functions take arguments by value, so what a hot verb has in registers stays there.
  [[gnu::noinline]] Result<Appended> append_slowly(Lane& lane, NewRecord record,
                                                   std::uint64_t sequence, Purpose purpose);
  Status make_room(Lane& lane, std::uint64_t padded_bytes, std::uint64_t records,
                   std::uint64_t sequence, Purpose purpose);
  Status admit(Lane& lane, std::uint64_t blocks, Purpose purpose);
  Status hand_over(Lane& lane);
  Status put_large(std::uint64_t at, const NewRecord& record, const RecordHead& head,
                   std::uint64_t seed);
  Status append_large(Lane& lane, const NewRecord& record, std::uint64_t sequence, Purpose purpose,
                      std::uint16_t space, Appended& appended);
  void append_frame(OpenRun& run, std::uint64_t sequence, std::uint64_t members_bytes);
  Status append_large_batch(Lane& lane, std::span<BatchMember> members, std::uint64_t sequence,
                            std::uint64_t bytes);
  Status seal_run(std::uint64_t head, std::span<const RunEntry> entries, std::uint64_t used_bytes,
                  std::uint64_t frame_bytes, std::uint16_t space);
  Status put_or_fail(std::uint64_t offset, const void* bytes, std::uint64_t count);

  Medium& medium_;
  BlockTable& table_;
  const Geometry& geometry_;
  Sequences& sequences_;
  WriteGate& gate_;
  Pace& pace_;
  GroupCommit& group_;
  std::uint16_t space_;
  const std::function<void()> run_opened_;
  const RecordWriter writer_;
};

}  // namespace holdfast::kv
