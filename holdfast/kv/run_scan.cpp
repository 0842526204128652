#include <holdfast/kv/run_scan.hpp>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {
namespace {

class Scan {
 public:
  Scan(const Medium& medium, const BlockTable& table, const Records& records, const KeyIndex& index,
       std::uint64_t head, std::uint64_t synced_bytes)
      : medium_(medium),
        records_(records),
        index_(index),
        rule_(records.rule(table.meta(head))),
        base_(table.run_at(head)),
        run_bytes_(table.run_bytes(head)),
        synced_bytes_(synced_bytes) {
    run_.head = head;
  }

  ScannedRun result() {
    accept_in_order();
    if (!rule_.version1) accept_behind_damage();
    if (run_.torn_bytes == 0 && run_.used_bytes + sizeof(RecordHeader) <= run_bytes_ &&
        medium_.word(base_ + run_.used_bytes) != 0)
      run_.torn_bytes = kCacheLineBytes;
    return std::move(run_);
  }

 private:
  RecordView view(std::uint64_t at) const { return records_.at(line_at(base_ + at)); }

  // A whole record of this run, with the tail of so many records behind it.
  bool whole(std::uint64_t at, std::uint64_t ordinal) const {
    const std::uint64_t tail = run_tail_bytes(ordinal + 1);
    if (tail > run_bytes_) return false;
    const std::uint64_t room = run_bytes_ - tail;
    if (at + sizeof(RecordHeader) > room) return false;
    const RecordView record = view(at);
    if (!record.fits(room - at)) return false;
    if (HF_MUTANT("K14", record.header().ordinal != ordinal, false)) return false;
    if (record.kind() == RecordKind::kBatch &&
        record.header().value_bytes() > room - at - record.padded_bytes())
      return false;
    return record.is_whole(rule_);
  }

  std::uint64_t accept(std::uint64_t at) {
    const RecordView record = view(at);
    run_.entries.push_back(
        RunEntry::of(index_.hash(record.key_bytes()), record.sequence(), at, record.kind()));
    return at + record.padded_bytes();
  }

  // Where the members of the frame at `at` end, or 0 if they are not all there.
  std::uint64_t end_of_batch(std::uint64_t at, std::uint64_t ordinal) const {
    const RecordView frame = view(at);
    std::uint64_t member = at + frame.padded_bytes();
    const std::uint64_t end = member + frame.header().value_bytes();
    for (; member < end && whole(member, ordinal); ++ordinal) {
      const RecordView part = view(member);
      if (part.kind() == RecordKind::kBatch || part.sequence() != frame.sequence()) return 0;
      member += part.padded_bytes();
    }
    return HF_MUTANT("K15", member == end, true) ? member : 0;
  }

  void accept_in_order() {
    std::uint64_t at = 0;
    while (whole(at, run_.entries.size())) {
      if (view(at).kind() != RecordKind::kBatch) {
        at = accept(at);
        continue;
      }
      const std::uint64_t end = end_of_batch(at, run_.entries.size());
      if (end == 0) break;
      run_.frame_bytes += kCacheLineBytes;
      for (at += kCacheLineBytes; at < end;)
        at = accept(at);
    }
    run_.used_bytes = at;
  }

  // A whole record, of whatever ordinal that can stand here.
  bool whole_behind(std::uint64_t at, std::uint64_t least_ordinal) const {
    if (at + sizeof(RecordHeader) > run_bytes_) return false;
    const std::uint64_t ordinal = view(at).header().ordinal;
    // Cheap first: nearly all lines are no record's beginning.
    return ordinal >= least_ordinal && ordinal <= at / kCacheLineBytes && whole(at, ordinal);
  }

  void accept_behind_damage() {
    struct Behind {
      std::uint64_t at, end;
      bool batch;
    };
    const std::uint64_t lost_at = run_.used_bytes;
    std::vector<Behind> behind;
    bool proof = HF_MUTANT("K163", lost_at < synced_bytes_, false);
    std::uint64_t ordinal = run_.entries.size();
    for (std::uint64_t at = lost_at; at + kCacheLineBytes <= run_bytes_;) {
      if (!whole_behind(at, ordinal)) {
        at += kCacheLineBytes;
        continue;
      }
      const RecordView record = view(at);
      proof = proof || (record.fenced_before() && at != lost_at);
      behind.push_back({at, at + record.padded_bytes(), record.kind() == RecordKind::kBatch});
      // A frame has the ordinal of its first member.
      ordinal = record.header().ordinal + (behind.back().batch ? 0u : 1u);
      at = behind.back().end;
    }
    if (!proof) {
      if (!behind.empty()) run_.torn_bytes = behind.back().end - lost_at;
      return;
    }
    for (const Behind& found : behind) {
      if (found.at != run_.used_bytes) run_.damaged_at.push_back(run_.used_bytes);
      if (found.batch)
        run_.frame_bytes += kCacheLineBytes;
      else
        accept(found.at);
      run_.used_bytes = found.end;
    }
    // A member of a batch, or the last record that was synced.
    if (run_.damaged_at.empty()) run_.damaged_at.push_back(lost_at);
  }

  const Medium& medium_;
  const Records& records_;
  const KeyIndex& index_;
  const SumRule rule_;
  const std::uint64_t base_, run_bytes_, synced_bytes_;
  ScannedRun run_;
};

}  // namespace

ScannedRun scan_run(const Medium& medium, const BlockTable& table, const Records& records,
                    const KeyIndex& index, std::uint64_t head, std::uint64_t synced_bytes) {
  return Scan(medium, table, records, index, head, synced_bytes).result();
}

}  // namespace holdfast::kv
