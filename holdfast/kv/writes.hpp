// writes.hpp: the verbs that write.
//
// How a write becomes acknowledged and newest (docs/kv_arguments.md argues it in full):
//
//   put        draw a sequence; append the record and fence; look the key up; then latch it and
//              publish if the sequence is newer than what is published, else append again under the
//              latch with a newer one. So the index miss overlaps the fence, and no locked
//              instruction, which would wait for the write-backs too, lies between append and
//              fence.
//   the rest   conditional writes decide under the latch, then append, fence and publish under it.
//   erase      looks the key up first, then goes the way of put with a tombstone; then it raises
//              the partition's erase horizon, below which nothing may be published.
//
// Invariants (1) what the index points to is durable as the operation's Durability promises;
//            (2) per key, sequences rise in the order of publication, tombstones included;
//            (3) a record that was appended but not published is noted as dead before its operation
//                ends.
// Threads    Any.   Errors  see store.hpp.
#pragma once

#include <functional>
#include <string>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/maintenance.hpp>
#include <holdfast/kv/merge.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

// `R`: of the store's own keys, or of a space's (space_rooms.hpp).
template <class R>
class BasicWrites {
 public:
  using Purpose = BlockTable::Purpose;
  enum class Condition { kAbsent, kVersion };

  BasicWrites(R& rooms, Maintenance& maintenance) : rooms_(rooms), maintenance_(maintenance) {}
  BasicWrites(const BasicWrites&) = delete;

  template <class Path>
  Result<PutOutcome> put(Bytes key, Bytes value, WriteOptions options);
  // Puts the keys from number `done` on, and raises `done`; groups of any kind. A key or a value
  // that is too large is found before anything is written.
  Status put_many(const ByteSpans& keys, const ByteSpans& values, WriteOptions options,
                  std::size_t& done);
  // What put_many of a fixed path needs of it (puts_at_once.hpp): one group; what is left to do
  // where a group failed; a put on its way, in the caller's guard, `group` from it on: an error
  // disowns those behind it.
  [[gnu::cold]] Status put_some(const ByteSpans& keys, const ByteSpans& values,
                                WriteOptions options, std::size_t& done);
  [[gnu::cold]] Status settle_puts(Status outcome, const ByteSpans& keys, const ByteSpans& values,
                                   WriteOptions options, std::size_t& done);
  Status publish_first(Session& own, Bytes key, Bytes value, std::span<OnItsWay> group,
                       WriteOptions options);
  template <class Path>
  Result<bool> erase(Bytes key, WriteOptions options);
  template <class Path>
  Result<std::uint64_t> update_word(Bytes key, std::uint32_t offset_bytes,
                                    FunctionRef<std::uint64_t(std::uint64_t)> change,
                                    WriteOptions options);
  // These two continue what put_at_once() or erase_at_once() began (writes_at_once.hpp), in its
  // guard. `sequence`, `offset`: of the record.
  template <class Path>
  Result<PutOutcome> finish_put(Bytes key, Bytes value, std::uint64_t offset,
                                std::uint64_t sequence);
  template <class Path>
  Result<bool> finish_erase(Bytes key, std::uint64_t offset, std::uint64_t sequence);
  Result<Version> put_if(Bytes key, Bytes value, Condition condition, Version expected,
                         WriteOptions options);
  // `fixed_bytes`: the value keeps its size.
  Result<Version> update(Bytes key, FunctionRef<void(std::string&)> change, bool fixed_bytes,
                         WriteOptions options);
  // append() and merge() of merge.hpp.
  Result<Version> merge(Bytes key, Bytes operand, MergeFunction function, WriteOptions options);
  Result<Version> write(const WriteBatch& batch, WriteOptions options);
  // The same for a batch that also writes to keyspaces: `spaces`, numbered as in the batch. The
  // caller keeps them from being dropped. Called on the Writes of the store's own keys only.
  Result<Version> write_across(const WriteBatch& batch, std::span<SpaceRooms* const> spaces,
                               WriteOptions options);

  // ---- For groups of operations (group_verbs.hpp): steps, and the verbs not inlined ----

