#include <holdfast/kv/piece_collector.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/pieces.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

Status PieceCollector::collect() {
  Pieces& pieces = rooms_.pieces;
  if (!pieces.any()) return {};
  const auto ended = pieces.take_ended();
  if (ended.empty()) return {};
  // Whoever found one of these records before it was superseded reads its pieces in its guard.
  HF_MUTANT("K102", rooms_.epochs.synchronize(), void());
  for (const Pieces::Ended& one : ended) {
    for (std::uint32_t at = 0; at < one.pieces;) {
      HF_ASSIGN_OR_RETURN(at, remove_uncounted(one, at));
    }
  }
  return {};
}

Status PieceCollector::sweep() {
  if (!rooms_.pieces.any()) return {};
  SpaceRooms& space = rooms_.pieces.space();
  const OffsetMap& map = space.index.map();
  for (std::uint32_t partition = 0; partition < map.partitions(); ++partition) {
    std::vector<std::string> keys;
    {
      const auto guard = rooms_.epochs.enter(space.sessions.of_this_thread().participant);
      map.for_each(partition, [&](Line line) {
        keys.emplace_back(rooms_.records.at(line).key());
        return true;
      });
    }
    for (const std::string& key : keys) {
      PieceName name;
      if (!parse_piece_key(key, name)) continue;  // A damaged record; verify() tells.
      HF_RETURN_IF_ERROR(remove_uncounted(
          {std::string(name.key), name.space, name.lineage, name.number + 1}, name.number));
    }
  }
  return {};
}

Result<std::uint32_t> PieceCollector::remove_uncounted(const Pieces::Ended& of,
                                                       std::uint32_t from) {
  constexpr std::uint32_t kTogether = 16;
  const auto remove_behind = [&](std::uint32_t counted) {
    const std::uint32_t first = std::max(from, counted);
    const std::uint32_t end = std::min(of.pieces, first + kTogether);
    for (std::uint32_t i = first; i < end; ++i)
      remove(piece_key(of.key, of.lineage, i, of.space));
    return std::max(first, end);
  };
  SpaceRooms* const space = of.space == kDefaultSpace ? nullptr : rooms_.spaces.find(of.space);
  if (of.space != kDefaultSpace && space == nullptr)  // Of a keyspace that was dropped.
    return remove_behind(0);
  KeyIndex& index = space == nullptr ? rooms_.index : space->index;
  const Versions& versions = space == nullptr ? rooms_.versions : space->versions;
  Session& own = (space == nullptr ? rooms_.sessions : space->sessions).of_this_thread();
  Displaced* const displaced = space == nullptr ? rooms_.displaced.get() : nullptr;
  const Bytes key = std::as_bytes(std::span(of.key));
  for (;;) {
    {
      const auto guard = rooms_.epochs.enter(own.participant);
      Place place = index.place(index.hash(key));
      auto home = index.latch(place, own);
      if (displaced == nullptr || HF_MUTANT("K108", !displaced->any(place), true)) {
        const Entry entry = home.find(index.matches(key));
        std::uint32_t most = 0;
        const auto count = [&](Line line) {
          PiecesView view;
          if (PiecesView::read(rooms_.records.at(line), view) &&
              HF_MUTANT("K107", view.head.lineage == of.lineage, true))
            most = std::max(most, view.head.pieces);
        };
        if (entry) {
          const Line newest = OffsetMap::Home::line(entry);
          count(newest);
          HF_MUTANT("K103", versions.for_each_behind(newest, count), void());
        }
        // An append whose first try put the last piece may count it in its next.
        HF_MUTANT("K112", void(), home.release());
        return remove_behind(most);
      }
    }
    HF_RETURN_IF_ERROR(displaced->settle(own, index.hash(key)));
  }
}

void PieceCollector::remove(std::string_view piece) {
  SpaceRooms& space = rooms_.pieces.space();
  Session& own = space.sessions.of_this_thread();
  const Bytes key = std::as_bytes(std::span(piece));
  const auto guard = rooms_.epochs.enter(own.participant);
  Place place = space.index.place(space.index.hash(key));
  auto home = space.index.latch(place, own);
  const Entry entry = home.find(space.index.matches(key));
  if (!entry) return;
  const Line line = OffsetMap::Home::line(entry);
  const std::uint64_t bytes = rooms_.records.at(line).padded_bytes();
  home.remove(entry);
  home.release();
  rooms_.table.mark_dead(line.number, bytes);
  rooms_.table.count_dead(bytes);
}

}  // namespace holdfast::kv
