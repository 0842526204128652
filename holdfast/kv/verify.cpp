#include <holdfast/kv/verify.hpp>

#include <string>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

VerifyReport nothing_verified(const Error& why) {
  VerifyReport report;
  report.defects = {{0, why.message()}};
  report.defects_total = 1;
  return report;
}

Verification::Verification(Rooms& rooms, const std::vector<Defect>& found_at_open,
                           std::optional<std::uint16_t> space)
    : rooms_(rooms),
      found_at_open_(!found_at_open.empty()),
      space_(space),
      own_(rooms.sessions.of_this_thread()) {
  for (const Defect& found : found_at_open)
    defect(found.offset, found.what);
}

void Verification::defect(std::uint64_t offset, std::string what) {
  ++report_.defects_total;
  if (report_.defects.size() < 1000) report_.defects.push_back({offset, std::move(what)});
}

VerifyReport Verification::run() {
  rooms_.drain_notes();
  const Geometry& geometry = rooms_.table.geometry();
  for (std::uint64_t head = 0; head < rooms_.table.blocks(); ++head) {
    // Not by its head, which is written beside us while the block is free and being taken.
    const BlockState state = rooms_.table.meta(head).state.load(std::memory_order_acquire);
    if (geometry.is_table_block(head) || state == BlockState::kTail) continue;
    BlockWord word;
    const std::uint64_t word_at = geometry.table_word_at(head);
    if (decode_block_word(rooms_.medium.word(word_at), geometry.store_id, head, word) &&
        word.state != BlockState::kUnformatted) {
      check_run(head);
    } else if (!found_at_open_) {
      defect(word_at, "table word of block " + std::to_string(head) + ": its check does not hold");
    }
  }
  const std::uint64_t image_head = rooms_.mark.image_head();
  if (image_head != 0 && !space_) {
    const auto image = MarkImage::read(rooms_.medium, geometry, rooms_.table.blocks(), image_head);
    if (!image) defect(rooms_.table.run_at(image_head), image.error().detail);
  }
  return std::move(report_);
}

void Verification::check_run(std::uint64_t head) {
  const BlockMeta& meta = rooms_.table.meta(head);
  if (meta.state.load(std::memory_order_acquire) != BlockState::kSealed) return;
  const std::uint16_t of_run = meta.space.load(std::memory_order_relaxed);
  if (space_ && of_run != *space_ && of_run != kMixedSpaces) return;
  ++report_.blocks;
  report_.bytes += rooms_.table.run_bytes(head);
  if (auto fetched = rooms_.medium.fetch(rooms_.table.run_at(head), rooms_.table.run_bytes(head));
      !fetched)
    return defect(rooms_.table.run_at(head),
                  "block " + std::to_string(head) + " cannot be read: " + fetched.error().detail);
  const auto run = SealedRun::read(rooms_.medium, rooms_.table, head);
  if (!run) {
    if (!found_at_open_)
      defect(rooms_.table.run_at(head) + rooms_.table.run_bytes(head) - sizeof(RunFooter),
             "footer of sealed block " + std::to_string(head) + ": it is not valid");
    return;
  }
  for (std::uint32_t i = 0; i < run->records(); ++i)
    check_record(*run, meta, i);
}

