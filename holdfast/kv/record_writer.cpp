#include <holdfast/kv/record_writer.hpp>

#include <holdfast/base/hash.hpp>

namespace holdfast::kv {

struct TempSums { std::uint64_t fixed, whole; };
TempSums temp_sums(const std::byte* header_and_body, std::uint64_t front, Bytes value, std::uint64_t padded, std::uint64_t header_bytes, std::uint64_t seed, std::span<const std::uint32_t> patchable) {
  Hash64Stream hash;
  hash.add(header_and_body + 8, 24);
  hash.add(header_and_body + header_bytes, front - header_bytes);
  std::size_t from = 0;
  const std::uint64_t zero = 0;
  for (auto at : patchable) {
    if (at + 8 > value.size()) break;
    hash.add(value.data() + from, at - from);
    hash.add(&zero, 8);
    from = at + 8;
  }
  hash.add(value.data() + from, value.size() - from);
  (void)padded;
  std::uint64_t fixed = mix64(hash.digest()) ^ seed, whole = fixed;
  for (auto at : patchable) {
    if (at + 8 > value.size()) break;
    std::uint64_t w; std::memcpy(&w, value.data() + at, 8);
    whole = mix64(whole + mix64(w + at));
  }
  return {fixed, whole};
}

static void fill(std::byte* to, const Geometry& g, std::span<const std::uint32_t> patchable, RecordKind kind, Bytes key, Bytes value, std::uint64_t value_bytes, const RecordPlace& place, std::uint64_t seed, std::uint64_t padded) {
  std::memset(to, 0, std::min<std::uint64_t>(padded, round_up(g.record_header_bytes + key.size() + 8, 64)));
  auto* h = reinterpret_cast<RecordHeader*>(to);
  h->sequence = place.sequence;
  h->size_word = value_bytes | place.flags;
  h->key_bytes_and_kind = static_cast<std::uint32_t>(key.size()) | std::uint32_t{static_cast<std::uint8_t>(kind)} << 24;
  h->ordinal = place.ordinal;
  std::memcpy(to + g.record_header_bytes, key.data(), key.size());
  const std::uint64_t front = kind == RecordKind::kPut ? g.value_at(key.size()) : g.record_header_bytes + key.size();
  const auto sums = temp_sums(to, front, value, padded, g.record_header_bytes, seed, patchable);
  h->checksum = sums.whole;
  if (!patchable.empty()) std::memcpy(to + sizeof *h, &sums.fixed, 8);
}

void RecordWriter::compose(std::byte* to, const NewRecord& record, const RecordPlace& place, std::uint64_t seed) const {
  const std::uint64_t padded = Geometry::padded(record.bytes(geometry_));
  const Bytes value = record.kind == RecordKind::kPut ? record.value : Bytes();
  std::memset(to + padded - 64, 0, 64);
  fill(to, geometry_, patchable_, record.kind, record.key, value, value.size(), place, seed, padded);
  if (!value.empty()) std::memcpy(to + geometry_.value_at(record.key.size()), value.data(), value.size());
}
void RecordWriter::compose_frame(std::byte* to, std::uint64_t members_bytes, const RecordPlace& place, std::uint64_t seed) const {
  fill(to, geometry_, patchable_, RecordKind::kBatch, {}, {}, members_bytes, place, seed, 64);
}
void RecordWriter::write_frame(std::byte* to, std::uint64_t members_bytes, const RecordPlace& place, std::uint64_t seed) const {
  alignas(64) std::byte frame[64];
  if (staged_) return compose_frame(to, members_bytes, place, seed);
  compose_frame(frame, members_bytes, place, seed);
  persist_.stream(to, frame, sizeof frame);
}
std::vector<std::byte> RecordWriter::compose_front(const NewRecord& record, const RecordPlace& place, std::uint64_t seed) const {
  const std::uint64_t padded = Geometry::padded(record.bytes(geometry_));
  const Bytes value = record.kind == RecordKind::kPut ? record.value : Bytes();
  const std::uint64_t front = record.bytes(geometry_) - value.size();
  std::vector<std::byte> bytes(round_up(front + 72, 64));
  fill(bytes.data(), geometry_, patchable_, record.kind, record.key, value, value.size(), place, seed, padded);
  bytes.resize(front);
  return bytes;
}

}  // namespace holdfast::kv
