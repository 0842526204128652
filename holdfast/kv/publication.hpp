// publication.hpp: the two steps of a write: its record onto the medium, and into the index.
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
// Page media   A put does not wait for the old record's key: it displaces the record
//              (displaced.hpp) and leaves the comparison to others. What it needs to know of the
//              old record is that it is older: all sessions append to one lane, which draws
//              sequences in the order of appending, and the index named the old record before ours
//              was appended, and still does under the latch. So its sequence was drawn before ours.
// Invariants (1) what the index points to is durable as the operation's Durability promises;
//            (2) per key, sequences rise in the order of publication, tombstones included;
//            (3) a record that was appended but not published is noted as dead before its operation
//                ends.
// Threads    Any, inside a guard.   Errors  those of an append; kNoSpace (the index cannot grow).
#pragma once

#include <span>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/hot_path.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

// `R`: of the store's own keys, or of a space's (space_rooms.hpp).
template <class R>
class BasicPublication {
 public:
  using Purpose = BlockTable::Purpose;

  explicit BasicPublication(R& rooms) : rooms_(rooms) {}

  // ---- Onto the medium ----

  // Appends, commits, and does what `options` ask for beyond.
  template <class Path = AnyPath>
  Status write_record(Session& own, const NewRecord& record, bool fresh, Purpose purpose,
                      WriteOptions options, Appended& appended);

  // ---- Into the index: of a record that was appended and fenced. On an error it is disowned ----

  template <class Path>
  Result<PutOutcome> publish_put(Session& own, Place& place, const NewRecord& record,
                                 const Appended& appended, WriteOptions options);
  template <class Path>
  Result<bool> publish_erase(Session& own, Place& place, const NewRecord& record,
                             const Appended& appended, WriteOptions options);
  // The same of any medium. `unread`: on page media, what Displaced::to_displace() said before.
  Result<PutOutcome> publish_grouped_put(Session& own, Place& place, const NewRecord& record,
                                         const Appended& appended, const Seen& unread,
                                         WriteOptions options);
  // `appended` of offset 0: no tombstone was written yet, since the key was absent.
  Result<bool> publish_grouped_erase(Session& own, Place& place, const NewRecord& record,
                                     const Appended& appended, WriteOptions options);
  // On page media. `unread`: what the place had before the append, if the record there is not in
  // memory.
  Result<PutOutcome> publish_put_on_pages(Session& own, Place& place, const NewRecord& record,
                                          const Appended& appended, const Seen& unread,
                                          WriteOptions options);
  Result<bool> publish_erase_on_pages(Session& own, Place& place, const NewRecord& record,
                                      const Appended& appended, WriteOptions options);

  // ---- Under the latch of a home ----

  // Whether a word of a record in this run may change where it lies. A snapshot, a pin or a
  // relocation that began before is seen. A pin that begins later sees the latch or the mark; a
  // snapshot and a relocation wait for the guard.
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
  void supersede(Session& own, Line line, bool continues = false);
  // For a record that is superseded while no snapshot is open, but the last one may be ending. The
  // close of that snapshot looks, from the key's record on, for versions that only it could see.
  // The key's record is another one now, so such a version is noted as dead here.
  void drop_behind(Session& own, Line line);
  // Whether a record of this place stands apart from the index (page media). Exact under the latch.
  bool displaced(const Place& place) const {
    return rooms_.displaced != nullptr && rooms_.displaced->any(place);
  }

  // ---- For those that look for a key without latching it at once ----

  // Whether the key is neither in the index nor apart from it. A store on page media decides under
  // the latch, and what stands apart from the index at this place is in it, or dead, behind that.
  Result<bool> is_absent(Session& own, Place& place, Bytes key);
  // Latches all homes into `own.latches`. Nothing stands apart from the index at any of them.
  Status latch_all(Session& own, std::span<const std::uint64_t> hashes);

  // ---- What is not published ----

  // For an operation that fails although its record is durable: from here on nothing older may be
  // acknowledged, since recovery would let the record win over it.
  void disown(Session& own, std::uint64_t hash, Appended record, RecordKind kind);
  // Disowns the records of these puts of a group, which will not be published.
  [[gnu::noinline, gnu::cold]] void disown(Session& own, std::span<OnItsWay> puts);

 private:
  // While others may use the lane, too: on page media, and where the session's was revoked.
  [[gnu::noinline]] Result<Appended> write_latched(Session& own, NewRecord record, bool fresh,
                                                   Purpose purpose);
  [[gnu::noinline]] Result<PutOutcome> publish_put_slowly(Session& own, OffsetMap::Latched home,
                                                          Place place, NewRecord record,
                                                          Appended appended, WriteOptions options);
  [[gnu::noinline]] Result<bool> publish_erase_slowly(Session& own, OffsetMap::Latched home,
                                                      Place place, NewRecord record,
                                                      Appended appended, WriteOptions options);
  // A later writer of this key was faster: the record once more, under the latch, with a newer
  // sequence.
  Status write_newer(Session& own, const NewRecord& record, Appended& appended,
                     WriteOptions options);
  // What stands apart from the index at this record's place. The caller holds no latch.
  Status settle(Session& own, const NewRecord& record, const Appended& appended);
  // The rule of publication: newer than the key's record, and than what was erased in its
  // partition. A tombstone that came too late to erase anything is durable nevertheless, so the
  // horizon counts also where there is a record.
  bool is_newest(const Place& place, Entry entry, std::uint64_t sequence) const {
    if (rooms_.index.behind_horizon(place, sequence)) return false;
    return !entry || rooms_.records.at(OffsetMap::Home::line(entry)).sequence() < sequence;
  }

  R& rooms_;
};