  Status check(std::uint64_t key_bytes, std::uint64_t value_bytes, WriteOptions options) const {
    if ((key_bytes >> 16 | value_bytes >> 32) != 0) [[unlikely]]
      HF_RETURN_IF_ERROR(check_sizes(key_bytes, value_bytes));
    if (rooms_.gate.takes_all()) [[likely]]
      return {};
    return rooms_.gate.check(rooms_.effective(options) == Durability::kPower);
  }
  [[gnu::noinline, gnu::cold]] static Error no_word_at(std::uint32_t offset_bytes,
                                                       std::uint64_t value_bytes);
  static Error other_size(std::uint64_t value_bytes);  // Than a typed store's.
  // Publishes a record that was appended and fenced under the guard that the caller is in. On an
  // error the record is disowned. `unread`: on page media, what Displaced::to_displace() said
  // before.
  Result<PutOutcome> publish_grouped_put(Session& own, Place& place, const NewRecord& record,
                                         const Appended& appended, const Seen& unread,
                                         WriteOptions options);
  // `appended` of offset 0: no tombstone was written yet, since the key was absent.
  Result<bool> publish_grouped_erase(Session& own, Place& place, const NewRecord& record,
                                     const Appended& appended, WriteOptions options);
  // Whether the key is neither in the index nor apart from it. A store on page media decides under
  // the latch, and what stands apart from the index at this place is in it, or dead, behind that.
  Result<bool> is_absent(Session& own, Place& place, Bytes key);
  // Latches all homes into `own.latches`. Nothing stands apart from the index at any of them.
  Status latch_all(Session& own, std::span<const std::uint64_t> hashes);
  // Whether a word of a record in this run may change where it lies. Under the latch of its key: a
  // snapshot, a pin or a relocation that began before is seen, and one that begins later sees the
  // latch or the mark.
  template <class Path>
  bool may_patch(const BlockMeta& run, std::uint32_t offset_bytes) const {
    return (Path::kFixed || !rooms_.medium.paged()) &&
           Path::is_patchable(rooms_.records.patchable(), offset_bytes) &&
           run.state.load(std::memory_order_acquire) == BlockState::kSealed &&
           run.fixed.load(std::memory_order_acquire) == 0 &&
           rooms_.versions.snapshots_open() == 0 && run.pins.load(std::memory_order_seq_cst) == 0;
  }
  // Points a found entry of the latched home to the new record, and notes what becomes of the old
  // one. `continues`: a value in pieces, all of which the new record counts.
  void replace(Session& own, OffsetMap::Home& home, Entry entry, const Appended& record,
               bool continues = false);
  // For an operation that fails although its record is durable: from here on nothing older may be
  // acknowledged, since recovery would let the record win over it.
  void disown(Session& own, std::uint64_t hash, Appended record, RecordKind kind);
  // Disowns the records of these puts of a group, which will not be published.
  [[gnu::noinline, gnu::cold]] void disown(Session& own, std::span<OnItsWay> puts);
  // Pauses for runs that the session's lane has opened or is to open (pace.hpp). Called in no guard
  // but that of an operation around this one; in such a guard it does not wait.
  [[gnu::noinline, gnu::cold]] void pay_pause(Session& own);
  // Marks dead on the medium what the caller's session disowned. In no guard.
  Status take_back();
  // A put inside the caller's guard, and under a latch of another index. The caller settles a
  // failure, and takes the pause (pay_pause()).
  Status put_within(Bytes key, Bytes value, Purpose purpose, WriteOptions options);
  Result<PutOutcome> put_alone(Bytes key, Bytes value, WriteOptions options);
  // For operations that make room on a full medium: they may use the blocks that are kept for
  // erases.
  Status put_to_make_room(Bytes key, Bytes value, WriteOptions options);
  Result<bool> erase_alone(Bytes key, WriteOptions options);
  Result<std::uint64_t> update_word_alone(Bytes key, std::uint32_t offset_bytes,
                                          FunctionRef<std::uint64_t(std::uint64_t)> change,
                                          WriteOptions options);

 private:
  using Change = FunctionRef<std::uint64_t(std::uint64_t)>;

  // Pauses, and then the run that was refused may be opened.
  [[gnu::noinline, gnu::cold]] void pause_to_be_admitted(Session& own);
  // For a verb whose first attempt failed. Where it found the medium full, `outcome` becomes that
  // of `again()`, which is called when dead records have made room.
  template <class Outcome, class Attempt>
  [[gnu::noinline, gnu::cold]] void settle(Outcome& outcome, const Attempt& again);

  // For sizes that may be too large.
  static_assert(kMaxKeyBytes >= 1 << 16 && kMaxValueBytes >= std::uint64_t{1} << 32);
  [[gnu::noinline, gnu::cold]] static Status check_sizes(std::uint64_t key_bytes,
                                                         std::uint64_t value_bytes);

  // paged_writes.cpp: on page media, where the old record need not be in memory.
  [[gnu::noinline]] Result<PutOutcome> try_put_on_pages(const NewRecord& record,
                                                        WriteOptions options);
  Status read_candidates(std::span<const Place> places) const;
  [[gnu::noinline]] Status put_group_on_pages(const ByteSpans& keys, const ByteSpans& values,
                                              WriteOptions options, std::size_t& done);
  Result<PutOutcome> publish_put_on_pages(Session& own, Place& place, const NewRecord& record,
                                          const Appended& appended, const Seen& unread,
                                          WriteOptions options);
  [[gnu::noinline]] Result<bool> try_erase_on_pages(const NewRecord& record, WriteOptions options);
  Result<bool> publish_erase_on_pages(Session& own, Place& place, const NewRecord& record,
                                      const Appended& appended, WriteOptions options);
  // Whether a record of this place stands apart from the index (page media). Exact under the latch.
  bool displaced(const Place& place) const {
    return rooms_.displaced != nullptr && rooms_.displaced->any(place);
  }

  // Appends, commits, and does what `options` ask for beyond. Inside a guard.
  template <class Path = AnyPath>
  Status write_record(Session& own, const NewRecord& record, bool fresh, Purpose purpose,
                      WriteOptions options, Appended& appended);

