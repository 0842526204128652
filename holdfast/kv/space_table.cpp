#include <holdfast/kv/space_table.hpp>

#include <algorithm>
#include <atomic>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

// ---- One space ----

Result<std::unique_ptr<SpaceRooms>> SpaceRooms::make(Rooms& store, std::uint16_t id) {
  HF_ASSIGN_OR_RETURN(auto map, OffsetMap::create(store.epochs, {}));
  auto made = std::make_unique<SpaceRooms>(store, id, std::move(map));
  if (store.options.order && id >= kFirstSpace && id <= kLastSpace) {
    HF_ASSIGN_OR_RETURN(auto order, KeyOrder::create(store.epochs));
    made->index.adopt(std::move(order));
  }
  return made;
}

SpaceRooms::SpaceRooms(Rooms& of, std::uint16_t number, std::unique_ptr<OffsetMap> map)
    : store(of),
      id(number),
      medium(of.medium),
      gate(of.gate),
      epochs(of.epochs),
      table(of.table),
      upkeep(of.upkeep),
      records(of.records),
      sequences(of.sequences),
      group(of.group),
      pieces(of.pieces),
      expiry(of.expiry),
      sessions(epochs, table, &of.spaces.users()),
      index(records, of.expiry, key_hash_of(of.superblock), of.options.verify_reads),
      versions(records, index, sequences, epochs, gate),
      appender(medium, table, records, sequences, gate, upkeep.pace, group, id,
               [this] { store.ask_if_short(index); }) {
  index.adopt(std::move(map));
  sessions.count_in(index.map());
  relocator = sessions.make_own();
}

// ---- All of them ----

SpaceTable::SpaceTable(Rooms& rooms) : rooms_(rooms), by_id_(std::size_t{kPieceSpace} + 1) {}
SpaceTable::~SpaceTable() = default;

SpaceRooms* SpaceTable::find(std::uint16_t id) const {
  if (id > kPieceSpace) return nullptr;
  auto& place = const_cast<SpaceRooms*&>(by_id_[id]);  // NOLINT: an atomic load.
  return std::atomic_ref(place).load(std::memory_order_acquire);
}

Result<SpaceRooms*> SpaceTable::make(std::uint16_t id) {
  if (SpaceRooms* const present = find(id)) return present;
  const Lock lock(mutex_);
  if (SpaceRooms* const present = find(id)) return present;
  std::unique_ptr<SpaceRooms> made;
  const bool ordered = rooms_.options.order && id >= kFirstSpace && id <= kLastSpace;
  const auto fits = [&](const auto& spare) { return spare->index.is_ordered() == ordered; };
  if (const auto spare = std::find_if(spare_.begin(), spare_.end(), fits); spare != spare_.end()) {
    made = std::move(*spare);
    spare_.erase(spare);
    made->be(id);
  } else {
    HF_ASSIGN_OR_RETURN(made, SpaceRooms::make(rooms_, id));
  }
  SpaceRooms* const space = made.get();
  const auto behind = std::find_if(spaces_.begin(), spaces_.end(),
                                   [id](const auto& other) { return other->id > id; });
  spaces_.insert(behind, std::move(made));
  rooms_.table.set_spaces(spaces_.size());
  std::atomic_ref(by_id_[id]).store(space, std::memory_order_release);
  return space;
}

void SpaceTable::retire(std::uint16_t id) {
  std::unique_ptr<SpaceRooms> gone;
  {
    const Lock lock(mutex_);
    std::atomic_ref(by_id_[id]).store(nullptr, std::memory_order_release);
    const auto found = std::find_if(spaces_.begin(), spaces_.end(),
                                    [id](const auto& other) { return other->id == id; });
    gone = std::move(*found);
    spaces_.erase(found);
    rooms_.table.set_spaces(spaces_.size());
  }
  // Without the lock: that a key order ends waits for guards.
  const bool empty = HF_MUTANT("K151", gone->index.clear(rooms_.epochs), ok_status()).has_value();
  const Lock lock(mutex_);
  (empty ? spare_ : retired_).push_back(std::move(gone));
}

std::vector<SpaceRooms*> SpaceTable::all() const {
  const Lock lock(mutex_);
  std::vector<SpaceRooms*> all;
  for (const auto& space : spaces_)
    all.push_back(space.get());
  return all;
}

}  // namespace holdfast::kv
