#include <holdfast/kv/record.hpp>

#include <algorithm>

#include <holdfast/kv/lane.hpp>

namespace holdfast::kv {

std::uint64_t fixed_checksum(const RecordHeader& header, std::span<const std::byte> key, const std::byte* value,
                             std::span<const std::uint32_t> patchable, std::uint64_t seed) {
  std::uint64_t sum = mix64(seed);
  const auto fold = [&](const std::byte* from, const std::byte* to) {
    if (from < to) sum = mix64(sum + hash64({from, static_cast<std::size_t>(to - from)}));
  };
  const auto* const fields = reinterpret_cast<const std::byte*>(&header);
  fold(fields + sizeof(std::uint64_t), fields + sizeof header);
  fold(key.data(), key.data() + key.size());
  if (header.kind() != RecordKind::kPut) return sum;
  const std::byte* from = value;
  for (const std::uint32_t word : patchable) {
    if (word + sizeof(std::uint64_t) > header.value_bytes) break;
    fold(from, value + word);
    from = value + word + sizeof(std::uint64_t);
  }
  fold(from, value + header.value_bytes);
  return sum;
}

std::vector<std::byte> compose_run_tail(const std::vector<Lane::Entry>& entries, std::uint64_t generation,
                                        std::uint64_t run_blocks, std::uint64_t used_bytes, std::uint64_t seed) {
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

std::uint64_t run_tail_checksum(const std::byte* tail, std::uint64_t tail_bytes, std::uint64_t records,
                                std::uint64_t seed) {
  // The dead bits are left out: they change after sealing.
  const std::byte* const summary = tail + dead_bits_bytes(records);
  const std::byte* const footer = tail + tail_bytes - sizeof(RunFooter);
  const std::uint64_t over_summary = hash64({summary, records * sizeof(SummaryEntry)});
  return mix64(over_summary) ^ seeded_checksum(footer + sizeof(std::uint64_t), sizeof(RunFooter) - sizeof(std::uint64_t), seed);
}

}  // namespace holdfast::kv
