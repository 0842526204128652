// reads.hpp: the verbs that read, and what a snapshot shows.
//
// Readers see only what is durable as its writer was promised, and never block. A word of a record
// may be being updated in place beside them: it is read whole, and where its update may not be
// durable yet, what was read is made durable before it is told.
// Threads    Any.   Fences  none, but for reads beside an in-place update of the same bucket.
#pragma once

#include <span>
#include <string>

#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::index::ordered {
class Cursor;
}

namespace holdfast::kv {

struct Packed;
struct Packing;
struct RecordAt;

// `R`: of the store's own keys, or of a space's (space_rooms.hpp).
template <class R>
class BasicReads {
 public:
  using Visit = FunctionRef<bool(std::string_view key, std::string_view value, Version)>;

  explicit BasicReads(R& rooms) : rooms_(rooms) {}

  template <class Path>
  Result<Version> get(Bytes key, std::string& value) const;
  // Calls copy(i, record, value) for those that are there.
  template <class Path, class Copy>
  Status get_many(const ByteSpans& keys, std::span<Errc> outcomes, Copy&& copy) const;
  // What fill() of a cursor does from the key on that it is at (packing.hpp). `next`: the record
  // that found no room.
  template <class Path>
  Packed pack(index::ordered::Cursor& keys, Packing& packing, RecordAt& next) const;
  Result<Pinned> get_pinned(Bytes key) const;

  // A get of a group, inside the caller's guard: into the text, or as much as fits into the buffer.
  // Returns the version and the value's whole length.
  struct Found {
    Version version = 0;
    std::uint64_t value_bytes = 0;
  };
  Result<Found> get_grouped(const Place& place, Bytes key, std::string* text,
                            std::span<std::byte> buffer, const EpochDomain::Guard& guard) const;

  // Page media: brings records into memory, so many of them at once: of the keys from `first` on,
  // or the first ones of `lines`. On others nothing is to be done. Errors: kIo.
  static constexpr std::size_t kFetched = 64;
  Status fetch_records(const ByteSpans& keys, std::size_t first) const;
  Status fetch_records(std::span<const Line> lines) const;

  Result<Version> get_at(Moment snapshot, Bytes key, std::string& value) const;
  Status for_each_at(Moment snapshot, Visit visit) const;

  // The value of a record that was found in a guard; `whole` holds it where it lies in pieces.
  Result<std::string_view> value_of(const RecordView& record, std::string& whole) const {
    if (!record.is_in_pieces()) [[likely]]
      return record.value();
    HF_ASSIGN_OR_RETURN(whole, rooms_.pieces.gather(record));
    return std::string_view(whole);
  }

  // Returns copy(record, value), called while the record cannot go away.
  template <class Path, class Copy>
  Result<std::uint64_t> read(Bytes key, Copy&& copy) const;
  // What the index leads to by `line`, and where it does not have the key, what stands apart from
  // it on page media.
  [[gnu::noinline, gnu::cold]] Live find_elsewhere(const Place& place, Bytes key, Line line,
                                                   const EpochDomain::Guard& guard) const;
  // For a key that does not lead to a live record in one piece: copies what there is nevertheless.
  // Absence is no error, and copies nothing.
  [[gnu::noinline, gnu::cold]] Status read_elsewhere(
      const Place& place, Bytes key, Line line, const EpochDomain::Guard& guard,
      FunctionRef<void(const RecordView&, Bytes value)> copy) const;
  // As KeyIndex::find(), also of what stands apart.
  Live find(const Place& place, Bytes key, const EpochDomain::Guard& guard) const;

 private:
  // The first candidate of each place, which is nearly always the one, and its first four lines.
  template <class Path>
  void ask_for_records(std::span<const Place> places, Line* candidates) const;
  template <class Path>
  bool leads_to_put(Line line, Bytes key) const;
  // What was read of this key is durable when it returns.
  void make_durable(const Place& place, const RecordView& record) const {
    if (!rooms_.records.patchable().empty() && rooms_.index.map().patching(place)) [[unlikely]]
      rooms_.medium.persist().persist(record.bytes(), record.record_bytes());
  }

  R& rooms_;
};
using Reads = BasicReads<Rooms>;

}  // namespace holdfast::kv
