// Everything on the medium, read and checked: words, footers, records, and that the index agrees.
#include <holdfast/kv/store_core.hpp>

#include <string>

#include <holdfast/kv/recovery.hpp>

namespace holdfast::kv {

VerifyReport StoreCore::verify() const {
  VerifyReport report;
  const auto defect = [&](std::uint64_t offset, std::string what) {
    ++report.defects_total;
    if (report.defects.size() < 1000) report.defects.push_back({offset, std::move(what)});
  };
  for (const Defect& found : recovery_.defects)
    defect(found.offset, found.what);
  // While this runs nothing is freed: a run that we read stays what it was.
  const auto no_reclamation = lock_reclamation();
  Session& own = session();
  for (std::uint64_t head = 0; head < table_.blocks(); ++head) {
    const BlockMeta& run = table_.meta(head);
    if (geometry_.is_table_block(head) || run.head != head) continue;
    BlockWord word;
    const std::uint64_t word_at = geometry_.table_word_at(head);
    if (!decode_block_word(medium_.word(word_at), superblock_.store_id, head, word) ||
        word.state == BlockState::kUnformatted) {
      if (recovery_.defects.empty())
        defect(word_at,
               "table word of block " + std::to_string(head) + ": its check does not hold");
      continue;
    }
    if (run.state.load(std::memory_order_acquire) != BlockState::kSealed) continue;
    ++report.blocks;
    report.bytes += table_.run_bytes(head);
    const std::uint64_t base = table_.run_at(head);
    RunFooter footer;
    const std::byte* tail = nullptr;
    if (!read_footer(medium_, geometry_, table_, head, footer, tail)) {
      if (recovery_.defects.empty())
        defect(base + table_.run_bytes(head) - sizeof footer,
               "footer of sealed block " + std::to_string(head) + ": it is not valid");
      continue;
    }
    const auto* const entries =
        reinterpret_cast<const SummaryEntry*>(tail + dead_bits_bytes(footer.records));
    const std::uint64_t seed = geometry_.seed(run.generation);
    for (std::uint32_t i = 0; i < footer.records; ++i) {
      const std::uint64_t at = entries[i].offset_bytes();
      const auto name = [&] {
        return "record " + std::to_string(i) + " of block " + std::to_string(head) + ": ";
      };
      const RecordView record = record_at(Line{(base + at) / kCacheLineBytes});
      if (at >= footer.used_bytes || !record.fits(footer.used_bytes - at)) {
        defect(base + at, name() + "its length leads beyond its block");
        continue;
      }
      if (!record.is_sound(seed, patchable_)) {
        defect(base + at, name() + "its checksum does not hold");
        continue;
      }
      if (record.kind() != entries[i].kind() || record.header().ordinal != i ||
          record.sequence() != footer.base_sequence + entries[i].sequence_delta()) {
        defect(base + at, name() + "its block's summary says otherwise of it");
        continue;
      }
      const auto key = std::as_bytes(std::span(record.key()));
      if (hash64(key) != entries[i].hash)
        defect(base + at, name() + "its key's hash is not the summary's");
      if (record.kind() == RecordKind::kErase) {
        ++report.tombstones;
        continue;
      }
      ++report.records;
      if (table_.is_dead(run, i)) continue;
      // A live record is what its key leads to, or was superseded by what it leads to. An operation
      // under way may be between the two, so the doubt is resolved under the key's latch.
      const auto guard = epochs_.enter(own.participant);
      auto latched = index_->latch(entries[i].hash);
      const auto entry = latched.find(matches(key));
      if (!entry && !table_.is_dead(run, i) &&
          run.dead_bytes.load(std::memory_order_relaxed) == 0) {
        defect(base + at, name() + "it is live, but the index does not have its key");
      } else if (entry && record_at(latched.line(entry)).sequence() < record.sequence()) {
        defect(base + at, name() + "the index has an older version of its key");
      }
    }
  }
  return report;
}

}  // namespace holdfast::kv
