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

namespace holdfast::kv {

class Reads {
 public:
  using Visit = FunctionRef<bool(std::string_view key, std::string_view value, Version)>;

  explicit Reads(Rooms& rooms) : rooms_(rooms) {}

  // Copies as much as fits; `value_bytes` is the whole length.
  Result<Version> get(Bytes key, std::span<std::byte> buffer, std::uint64_t& value_bytes) const;
  Result<Version> get(Bytes key, std::string& value) const;
  Result<Pinned> get_pinned(Bytes key) const;
  // Into objects side by side, or into texts: one of the two is null.
  Status get_many(const ByteSpans& keys, std::byte* objects, std::size_t object_bytes,
                  std::string* texts, std::span<Errc> outcomes) const;

  Result<Version> get_at(Version snapshot, Bytes key, std::string& value) const;
  Status for_each_at(Version snapshot, Visit visit) const;

 private:
  // Calls copy(RecordView) while the record cannot go away.
  template <class Copy>
  Result<Version> read(Bytes key, Copy&& copy) const;
  // What the index does not lead to may stand apart from it on page media.
  Live find_elsewhere(const Place& place, Bytes key, Live live) const {
    return rooms_.displaced != nullptr && live.outcome == Errc::kNotFound && !live.line
               ? rooms_.displaced->find(place.hash, key)
               : live;
  }
  template <class Copy>
  Status read_many(const ByteSpans& keys, std::span<Errc> outcomes, Copy&& copy) const;
  // Page media: brings records into memory, so many of them at once: of the keys from `first` on,
  // or the first ones of `lines`. Errors: kIo.
  static constexpr std::size_t kFetched = 64;
  Status fetch_records(const ByteSpans& keys, std::size_t first) const;
  Status fetch_records(std::span<const Line> lines) const;
  // What was read of this key is durable when it returns.
  void make_durable(const Place& place, const RecordView& record) const {
    if (!rooms_.records.patchable().empty() && rooms_.index.map().patching(place)) [[unlikely]]
      rooms_.medium.persist().persist(record.bytes(), record.record_bytes());
  }

  Rooms& rooms_;
};

}  // namespace holdfast::kv
