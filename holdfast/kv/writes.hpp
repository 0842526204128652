// writes.hpp: the verbs that write.
//
// How a write becomes acknowledged and newest (docs/kv.md argues it in full):
//
//   put        draw a sequence; append the record and fence; look the key up; then latch it and
//              publish if the sequence is newer than what is published, else append again under the
//              latch with a newer one. So the index miss overlaps the fence, and no locked
//              instruction, which would wait for the write-backs too, lies between append and
//              fence.
//   the rest   conditional writes decide under the latch, then append, fence and publish under it.
//   erase      looks the key up first, then goes the way of put with a tombstone; the partition's
//              erase horizon says afterwards that nothing older may be published.
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
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

class Writes {
 public:
  using Purpose = BlockTable::Purpose;
  enum class Condition { kAbsent, kVersion };

  Writes(Rooms& rooms, Maintenance& maintenance) : rooms_(rooms), maintenance_(maintenance) {}
  Writes(const Writes&) = delete;

  Result<PutOutcome> put(Bytes key, Bytes value, WriteOptions options);
  Status put_many(const ByteSpans& keys, const ByteSpans& values, WriteOptions options);
  Result<bool> erase(Bytes key, WriteOptions options);
  Result<std::uint64_t> update_word(Bytes key, std::uint32_t offset_bytes,
                                    FunctionRef<std::uint64_t(std::uint64_t)> change,
                                    WriteOptions options);
  Result<Version> put_if(Bytes key, Bytes value, Condition condition, Version expected,
                         WriteOptions options);
  // `fixed_bytes`: the value keeps its size.
  Result<Version> update(Bytes key, FunctionRef<void(std::string&)> change, bool fixed_bytes,
                         WriteOptions options);
  Result<Version> write(const WriteBatch& batch, WriteOptions options);

 private:
  using Change = FunctionRef<std::uint64_t(std::uint64_t)>;

  // What a verb returns whose first attempt came out as `outcome`: that, or where it found the
  // medium full, what it comes out as when dead records have made room.
  template <class Attempt>
  auto settle(Attempt&& attempt) -> decltype(attempt()) {
    auto outcome = attempt();
    if (outcome.has_value()) [[likely]]
      return outcome;
    return settle_failed(std::move(outcome), attempt);
  }
  template <class Outcome, class Attempt>
  [[gnu::noinline, gnu::cold]] Outcome settle_failed(Outcome outcome, Attempt& attempt);

  Status check(std::uint64_t key_bytes, std::uint64_t value_bytes, Durability durability) const {
    if (key_bytes > kMaxKeyBytes || value_bytes > kMaxValueBytes) [[unlikely]]
      return too_large(key_bytes, value_bytes);
    return rooms_.gate.check(durability == Durability::kPower);
  }
  static Error too_large(std::uint64_t key_bytes, std::uint64_t value_bytes);

  // paged_writes.cpp: on page media, where the old record need not be in memory.
  [[gnu::noinline]] Result<PutOutcome> try_put_on_pages(const NewRecord& record,
                                                        Durability durability);
  [[gnu::noinline]] Status put_group_on_pages(const ByteSpans& keys, const ByteSpans& values,
                                              Durability durability, std::size_t& done);
  Result<PutOutcome> publish_on_pages(Session& own, Place& place, const NewRecord& record,
                                      const Appended& appended, const Seen& unread,
                                      Durability durability);
  [[gnu::noinline]] Result<bool> try_erase_on_pages(const NewRecord& record, Durability durability);
  // Whether a record of this place stands apart from the index (page media). Exact under the latch.
  bool displaced(const Place& place) const {
    return rooms_.displaced != nullptr && rooms_.displaced->any(place);
  }

