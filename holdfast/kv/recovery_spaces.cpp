// The keyspaces of a store that is opened: which there are, and what is left of those that are not.
// docs/keyspaces.md, "Recovery".
//
//  its name says   its records                          what is done
//  live            any, or none                         it is there, with an index of its own
//  dropped         some                                 a crash came before its runs were free:
//                                                       they are freed; in runs of several spaces
//                                                       its records are dead
//  dropped         none                                 nothing
//  (no name)       some                                 the medium lied: kCorrupt (read-only:
//                                                       reported, not reachable)
#include <algorithm>
#include <iterator>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/recovery.hpp>
#include <holdfast/kv/space_names.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

OffsetMap* Recovery::map_of(std::uint16_t space, Tallies& tallies, OffsetMap::Tally*& tally) {
  if (space == kDefaultSpace) {
    tally = tallies.own;
    return &rooms_.index.map();
  }
  auto made = rooms_.spaces.make(space);
  if (!made) {
    fail(std::move(made).error());
    return nullptr;
  }
  OffsetMap& map = (*made)->index.map();
  OffsetMap::Tally*& own = tallies.of_spaces[space];
  if (own == nullptr) own = &map.new_tally();
  tally = own;
  return &map;
}

namespace {

template <class Visit>
void for_each_line(const OffsetMap& map, Visit&& visit) {
  for (std::uint32_t partition = 0; partition < map.partitions(); ++partition) {
    map.for_each(partition, [&](Line line) {
      visit(line);
      return true;
    });
  }
}

}  // namespace

// What the names say decides which records there are: those of a space that was dropped are none,
// those of a space that has no name are damage, since its name was durable before its first record.
void Recovery::settle_spaces() {
  std::map<std::uint16_t, SpaceName> names;
  if (const SpaceRooms* const system = rooms_.spaces.find(kSystemSpace)) {
    auto participant = rooms_.epochs.join();
    const auto guard = rooms_.epochs.enter(participant);
    for_each_line(system->index.map(), [&](Line line) {
      const Live live = system->index.judge(line);
      std::uint16_t id = 0;
      SpaceName name;
      // What expires is adopted later: it judges no record of this space. Here it is checked.
      ExpiryRules rules;
      if (live && decode_space_name(live.record.key(), live.record.value(), id, name))
        names[id] = std::move(name);
      else if (!live || !adopt_expiry(rules, live.record.key(), live.record.value()))
        note(offset_of(line), "a record of the system space is not valid");
    });
  }
  std::vector<std::uint16_t> dropped;
  rooms_.spaces.for_each([&](const SpaceRooms& space) {
    if (space.id == kSystemSpace || space.id == kPieceSpace) return;
    const auto found = names.find(space.id);
    if (found == names.end())
      note(0, "records of keyspace " + std::to_string(space.id) + ", which has no name");
    else if (HF_MUTANT("K53", !found->second.live, false))
      dropped.push_back(space.id);
  });
  for (const std::uint16_t space : dropped)
    forget_space(space);
  for (const auto& [id, name] : names) {
    if (!name.live) continue;
    if (auto made = rooms_.spaces.make(id); !made) fail(std::move(made).error());
  }
}

void Recovery::forget_space(std::uint16_t id) {
  const BlockTable& table = rooms_.table;
  const auto is_of_it = [&](std::uint64_t head) {
    return table.meta(head).space.load(std::memory_order_relaxed) == id;
  };
  std::copy_if(runs_.begin(), runs_.end(), std::back_inserter(runs_of_dropped_), is_of_it);
  std::erase_if(gathered_.word_missing, [&](std::uint64_t head) {
    return is_of_it(head) && table.meta(head).pins.load(std::memory_order_relaxed) == 0;
  });
  std::erase_if(gathered_.scanned, [&](const ScannedRun& run) { return is_of_it(run.head); });
  {
    auto participant = rooms_.epochs.join();
    const auto guard = rooms_.epochs.enter(participant);
    for_each_line(rooms_.spaces.find(id)->index.map(), [&](Line line) {
      const std::uint64_t bytes = rooms_.records.at(line).padded_bytes();
      if (!is_of_it(table.run_of(offset_of(line)).head)) rooms_.table.mark_dead(line.number, bytes);
    });
  }
  rooms_.spaces.retire(id);
}

}  // namespace holdfast::kv
