#include <holdfast/kv/sealed_run.hpp>

#include <algorithm>

#include <holdfast/base/hash.hpp>
#include <holdfast/kv/format_v1.hpp>

namespace holdfast::kv {
std::uint64_t run_tail_checksum(const std::byte* tail, std::uint64_t records, std::uint64_t seed) {
  const std::byte* const summary = tail + dead_bits_bytes(records);
  const std::byte* const footer = tail + run_tail_bytes(records) - sizeof(RunFooter);
  const std::uint64_t over_summary = hash64({summary, records * sizeof(SummaryEntry)});
  const std::uint64_t over_footer =
      hash64({footer + sizeof(std::uint64_t), sizeof(RunFooter) - sizeof(std::uint64_t)});
  return mix64(over_summary) ^ over_footer ^ seed;
}

namespace {

template <class Make>
void compose_summary(std::span<const RunEntry> entries, std::uint64_t base_sequence, Make&& make,
                     std::byte* summary) {
  for (const RunEntry& entry : entries) {
    const SummaryEntry made =
        make(entry.hash, entry.sequence - base_sequence, entry.kind(), entry.offset());
    std::memcpy(summary, &made, sizeof made);
    summary += sizeof made;
  }
}

}  // namespace

std::vector<std::byte> compose_run_tail(std::span<const RunEntry> entries, const RunTail& run) {
  std::vector<std::byte> tail(run_tail_bytes(entries.size()));
  RunFooter footer{};
  footer.generation = run.generation;
  footer.base_sequence = entries.empty() ? 0 : ~std::uint64_t{0};
  for (const RunEntry& entry : entries) {
    footer.base_sequence = std::min(footer.base_sequence, entry.sequence);
    footer.max_sequence = std::max(footer.max_sequence, entry.sequence);
    footer.tombstones += entry.kind() == RecordKind::kErase;
  }
  footer.run_blocks = static_cast<std::uint32_t>(run.run_blocks);
  footer.space = run.space;
  footer.used_bytes = run.used_bytes;
  footer.frame_bytes = run.frame_bytes;
  footer.records = static_cast<std::uint32_t>(entries.size());
  std::byte* const summary = tail.data() + dead_bits_bytes(entries.size());
  if (run.version1) {
    compose_summary(entries, footer.base_sequence, v1::summary_entry, summary);
  } else {
    const auto make = [](auto... parts) { return SummaryEntry::of(parts...); };  // Inlined.
    compose_summary(entries, footer.base_sequence, make, summary);
  }
  std::byte* const footer_at = tail.data() + tail.size() - sizeof footer;
  std::memcpy(footer_at, &footer, sizeof footer);
  footer.checksum = run_tail_checksum(tail.data(), entries.size(), run.seed);
  std::memcpy(footer_at, &footer, sizeof footer);
  return tail;
}

SealedRun SealedRun::trusted(const Medium& medium, const BlockTable& table, std::uint64_t head) {
  SealedRun run;
  run.offset_ = table.run_at(head);
  const std::uint64_t end = run.offset_ + table.run_bytes(head);
  std::memcpy(&run.footer_, medium.at(end - sizeof run.footer_), sizeof run.footer_);
  run.dead_words_at_ = end - run_tail_bytes(run.footer_.records);
  run.dead_words_ = reinterpret_cast<const std::uint64_t*>(medium.at(run.dead_words_at_));
  run.entries_ = reinterpret_cast<const SummaryEntry*>(
      medium.at(run.dead_words_at_ + dead_bits_bytes(run.footer_.records)));
  run.version1_ = table.geometry().is_version1(table.meta(head).generation);
  return run;
}

std::optional<SealedRun> SealedRun::read(const Medium& medium, const BlockTable& table,
                                         std::uint64_t head) {
  const BlockMeta& meta = table.meta(head);
  const std::uint64_t run_bytes = table.run_bytes(head);
  RunFooter footer;
  std::memcpy(&footer, medium.at(table.run_at(head) + run_bytes - sizeof footer), sizeof footer);
  // Each length before it is used.
  if (footer.generation != meta.generation || footer.run_blocks != meta.run_blocks ||
      footer.records > kMaxRecordsPerRun || run_tail_bytes(footer.records) > run_bytes ||
      footer.used_bytes > run_bytes - run_tail_bytes(footer.records) ||
      footer.frame_bytes > footer.used_bytes) {
    return std::nullopt;
  }
  const std::byte* const tail =
      medium.at(table.run_at(head) + run_bytes - run_tail_bytes(footer.records));
  const std::uint64_t seed = table.geometry().seed(meta.generation);
  if (run_tail_checksum(tail, footer.records, seed) != footer.checksum) return std::nullopt;
  return trusted(medium, table, head);
}

std::uint32_t SealedRun::find(std::uint64_t offset_in_run) const {
  const SummaryEntry* const end = entries_ + footer_.records;
  const SummaryEntry* const found = std::partition_point(
      entries_, end,
      [&](const SummaryEntry& entry) { return entry.offset_bytes() < offset_in_run; });
  const bool there = found != end && found->offset_bytes() == offset_in_run;
  return there ? static_cast<std::uint32_t>(found - entries_) : footer_.records;
}

}  // namespace holdfast::kv