  // Append and commit. Not on page media. Inside a guard.
  Status write_on_lines(Session& own, const NewRecord& record, bool fresh, Purpose purpose,
                        Appended& appended);
  // The same on any, and what `durability` asks for beyond.
  Status write_record(Session& own, const NewRecord& record, bool fresh, Purpose purpose,
                      Durability durability, Appended& appended);
  Status commit_group(Session& own, Status written, Durability durability);

  Result<PutOutcome> try_put(Bytes key, Bytes value, Durability durability);
  Result<PutOutcome> publish_put(Session& own, Place& place, const NewRecord& record,
                                 const Appended& appended, Durability durability);
  [[gnu::noinline]] Result<PutOutcome> publish_put_slowly(Session& own, OffsetMap::Latched home,
                                                          Place& place, const NewRecord& record,
                                                          Appended appended, Durability durability);
  Status try_put_many(const ByteSpans& keys, const ByteSpans& values, Durability durability,
                      std::size_t& done);
  Result<bool> try_erase(Bytes key, Durability durability);
  Result<bool> publish_erase(Session& own, Place& place, const NewRecord& record,
                             const Appended& appended, Durability durability);
  [[gnu::noinline]] Result<bool> publish_erase_slowly(Session& own, OffsetMap::Latched home,
                                                      Place& place, const NewRecord& record,
                                                      Appended appended, Durability durability);
  Result<std::uint64_t> try_update_word(Bytes key, std::uint32_t offset_bytes, Change change,
                                        Durability durability);
  [[gnu::noinline]] Result<std::uint64_t> update_word_by_copy(Session& own, OffsetMap::Latched home,
                                                              Entry entry, Bytes key,
                                                              std::uint64_t hash,
                                                              std::uint32_t offset_bytes,
                                                              Change change, Durability durability);
  Result<Version> try_put_if(Bytes key, Bytes value, Condition condition, Version expected,
                             Durability durability);
  Result<Version> try_update(Bytes key, FunctionRef<void(std::string&)> change, bool fixed_bytes,
                             Durability durability);
  Result<Version> try_write(const WriteBatch& batch, Durability durability);
  void publish_batch(Session& own, std::span<BatchMember> members, std::span<const Entry> entries,
                     const std::vector<bool>& claimed);

  // The rule of publication: newer than the key's record, and than what was erased in its
  // partition. A tombstone that came too late to erase anything is durable all the same, so the
  // horizon counts also where there is a record.
  bool is_newest(const Place& place, Entry entry, std::uint64_t sequence) const {
    if (rooms_.index.behind_horizon(place, sequence)) return false;
    return !entry || rooms_.records.at(OffsetMap::Home::line(entry)).sequence() < sequence;
  }
  // Points a found entry to the new record, and notes what becomes of the old one. Under the latch.
  void replace(Session& own, OffsetMap::Home& home, Entry entry, const Appended& record);
  void supersede(Session& own, Line line);
  void abandon(Session& own, const Appended& record) {
    own.notes.add(rooms_.table, line_at(record.offset), record.padded_bytes);
  }
  // The operation fails although its record is durable: nothing that is older may be acknowledged
  // from here on, since recovery would let the record win over it.
  void disown(Session& own, std::uint64_t hash, const Appended& record, RecordKind kind);

  Rooms& rooms_;
  Maintenance& maintenance_;
};

template <class Outcome, class Attempt>
Outcome Writes::settle_failed(Outcome outcome, Attempt& attempt) {
  for (;;) {
    Session& own = rooms_.sessions.of_this_thread();
    if (own.undone) {
      own.undone = false;
      // What it appended is marked dead on the medium, so that it does not appear after a crash.
      if (auto marked = maintenance_.take_back(own); !marked) return std::move(marked).error();
    }
    if (outcome.has_value() || outcome.code() != Errc::kNoSpace) return outcome;
    HF_ASSIGN_OR_RETURN(const bool room, maintenance_.make_room());
    if (!room) return maintenance_.full(std::move(outcome).error());
    outcome = attempt();
  }
}

}  // namespace holdfast::kv