void Verification::check_record(const SealedRun& run, const BlockMeta& meta, std::uint32_t i) {
  const std::uint64_t at = run.record_at(i), offset = run.offset() + at;
  const RecordView record = rooms_.records.at(line_at(offset));
  const std::uint16_t space = rooms_.space_at(meta, line_at(offset));
  if (space_ && space != *space_) return;
  const std::string name =
      "record " + std::to_string(i) + " of block " + std::to_string(meta.head) +
      (space == kDefaultSpace ? "" : " (keyspace " + std::to_string(space) + ")") + ": ";
  const std::uint64_t used = run.footer().used_bytes;
  if (at >= used || !record.fits(used - at))
    return defect(offset, name + "its length leads beyond its block");
  if (!record.is_sound(rooms_.records.rule(meta)))
    return defect(offset, name + "its checksum does not hold");
  if (record.kind() != run.kind(i) || record.header().ordinal != i ||
      record.sequence() != run.sequence(i))
    return defect(offset, name + "its block's summary says otherwise of it");
  if (rooms_.index.hash(record.key_bytes()) != run.hash(i))
    defect(offset, name + "its key's hash is not the summary's");
  check_dead_bit(run, i, line_at(offset), name);
  if (record.kind() == RecordKind::kErase) {
    ++report_.tombstones;
    return;
  }
  if (meta.space.load() != kMixedSpaces && record.header().space() != meta.space.load())
    return defect(offset, name + "it is of another keyspace than its block");
  ++report_.records;
  const auto check = [&] { return check_index(record, line_at(offset), run.hash(i), meta, name); };
  if (check() == IndexHas::kIt) return;
  // A thread that erased it since run() began may still owe the note that it is dead. A thread that
  // put it in a group may have filled its run, and not yet published it.
  HF_MUTANT("K147", rooms_.epochs.synchronize(), void());
  HF_MUTANT("K141", rooms_.drain_notes(), void());
  switch (check()) {
    case IndexHas::kIt: return;
    case IndexHas::kOlder:
      return defect(offset, name + "the index has an older version of its key");
    case IndexHas::kNothing:
      return defect(offset, name + "it is live, but the index does not have its key");
    case IndexHas::kItThoughDead:
      return defect(offset, name + "its dead bit is set, but the index leads to it");
  }
}

// The medium calls nothing dead that is not so in DRAM: it has the bits from there. Unless it was
// read as it is: with bits that do not count, or those of a mark.
void Verification::check_dead_bit(const SealedRun& run, std::uint32_t i, Line line,
                                  const std::string& name) {
  if (rooms_.gate.read_only() || !run.dead_on_medium(i)) return;
  if (HF_MUTANT("K152", rooms_.table.is_dead(line.number), true)) return;
  defect(run.dead_words_at() + i / 8, name + "its dead bit is set on the medium, but it is live");
}

// A live record is what its key leads to, or was superseded by what it leads to. An operation under
// way may be between the two, so the doubt is resolved under the key's latch. kNothing: the index
// does not have the key, and nothing is known to be dead there.
Verification::IndexHas Verification::check_index(const RecordView& record, Line line,
                                                 std::uint64_t hash, const BlockMeta& meta,
                                                 const std::string& name) {
  const bool dead = rooms_.table.is_dead(line.number);
  SpaceRooms* const space = rooms_.spaces.find(record.header().space());
  if (record.header().space() != kDefaultSpace && space == nullptr)
    return IndexHas::kIt;  // Dropped.
  KeyIndex& index = space == nullptr ? rooms_.index : space->index;
  const auto guard = rooms_.epochs.enter(own_.participant);
  if (dead && !index.leads_to(hash, line, guard)) return IndexHas::kIt;
  Place place = index.place(hash);
  auto home = index.latch(place, space == nullptr ? own_ : space->sessions.of_this_thread());
  if (dead) {
    const bool led_to = static_cast<bool>(home.find([&](Line at) { return at == line; }));
    return HF_MUTANT("K153", led_to, false) ? IndexHas::kItThoughDead : IndexHas::kIt;
  }
  const Entry entry = home.find(index.matches(record.key_bytes()));
  if (!entry && space == nullptr && rooms_.displaced && rooms_.displaced->holds(place, line))
    return IndexHas::kIt;
  if (!entry) {
    const bool may_be_dead = rooms_.table.is_dead(line.number) ||
                             meta.dead_bytes.load(std::memory_order_relaxed) != 0 ||
                             meta.own_dead_bytes.load() != 0;
    return may_be_dead ? IndexHas::kIt : IndexHas::kNothing;
  }
  if (rooms_.records.at(OffsetMap::Home::line(entry)).sequence() < record.sequence())
    return IndexHas::kOlder;
  if (OffsetMap::Home::line(entry) == line && record.is_in_pieces()) {
    if (auto whole = rooms_.pieces.gather(record); !whole)
      defect(offset_of(line), name + whole.error().detail);
  }
  return IndexHas::kIt;
}

}  // namespace holdfast::kv
