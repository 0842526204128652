// Records of a foreign checkpoint that fall into given key ranges, put into a store.
//
// A key may have several records that are not dead, in runs that are read in any order: first the
// newest sequence of each key is found, then its record is put, unless it has expired by the clock
// of the checkpoint. Values in pieces are put whole, when a third pass has found their pieces.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <holdfast/kv/checkpoint_format.hpp>
#include <holdfast/kv/expiry_rules.hpp>
#include <holdfast/kv/pieces.hpp>
#include <holdfast/kv/record.hpp>
#include <holdfast/kv/superblock.hpp>

namespace holdfast::kv {
namespace {

// What the records of a run were summed with.
struct Sums {
  explicit Sums(const Superblock& superblock)
      : geometry(geometry_of(superblock)),
        words(std::span(superblock.patchable_words).first(superblock.patchable_count)) {}
  SumRule rule(std::uint64_t generation) const {
    return {geometry.seed(generation), words, geometry.is_version1(generation)};
  }
  const Geometry geometry;
  const PatchableWords words;
};

Error damaged_record(const PlannedRun& run, std::uint64_t at) {
  return {Errc::kCorrupt, "run " + std::to_string(run.name.generation) + " of origin " +
                              std::to_string(run.name.origin) + ", byte " + std::to_string(at) +
                              ": the checksum of a record does not hold"};
}

// Calls visit(record) for the puts and tombstones of the store's own keys, of the system space and
// of pieces, that are not dead.
template <class Visit>
Status for_each_living(const Sums& sums, const PlannedRun& run, std::span<const std::byte> packed,
                       Visit&& visit) {
  const SumRule rule = sums.rule(run.name.generation);
  std::uint32_t number = 0;
  for (std::uint64_t at = 0; at < run.used_bytes;) {
    const RecordView record(packed.data() + at, sums.geometry);
    if (!record.fits(run.used_bytes - at)) return damaged_record(run, at);
    const std::uint64_t here = std::exchange(at, at + record.padded_bytes());
    if (record.kind() == RecordKind::kBatch) continue;  // Its members follow.
    if (number == run.records) return damaged_record(run, here);
    const bool dead = !run.dead.empty() && (run.dead[number / 64] >> number % 64 & 1) != 0;
    ++number;
    if (dead) continue;
    if (!record.is_sound(rule)) return damaged_record(run, here);
    const std::uint16_t space = record.header().space();
    if (space == kDefaultSpace || space == kSystemSpace || space == kPieceSpace)
      HF_RETURN_IF_ERROR(visit(record));
  }
  return number == run.records ? ok_status() : Status(damaged_record(run, run.used_bytes));
}

// The keys of several ranges. A lookup is a binary search: a stream processor names a range for
// each of its key groups, of which there may be thousands.
class WantedKeys {
 public:
  explicit WantedKeys(std::span<const KeyRange> ranges) : all_(ranges.empty()) {
    std::vector<KeyRange> sorted(ranges.begin(), ranges.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const KeyRange& a, const KeyRange& b) { return a.from < b.from; });
    for (KeyRange& range : sorted) {
      if (!range.to.empty() && range.to <= range.from) continue;  // Of no key.
      if (ranges_.empty() || is_below(ranges_.back().to, range.from))
        ranges_.push_back(std::move(range));
      else if (range.to.empty() || is_below(ranges_.back().to, range.to))
        ranges_.back().to = std::move(range.to);
    }
  }

  bool contain(std::string_view key) const {
    if (all_) return true;
    const auto behind =
        std::upper_bound(ranges_.begin(), ranges_.end(), key,
                         [](std::string_view at, const KeyRange& one) { return at < one.from; });
    if (behind == ranges_.begin()) return false;
    const KeyRange& last = *std::prev(behind);
    return last.to.empty() || key < last.to;
  }

 private:
  // Whether a range with this end has it before `key`.
  static bool is_below(const std::string& end, const std::string& key) {
    return !end.empty() && end < key;
  }

  const bool all_;
  std::vector<KeyRange> ranges_;  // In order; between two of them is a key of none.
};

class Import {
 public:
  Import(Store<>& into, const CheckpointPlan& plan, std::span<const KeyRange> ranges)
      : into_(into), plan_(plan), wanted_(ranges), sums_(plan.superblock) {}