template <class R>
template <class Path>
inline Status BasicPublication<R>::write_record(Session& own, const NewRecord& record, bool fresh,
                                                Purpose purpose, WriteOptions options,
                                                Appended& appended) {
  if ((!Path::kFixed && rooms_.group.needed()) ||
      own.lane.revoked.load(std::memory_order_acquire) != 0) [[unlikely]] {
    HF_ASSIGN_OR_RETURN(appended, write_latched(own, record, fresh, purpose));
    return rooms_.group.wait_for(rooms_.effective(options));
  }
  Appender& appender = rooms_.appender;
  HF_RETURN_IF_ERROR(appender.append<Path>(own.lane, record, fresh, purpose, appended));
  own.count(1, appended.padded_bytes / kCacheLineBytes);
  return appender.commit<Path>(own.lane);
}

template <class R>
template <class Path>
Result<PutOutcome> BasicPublication<R>::publish_put(Session& own, Place& place,
                                                    const NewRecord& record,
                                                    const Appended& appended,
                                                    WriteOptions options) {
  R& rooms = rooms_;
  KeyIndex& index = rooms.index;
  const Line line = line_at(appended.offset);
  // All that may miss comes before the latch. Behind it are comparisons and a store: what follows
  // the locked instruction holds up the next operation's write-backs.
  const Seen old = index.look<Path>(place, record.key);
  if (old) {
    const RecordView superseded = rooms.records.at(old.line());
    const std::uint64_t padded = superseded.padded_bytes();
    const bool plain = superseded.kind() == RecordKind::kPut &&
                       superseded.sequence() < appended.sequence && !rooms.versions.held();
    bool there = true;
    if constexpr (!Path::kFixed) there = index.is_there(superseded, old.line());
    auto home = index.latch(place, own);
    if (plain && !index.behind_horizon(place, appended.sequence) &&
        home.replace_unchanged(old, line)) [[likely]] {
      home.release();
      own.notes.add(rooms.table, old.line(), padded);
      return there ? PutOutcome::kOverwrote : PutOutcome::kInserted;
    }
    return publish_put_slowly(own, std::move(home), place, record, appended, options);
  }
  auto home = index.latch(place, own);
  if (rooms.versions.snapshots_open() == 0 && !index.behind_horizon(place, appended.sequence) &&
      !home.template find<typename Path::Probing>(index.matches(record.key))) [[likely]] {
    if (const Entry claimed = home.claim()) [[likely]] {
      home.replace(claimed, line);
      index.enter(record.key);
      home.release();
      index.map().grow_in_turn();
      return PutOutcome::kInserted;
    }
  }
  return publish_put_slowly(own, std::move(home), place, record, appended, options);
}

template <class R>
template <class Path>
Result<bool> BasicPublication<R>::publish_erase(Session& own, Place& place, const NewRecord& record,
                                                const Appended& appended, WriteOptions options) {
  R& rooms = rooms_;
  KeyIndex& index = rooms.index;
  const Seen old = index.look<Path>(place, record.key);
  const RecordView superseded = rooms.records.at(old.line());
  const std::uint64_t padded = superseded.padded_bytes();
  const bool plain = old && superseded.kind() == RecordKind::kPut &&
                     superseded.sequence() < appended.sequence && !rooms.versions.held();
  bool there = true;
  if constexpr (!Path::kFixed) there = plain && index.is_there(superseded, old.line());
  auto home = index.latch(place, own);
  if (plain && !index.behind_horizon(place, appended.sequence) && home.unchanged(old)) [[likely]] {
    HF_MUTANT("K81", index.raise_horizon(record.hash, appended.sequence), void());
    home.remove(old.entry);
    index.leave(record.key);
    home.release();
    own.notes.add(rooms.table, old.line(), padded);
    return there;
  }
  return publish_erase_slowly(own, std::move(home), place, record, appended, options);
}

// What publish_put() nearly always does: a home that nobody holds, `old` the one entry of this tag
// there, or none there, no snapshot. It overwrites keys of 8 to 16 bytes only. It calls nothing,
// unless a full home is no reason to refuse (kBehind; else of stores without an order). False:
// nothing has happened.
template <class Path, bool kBehind>
inline bool publish_put_over(Rooms& rooms, Session& own, const Place& place, Bytes key,
                             const Appended& appended, const Seen& old, PutOutcome& outcome) {
  OffsetMap& map = rooms.index.map();
  const Line line = line_at(appended.offset);
  const auto allowed = [&] { return !rooms.index.behind_horizon(place, appended.sequence); };
  if (old) {
    const RecordView superseded = rooms.records.at(old.line(), Path::kHeaderBytes);
    const std::uint64_t padded = superseded.padded_bytes_of_put();
    if (!is_of_two_words(key.size()) ||
        !rooms.records.is_put_of(old.line(), key, Path::kHeaderBytes) ||
        superseded.sequence() >= appended.sequence || rooms.versions.held() ||
        !map.replace_at_once(place, old, line, allowed)) [[unlikely]]
      return false;
    own.notes.add(old.line(), padded);
    outcome = PutOutcome::kOverwrote;
    return true;
  }
  outcome = PutOutcome::kInserted;
  return !map.wants_growth() && !(kBehind && rooms.index.is_ordered()) &&
         map.template insert_at_once<typename Path::Probing, kBehind>(place, line, *own.tally, [&] {
           return rooms.versions.snapshots_open() == 0 && allowed();
         });
}
template <class Path>
inline bool publish_put_at_once(Rooms& rooms, Session& own, const Place& place, Bytes key,
                                const Appended& appended, PutOutcome& outcome) {
  Seen old;
  return rooms.index.map().template glance<typename Path::Probing>(
             place, [](Line) { return true; }, old) &&
         publish_put_over<Path, false>(rooms, own, place, key, appended, old, outcome);
}

}  // namespace holdfast::kv
