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
  std::vector<Uncounted> left;
  for (const Pieces::Ended& one : pieces.take_ended())
    HF_RETURN_IF_ERROR(look_at(one, 0, left));
  remove_after_readers(left);
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
        // One that does not fit is damaged; verify() tells.
        const RecordView record = rooms_.records.at(line);
        if (rooms_.records.fits(record, line)) keys.emplace_back(record.key());
        return true;
      });
    }
    std::vector<Uncounted> left;
    for (const std::string& key : keys) {
      PieceName name;
      if (!parse_piece_key(key, name)) continue;  // A damaged record; verify() tells.
      HF_RETURN_IF_ERROR(look_at({std::string(name.key), name.space, name.lineage, name.number + 1},
                                 name.number, left));
    }
    remove_after_readers(left);
  }
  return {};
}

Status PieceCollector::look_at(const Pieces::Ended& ended, std::uint32_t from,
                               std::vector<Uncounted>& left) {
  const auto number = ended.space;
  SpaceRooms* const space = number == kDefaultSpace ? nullptr : rooms_.spaces.find(number);
  if (number != kDefaultSpace && space == nullptr) {  // Of a keyspace that was dropped.
    left.push_back({ended, from});
    return {};
  }
  KeyIndex& index = space == nullptr ? rooms_.index : space->index;
  const Versions& versions = space == nullptr ? rooms_.versions : space->versions;
  Session& own = (space == nullptr ? rooms_.sessions : space->sessions).of_this_thread();
  Displaced* const displaced = space == nullptr ? rooms_.displaced.get() : nullptr;
  const Bytes key = std::as_bytes(std::span(ended.key));
  for (;;) {
    {
      const auto guard = rooms_.epochs.enter(own.participant);
      Place place = index.place(index.hash(key));
      auto home = index.latch(place, own);
      if (displaced == nullptr || HF_MUTANT("K108", !displaced->any(place), true)) {
        const Entry entry = home.find(index.matches(key));
        std::uint32_t counted = from;
        // Whether it is a record of the lineage, or the one that the lineage would begin with.
        const auto count = [&](Line line) {
          const RecordView record = rooms_.records.at(line);
          PiecesView view;
          if (!rooms_.records.fits(record, line) || !PiecesView::read(record, view))
            return HF_MUTANT("K115", record.sequence() == ended.lineage, false);
          if (HF_MUTANT("K107", view.head.lineage != ended.lineage, false)) return false;
          counted = std::max(counted, view.head.pieces);
          return true;
        };
        bool may_grow = false;
        if (entry) {
          const Line newest = OffsetMap::Home::line(entry);
          may_grow = count(newest);
          HF_MUTANT("K103", versions.for_each_behind(newest, count), void());
        }
        if (!may_grow) {
          if (counted < ended.pieces) left.push_back({ended, counted});
          return {};
        }
        HF_MUTANT("K112", void(), home.release());
        remove(ended, counted);
        return {};
      }
    }
    HF_RETURN_IF_ERROR(displaced->settle(own, index.hash(key)));
  }
}

void PieceCollector::remove_after_readers(const std::vector<Uncounted>& left) {
  if (left.empty()) return;
  HF_MUTANT("K102", rooms_.epochs.synchronize(), void());
  for (const Uncounted& one : left)
    remove(one.ended, one.first);
}

void PieceCollector::remove(const Pieces::Ended& ended, std::uint32_t first) {
  for (std::uint32_t i = first; i < ended.pieces; ++i)
    remove(piece_key(ended.key, ended.lineage, i, ended.space));
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