  Status find_newest(ReadRun read) {
    struct Newest {
      std::uint64_t sequence = 0;
      std::string value;
    };
    std::map<std::string, Newest> of_system;
    HF_RETURN_IF_ERROR(for_each_run(read, [&](const RecordView& record) -> Status {
      if (record.header().space() == kSystemSpace) {
        Newest& newest = of_system[std::string(record.key())];
        if (record.sequence() >= newest.sequence)
          newest = {record.sequence(), std::string(record.value())};
      } else if (record.header().space() == kDefaultSpace && wanted_.contain(record.key())) {
        std::uint64_t& newest = newest_[std::string(record.key())];
        newest = std::max(newest, record.sequence());
      }
      return {};
    }));
    // Names of keyspaces are among them.
    for (const auto& [key, newest] : of_system)
      (void)adopt_expiry(expiry_, key, newest.value);
    return {};
  }
  Status put_newest(ReadRun read) {
    HF_RETURN_IF_ERROR(for_each_run(read, [&](const RecordView& record) -> Status {
      if (!is_put(record.kind()) || record.header().space() != kDefaultSpace ||
          !wanted_.contain(record.key()))
        return {};
      const auto found = newest_.find(std::string(record.key()));
      // A copy that reclamation made has the sequence of its original, and its bytes.
      if (found == newest_.end() || found->second != record.sequence()) return {};
      newest_.erase(found);
      if (expiry_.expired(record)) return {};
      if (record.is_in_pieces()) return keep_in_pieces(record);
      return put(std::string(record.key()), std::string(record.value()));
    }));
    return flush();
  }
  // Those that put_newest() came upon.
  Status put_in_pieces(ReadRun read) {
    if (in_pieces_.empty()) return {};
    HF_RETURN_IF_ERROR(for_each_run(read, [&](const RecordView& record) -> Status {
      PieceName name;
      if (record.header().space() != kPieceSpace || !parse_piece_key(record.key(), name) ||
          name.space != kDefaultSpace)
        return {};
      const auto found = in_pieces_.find(std::string(name.key));
      if (found == in_pieces_.end() || found->second.lineage != name.lineage ||
          name.number >= found->second.count)
        return {};
      found->second.pieces[name.number] = record.value();
      return {};
    }));
    for (auto& [key, value] : in_pieces_) {
      std::string whole = std::move(value.front);
      for (const auto& [number, piece] : value.pieces)
        whole += piece;
      whole += value.tail;
      if (value.pieces.size() != value.count || whole.size() != value.bytes) {
        return Error{Errc::kCorrupt, "the value of a key of " + std::to_string(key.size()) +
                                         " bytes lies in pieces, and the checkpoint lacks some"};
      }
      HF_RETURN_IF_ERROR(put(key, std::move(whole)));
    }
    return flush();
  }
  std::uint64_t records() const { return records_; }

 private:
  static constexpr std::size_t kGroup = 256, kGroupBytes = 4 * MiB;

  template <class Visit>
  Status for_each_run(ReadRun read, Visit&& visit) {
    std::vector<std::byte> packed;
    for (const PlannedRun& run : plan_.runs) {
      packed.resize(run.packed_bytes());
      HF_RETURN_IF_ERROR(read({run.name, run.packed_bytes(), run.records}, packed));
      HF_RETURN_IF_ERROR(for_each_living(sums_, run, packed, visit));
    }
    return {};
  }
  Status put(std::string key, std::string value) {
    bytes_ += key.size() + value.size();
    keys_.push_back(std::move(key));
    values_.push_back(std::move(value));
    return keys_.size() == kGroup || bytes_ >= kGroupBytes ? flush() : ok_status();
  }
  Status keep_in_pieces(const RecordView& record) {
    PiecesView view;
    if (!PiecesView::read(record, view) || view.value_bytes() > kMaxValueBytes)
      return Error{Errc::kCorrupt, "a value in pieces that says nothing of them"};
    in_pieces_[std::string(record.key())] = {view.head.lineage,      view.value_bytes(),
                                             view.head.pieces,       std::string(view.front),
                                             std::string(view.tail), {}};
    return {};
  }
  Status flush() {
    const std::vector<std::string_view> keys(keys_.begin(), keys_.end());
    const std::vector<std::string_view> values(values_.begin(), values_.end());
    HF_RETURN_IF_ERROR(into_.put_many(keys, values));
    records_ += keys.size();
    keys_.clear(), values_.clear();
    bytes_ = 0;
    return {};
  }

  Store<>& into_;
  const CheckpointPlan& plan_;
  const WantedKeys wanted_;
  const Sums sums_;
  ExpiryRules expiry_;
  std::unordered_map<std::string, std::uint64_t> newest_;  // Sequence, by key.
  struct InPiecesYet {
    std::uint64_t lineage = 0, bytes = 0;
    std::uint32_t count = 0;
    std::string front, tail;
    std::map<std::uint32_t, std::string> pieces;  // Those that were found, by their numbers.
  };
  std::unordered_map<std::string, InPiecesYet> in_pieces_;  // By key.
  std::vector<std::string> keys_, values_;
  std::uint64_t bytes_ = 0, records_ = 0;
};

}  // namespace

Result<std::uint64_t> import_checkpoint(Store<>& into, std::span<const std::byte> private_part,
                                        ReadRun read, std::span<const KeyRange> ranges) {
  HF_ASSIGN_OR_RETURN(const CheckpointPlan plan, CheckpointPlan::decode(private_part));
  Import import(into, plan, ranges);
  HF_RETURN_IF_ERROR(import.find_newest(read));
  HF_RETURN_IF_ERROR(import.put_newest(read));
  HF_RETURN_IF_ERROR(import.put_in_pieces(read));
  return import.records();
}

}  // namespace holdfast::kv
