#include <holdfast/kv/record.hpp>

#include <algorithm>
#include <array>

#include <holdfast/kv/lane.hpp>

namespace holdfast::kv {

std::uint64_t body_hash(std::span<const std::byte> key_and_padding,
                        std::span<const std::byte> value,
                        std::span<const std::uint32_t> patchable) {
  constexpr std::array<std::byte, sizeof(std::uint64_t)> kZeros{};
  Hash64Stream hash;
  hash.add(key_and_padding.data(), key_and_padding.size());
  std::size_t from = 0;
  for (const std::uint32_t at : patchable) {
    if (at + kZeros.size() > value.size()) break;
    hash.add(value.data() + from, at - from);
    hash.add(kZeros.data(), kZeros.size());
    from = at + kZeros.size();
  }
  hash.add(value.data() + from, value.size() - from);
  return hash.digest();
}

std::uint64_t RecordView::sum(std::uint64_t seed, std::span<const std::uint32_t> patchable) const {
  const std::span body(at_ + header_bytes_, record_bytes() - header_bytes_);
  const std::uint64_t hash = patchable.empty() ? hash64(body)
                                               : body_hash(body.first(body.size() - value_bytes()),
                                                           value_span(), patchable);
  return record_sum(header(), hash, seed);
}

std::vector<std::byte> compose_run_tail(const std::vector<Lane::Entry>& entries,
                                        std::uint64_t generation, std::uint64_t run_blocks,
                                        std::uint64_t used_bytes, std::uint64_t frame_bytes,
                                        std::uint64_t seed) {
  std::vector<std::byte> tail(run_tail_bytes(entries.size()));
  RunFooter footer{};
  footer.generation = generation;
  footer.base_sequence = ~std::uint64_t{0};
  for (const Lane::Entry& entry : entries) {
    footer.base_sequence = std::min(footer.base_sequence, entry.sequence);
    footer.max_sequence = std::max(footer.max_sequence, entry.sequence);
    footer.tombstones += entry.kind == RecordKind::kErase;
  }
  if (entries.empty()) footer.base_sequence = 0;
  footer.run_blocks = run_blocks;
  footer.used_bytes = used_bytes;
  footer.frame_bytes = frame_bytes;
  footer.records = static_cast<std::uint32_t>(entries.size());
  std::byte* const summary = tail.data() + dead_bits_bytes(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto entry = SummaryEntry::of(entries[i].hash, entries[i].sequence - footer.base_sequence,
                                        entries[i].kind, entries[i].offset);
    std::memcpy(summary + i * sizeof entry, &entry, sizeof entry);
  }
  std::byte* const footer_at = tail.data() + tail.size() - sizeof footer;
  std::memcpy(footer_at, &footer, sizeof footer);
  footer.checksum = run_tail_checksum(tail.data(), tail.size(), entries.size(), seed);
  std::memcpy(footer_at, &footer, sizeof footer);
  return tail;
}

std::uint64_t run_tail_checksum(const std::byte* tail, std::uint64_t tail_bytes,
                                std::uint64_t records, std::uint64_t seed) {
  // The dead bits are left out: they change after sealing.
  const std::byte* const summary = tail + dead_bits_bytes(records);
  const std::byte* const footer = tail + tail_bytes - sizeof(RunFooter);
  const std::uint64_t over_summary = hash64({summary, records * sizeof(SummaryEntry)});
  return mix64(over_summary) ^ seeded_checksum(footer + sizeof(std::uint64_t),
                                               sizeof(RunFooter) - sizeof(std::uint64_t), seed);
}

}  // namespace holdfast::kv
