#include <holdfast/kv/evacuation.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>

namespace holdfast::kv {

Result<Evacuation::Emptied> Evacuation::run(std::uint64_t head, std::uint64_t floor) {
  opened_blocks_ = wasted_bytes_ = 0;
  HF_RETURN_IF_ERROR(rooms_.medium.fetch(rooms_.table.run_at(head), rooms_.table.run_bytes(head)));
  const auto run = SealedRun::read(rooms_.medium, rooms_.table, head);
  if (!run) {
    return rooms_.records.damaged(
        rooms_.table.run_at(head),
        "footer of sealed block " + std::to_string(head) + " is not valid");
  }
  to_ = rooms_.spaces.find(rooms_.table.meta(head).space.load(std::memory_order_relaxed));
  HF_RETURN_IF_ERROR(copy_all(*run, head, floor));
  std::uint64_t copied_bytes = 0;
  for (const Move& move : moves_)
    copied_bytes += move.to.padded_bytes;
  const std::uint64_t moved_bytes = publish_all();
  BlockMeta& meta = rooms_.table.meta(head);
  if (moved_bytes != 0) meta.moved.store(true, std::memory_order_relaxed);
  // Dead in our books only: its bit on the medium would say that the copy is durable.
  meta.dead_bytes.fetch_add(moved_bytes, std::memory_order_relaxed);
  rooms_.table.count_dead(moved_bytes);
  counts_.relocated_bytes.fetch_add(moved_bytes, std::memory_order_relaxed);
  const std::uint64_t used = run->footer().used_bytes;
  const std::uint64_t dropped = used - std::min(copied_bytes, used);
  const double share = used == 0 ? 1 : static_cast<double>(dropped) / static_cast<double>(used);
  return Emptied{dropped, opened_blocks_, share * static_cast<double>(meta.run_blocks)};
}

// ---- Onto the medium ----

Status Evacuation::copy_all(const SealedRun& run, std::uint64_t head, std::uint64_t floor) {
  moves_.clear();
  const Lock lock(target().lane.latch);
  auto copied = copy_live(run, head, floor);
  std::uint64_t lines = 0;
  for (const Move& move : moves_)
    lines += move.to.padded_bytes / kCacheLineBytes;
  own_.count(1, lines);
  if (!copied) {
    // Nothing will point to these copies. They are marked dead, since a later erase of their keys
    // would not know of them. They are fenced, since the next append here may be another thread's,
    // whose fence does not cover what this thread wrote back.
    for (const Move& move : moves_)
      discard(move);
    wasted_bytes_ = lines * kCacheLineBytes;
  }
  HF_RETURN_IF_ERROR(HF_MUTANT("K10", appender().commit(target().lane), ok_status()));
  return copied;
}

Status Evacuation::copy_live(const SealedRun& run, std::uint64_t head, std::uint64_t floor) {
  const BlockTable& table = rooms_.table;
  const BlockMeta& meta = table.meta(head);
  const SumRule rule = rooms_.records.rule(meta);
  const bool moved_before = meta.moved.load(std::memory_order_relaxed);
  constexpr std::uint32_t kAhead = 8;
  constexpr std::uint64_t kAheadBytes = 8 * kCacheLineBytes;  // Of each; then the CPU sees the way.
  const auto line_of = [&](std::uint32_t i) { return line_at(run.offset() + run.record_at(i)); };
  const auto ask_for = [&](std::uint32_t i) {
    if (i >= run.records() || table.is_dead(line_of(i).number)) return;
    const std::byte* const record = rooms_.medium.at(run.offset() + run.record_at(i));
    const std::uint64_t bytes = std::min(run.record_end(i) - run.record_at(i), kAheadBytes);
    for (std::uint64_t at = 0; at < bytes; at += kCacheLineBytes)
      prefetch_for_read(record + at);
  };
  for (std::uint32_t i = 0; i < kAhead; ++i)
    ask_for(i);
  for (std::uint32_t i = 0; i < run.records(); ++i) {
    ask_for(i + kAhead);
    const Line from = line_of(i);
    if (table.is_dead(from.number) || !is_wanted(run, i, from, moved_before, floor)) continue;
    const bool erase = run.kind(i) == RecordKind::kErase;
    // A tombstone is what a key leads to, or a version, only while there are snapshots.
    Move move{run.hash(i), from,
              {},          rooms_.space_at(meta, from),
              erase,       !erase || rooms_.versions_held()};
    HF_RETURN_IF_ERROR(copy(run, i, rule, move));
    moves_.push_back(move);
    const std::uint64_t target = this->target().lane.run.head;
    const BlockMeta& to = table.run_of(move.to.offset);
    if (to.head != target)
      opened_blocks_ += to.run_blocks;  // A run of its own.
    else if (std::exchange(target_, target) != target)
      ++opened_blocks_;
  }
  return {};
}

// Whether to copy a record that its bit does not call dead.
bool Evacuation::is_wanted(const SealedRun& run, std::uint32_t i, Line from, bool moved_before,
                           std::uint64_t floor) {
  const std::uint16_t space = rooms_.space_at(rooms_.table.run_of(run.offset()), from);
  if (rooms_.index_of(space) == nullptr) return false;  // Of a space that was dropped.
  if (run.kind(i) == RecordKind::kErase) {
    if (rooms_.versions_held() || run.sequence(i) >= HF_MUTANT("K02", floor, ~std::uint64_t{0}))
      return true;
    counts_.tombstones_dropped.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // If an earlier pass could not empty the run, a record that lives on as a copy must not be copied
  // again. The copy may have been patched since, and a new copy, of a higher generation, would win
  // over it after a crash. The run's records have no dead bits, so the index is asked.
  return !moved_before || is_live(space, run.hash(i), from);
}

Status Evacuation::copy(const SealedRun& run, std::uint32_t i, const SumRule& rule, Move& move) {
  const RecordView record = rooms_.records.at(move.from);
  if (record.fits(run.record_end(i) - run.record_at(i)) && record.sequence() == run.sequence(i))
      [[likely]] {
    HF_ASSIGN_OR_RETURN(const bool sound,
                        appender().append_copy(target().lane, record, move.hash, rule, move.to));
    if (sound) return {};
  }
  // The run of a damaged record is not freed.
  return rooms_.records.damaged(offset_of(move.from),
                                "record " + std::to_string(i) + " of sealed block " +
                                    std::to_string(rooms_.table.run_of(offset_of(move.from)).head) +
                                    " is not valid");
}

// ---- Into the index ----

// Returns the bytes of records to which nothing leads any more.
std::uint64_t Evacuation::publish_all() {
  constexpr std::size_t kAhead = 8;
  std::uint64_t moved_bytes = 0;
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    if (i + kAhead < moves_.size())
      rooms_.index_of(moves_[i + kAhead].space)->map().prefetch_for_write(moves_[i + kAhead].hash);
    const Move& move = moves_[i];
    if (!move.published) continue;
    if (publish(move))
      moved_bytes += move.to.padded_bytes;
    else if (!move.erase)
      discard(move);  // Superseded since: the copy is superfluous.
  }
  return moved_bytes;
}

// Points the index, or the versions that snapshots see, to the copy. False: nothing leads to the
// record any more.
bool Evacuation::publish(const Move& move) {
  KeyIndex& index = *rooms_.index_of(move.space);
  Versions& versions = *rooms_.versions_of(move.space);
  const auto guard = rooms_.epochs.enter(own_.participant);
  Place place = index.place(move.hash);
  const auto is_it = [&](Line line) { return line == move.from; };
  const Line to = line_at(move.to.offset);
  if (!versions.held()) [[likely]] {
    Seen at_home;
    if (index.map().glance<index::AnyProbing>(place, is_it, at_home) && at_home &&
        index.map().replace_at_once(place, at_home, to, [&] { return !versions.held(); }))
      return true;
  }
  const Seen seen = index.map().look(place, is_it);
  if (!seen && !versions.held()) return false;  // Superseded: no need to wait for a latch.
  auto home = index.latch(place, books_of(move.space));
  if (const Entry entry = seen && home.unchanged(seen) ? seen.entry : home.find(is_it)) {
    if (versions.held()) versions.move(move.from, move.from, to);
    home.replace(entry, to);
    return true;
  }
  if (!versions.held()) return false;
  const Entry entry = home.find(index.matches(rooms_.records.at(move.from).key_bytes()));
  if (!entry || !versions.holds(OffsetMap::Home::line(entry), move.from)) return false;
  versions.move(OffsetMap::Home::line(entry), move.from, to);
  return true;
}

void Evacuation::discard(const Move& move) {
  // The bytes of a tombstone count as dead already.
  const std::uint64_t bytes = move.erase ? 0 : move.to.padded_bytes;
  rooms_.table.mark_dead(line_at(move.to.offset).number, bytes);
  rooms_.table.count_dead(bytes);
}

Session& Evacuation::books_of(std::uint16_t space) {
  return space == kDefaultSpace ? own_ : *rooms_.spaces.find(space)->relocator;
}

// Whether the key leads to this record, or a snapshot does.
bool Evacuation::is_live(std::uint16_t space, std::uint64_t hash, Line line) {
  KeyIndex& index = *rooms_.index_of(space);
  const Versions& versions = *rooms_.versions_of(space);
  const auto guard = rooms_.epochs.enter(own_.participant);
  if (index.leads_to(hash, line, guard)) return true;
  if (!versions.held()) return false;
  Place place = index.place(hash);
  auto home = index.latch(place, books_of(space));
  const RecordView record = rooms_.records.at(line);
  if (!rooms_.records.fits(record, line)) return true;  // Damaged: the copy reports it.
  const Entry entry = home.find(index.matches(record.key_bytes()));
  return entry && versions.holds(OffsetMap::Home::line(entry), line);
}

}  // namespace holdfast::kv