  // The same while others may use the session's lane, too.
  [[gnu::noinline, gnu::cold]] Result<Appended> write_latched(Session& own, NewRecord record,
                                                              bool fresh, Purpose purpose);

  template <class Path>
  Result<PutOutcome> try_put(Bytes key, Bytes value, WriteOptions options);
  template <class Path>
  Result<PutOutcome> publish_put(Session& own, Place& place, const NewRecord& record,
                                 const Appended& appended, WriteOptions options);
  [[gnu::noinline]] Result<PutOutcome> publish_put_slowly(Session& own, OffsetMap::Latched home,
                                                          Place place, NewRecord record,
                                                          Appended appended, WriteOptions options);
  Status try_put_many(const ByteSpans& keys, const ByteSpans& values, WriteOptions options,
                      std::size_t& done);
  template <class Path>
  Result<bool> try_erase(Bytes key, WriteOptions options);
  template <class Path>
  Result<bool> publish_erase(Session& own, Place& place, const NewRecord& record,
                             const Appended& appended, WriteOptions options);
  [[gnu::noinline]] Result<bool> publish_erase_slowly(Session& own, OffsetMap::Latched home,
                                                      Place place, NewRecord record,
                                                      Appended appended, WriteOptions options);
  template <class Path>
  Result<std::uint64_t> try_update_word(Bytes key, std::uint32_t offset_bytes, Change change,
                                        WriteOptions options);
  [[gnu::noinline]] Result<std::uint64_t> update_word_by_copy(Session& own, OffsetMap::Latched home,
                                                              Entry entry, Bytes key,
                                                              std::uint64_t hash,
                                                              std::uint32_t offset_bytes,
                                                              Change change, WriteOptions options);
  Result<Version> try_put_if(Bytes key, Bytes value, Condition condition, Version expected,
                             WriteOptions options);
  Result<Version> try_update(Bytes key, FunctionRef<void(std::string&)> change, bool fixed_bytes,
                             WriteOptions options);
  // merge_writes.cpp. What is to be in the place of what a key has: a record, and a piece before.
  struct Merged;
  Result<Version> try_merge(Bytes key, Bytes operand, MergeFunction function, WriteOptions options);
  Result<Merged> merged(Bytes key, const Live& present, Bytes operand,
                        MergeFunction function) const;
  Result<Merged> grown(Bytes key, const RecordView& present, Bytes added) const;
  bool may_be_in_pieces(Bytes key) const;
  Status put_piece(Session& own, const NewRecord& record, const Merged& merged,
                   WriteOptions options);
  [[gnu::noinline, gnu::cold]] Result<std::uint64_t> update_word_in_pieces(
      Bytes key, std::uint32_t offset_bytes, Change change, WriteOptions options);
  Result<Version> try_write(const WriteBatch& batch, WriteOptions options);
  Result<Version> try_write_across(const WriteBatch& batch, std::span<SpaceRooms* const> spaces,
                                   WriteOptions options);
  Result<Version> append_batch(Session& own, std::span<BatchMember> members, WriteOptions options);
  void publish_batch(Session& own, std::span<BatchMember> members, std::span<const Entry> entries,
                     const std::vector<bool>& claimed);

  // The rule of publication: newer than the key's record, and than what was erased in its
  // partition. A tombstone that came too late to erase anything is durable nevertheless, so the
  // horizon counts also where there is a record.
  bool is_newest(const Place& place, Entry entry, std::uint64_t sequence) const {
    if (rooms_.index.behind_horizon(place, sequence)) return false;
    return !entry || rooms_.records.at(OffsetMap::Home::line(entry)).sequence() < sequence;
  }
  void supersede(Session& own, Line line, bool continues = false);
  // For a record that is superseded while no snapshot is open, but the last one may be ending. The
  // close of that snapshot looks, from the key's record on, for versions that only it could see.
  // The key's record is another one now, so such a version is noted as dead here. Under the latch.
  void drop_behind(Session& own, Line line);
  void abandon(Session& own, const Appended& record) {
    own.notes.add(rooms_.table, line_at(record.offset), record.padded_bytes);
  }

  R& rooms_;
  Maintenance& maintenance_;
};
using Writes = BasicWrites<Rooms>;

template <class R>
template <class Outcome, class Attempt>
void BasicWrites<R>::settle(Outcome& outcome, const Attempt& again) {
  for (Maintenance::RoomSoFar so_far;;) {
    // What it appended is marked dead on the medium, so that it does not appear after a crash.
    if (auto marked = take_back(); !marked) {
      outcome = std::move(marked).error();
      return;
    }
    if (outcome.has_value()) return;
    if (outcome.code() == Errc::kBusy) {
      pause_to_be_admitted(rooms_.sessions.of_this_thread());
      outcome = again();
      continue;
    }
    if (outcome.code() != Errc::kNoSpace) return;
    auto room = maintenance_.make_room(so_far);
    if (!room) {
      outcome = std::move(room).error();
      return;
    }
    if (!*room) {
      outcome = maintenance_.full(std::move(outcome).error());
      return;
    }
    outcome = again();
  }
}

}  // namespace holdfast::kv
