#include <holdfast/kv/expiry_sweep.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/sealed_run.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {
namespace {

constexpr std::size_t kRunsAtOnce = 64;
constexpr std::uint64_t kWorthIt = 8;  // One part in so many of a run's bytes.

}  // namespace

Result<bool> ExpirySweep::run(Reach reach, Reclaimer& reclaimer, Session& own) {
  if (!rooms_.expiry.any()) return holds_back_ = false;
  clock_ = rooms_.expiry.clock();
  if (versions_held() || (reach == Reach::kDue && clock_ == swept_) ||
      (reach == Reach::kAllOnce && clock_ == swept_all_ && !holds_back_))
    return false;
  const bool all = reach != Reach::kDue;
  if (rooms_.displaced && rooms_.displaced->count() != 0)
    HF_RETURN_IF_ERROR(rooms_.displaced->settle_all(own));
  rooms_.drain_notes();
  std::vector<Expired> expired;
  std::size_t read = 0;
  std::uint64_t block = all ? 0 : next_;
  if (block == 0) round_ = clock_;
  const std::uint64_t blocks = rooms_.table.blocks();
  for (; block < blocks && (all || read < kRunsAtOnce); ++block) {
    const BlockMeta& run = rooms_.table.meta(block);
    if (run.state.load(std::memory_order_acquire) != BlockState::kSealed || run.head != block ||
        run.is_given_up())
      continue;
    const auto found = looks_.find(block);
    if (!all && found != looks_.end() && found->second.generation == run.generation &&
        found->second.due > clock_)
      continue;
    HF_RETURN_IF_ERROR(look_at(block, all, expired));
    ++read;
  }
  const bool more = block < blocks;
  next_ = more ? block : 0;
  if (!more) swept_ = round_;
  if (all) {
    swept_all_ = clock_;
    holds_back_ = false;
  }
  if (expired.empty()) return more;
  // Until they have gone, also where an error or a snapshot keeps them.
  const bool held_before = std::exchange(holds_back_, HF_MUTANT("K170", true, false));

  HF_MUTANT("K95", rooms_.epochs.synchronize(), void());
  // A snapshot that opened before one of these records was published may look behind it: it is seen
  // here. One that opens later judges by this sweep's clock, or by a later one, and misses nothing.
  if (versions_held()) {
    for (const Expired& one : expired)
      looks_[one.head].due = 0;
    return more;
  }
  HF_ASSIGN_OR_RETURN(const std::uint64_t floor, reclaimer.tombstone_floor());
  HF_RETURN_IF_ERROR(HF_MUTANT("K96", reclaimer.put_all_dead_bits(), ok_status()));
  bool held = held_before;
  for (const Expired& one : expired) {
    const bool may_go = one.sequence < HF_MUTANT("K97", floor, ~std::uint64_t{0});
    if (may_go && drop(one, own)) continue;
    looks_[one.head].due = 0;  // The next sweep tries again.
    held = true;
  }
  holds_back_ = HF_MUTANT("K170", held, false);
  return more;
}

bool ExpirySweep::versions_held() const { return HF_MUTANT("K98", rooms_.versions_held(), false); }

Status ExpirySweep::look_at(std::uint64_t head, bool all, std::vector<Expired>& expired) {
  BlockTable& table = rooms_.table;
  const BlockMeta& meta = table.meta(head);
  HF_RETURN_IF_ERROR(rooms_.medium.fetch(table.run_at(head), table.run_bytes(head)));
  const auto run = SealedRun::read(rooms_.medium, table, head);
  if (!run) return {};  // Damaged; verify() tells.
  std::vector<std::uint64_t> ends;
  std::uint64_t bytes = 0;
  const std::size_t before = expired.size();
  for (std::uint32_t i = 0; i < run->records(); ++i) {
    const Line line = line_at(run->offset() + run->record_at(i));
    if (!is_put(run->kind(i)) || table.is_dead(line.number)) continue;
    const RecordView record = rooms_.records.at(line);
    if (!record.fits(run->record_end(i) - run->record_at(i)) || !is_put(record.kind())) continue;
    const auto end = rooms_.expiry.end_of(record);
    if (!end) continue;
    if (*end > clock_) {
      ends.push_back(*end);
      continue;
    }
    expired.push_back({head, run->hash(i), run->sequence(i), line});
    bytes += record.padded_bytes();
  }
  Look& look = looks_[head];
  look = {meta.generation, ~std::uint64_t{0}};
  if (!ends.empty()) {
    const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
    std::nth_element(ends.begin(), middle, ends.end());
    look.due = *middle;
    if (!all && bytes * kWorthIt < run->footer().used_bytes) expired.resize(before);
  }
  return {};
}

// False: not yet.
bool ExpirySweep::drop(const Expired& expired, Session& own) {
  const RecordView record = rooms_.records.at(expired.line);
  const std::uint16_t space = record.header().space();
  KeyIndex* const index = rooms_.index_of(space);
  if (index == nullptr) return true;  // Of a space that was dropped.
  const auto guard = rooms_.epochs.enter(own.participant);
  Place place = index->place(expired.hash);
  const auto is_it = [&](Line line) { return line == expired.line; };
  if (!index->map().look(place, is_it)) return true;  // Superseded.
  Session& books = space == kDefaultSpace ? own : *rooms_.spaces.find(space)->relocator;
  auto home = index->latch(place, books);
  const Entry entry = home.find(is_it);
  if (!entry) return true;
  if (space == kDefaultSpace && rooms_.displaced && rooms_.displaced->any(place)) return false;
  if (!rooms_.expiry.expired(record, clock_)) return true;  // Its stamp was updated in place.
  HF_MUTANT("K99", index->raise_horizon(expired.hash, expired.sequence), void());
  home.remove(entry);
  index->leave(record.key_bytes());
  home.release();
  rooms_.table.mark_dead(expired.line.number, record.padded_bytes());
  rooms_.table.count_dead(record.padded_bytes());
  dropped_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace holdfast::kv
