#include <holdfast/kv/rooms.hpp>

#include <utility>

#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {
namespace {

Durability default_durability_of(const StoreOptions& options, const Medium& medium) {
  if (options.durability != Durability::kDefault) return options.durability;
  const Granularity granularity = medium.region().granularity();
  return granularity == Granularity::kLine || granularity == Granularity::kByte
             ? Durability::kPower
             : Durability::kProcess;
}

std::string kind_that_loses_power(const Medium& medium) {
  const bool loses = medium.region().granularity() == Granularity::kNone;
  return loses ? std::string(medium.region().kind()) : std::string();
}

}  // namespace

Rooms::Rooms(Medium given, const StoreOptions& asked, const Superblock& found)
    : options(asked),
      events(asked.listener),
      medium(std::move(given)),
      superblock(found),
      gate(medium.region().read_only(), kind_that_loses_power(medium), &events),
      table(medium, geometry_of(superblock), options.max_bytes, &events),
      mark(medium, table),
      upkeep(table, options),
      records(medium, table, superblock),
      sequences(medium, gate),
      group(medium, table, gate),
      sessions(epochs, table),
      index(records, expiry, key_hash_of(superblock), options.verify_reads),
      displaced(medium.paged() ? std::make_unique<Displaced>(medium, table, records, index, epochs)
                               : nullptr),
      versions(records, index, sequences, epochs, gate),
      appender(medium, table, records, sequences, gate, upkeep.pace, group, kDefaultSpace,
               [this] { ask_if_short(index); }),
      spaces(*this),
      pieces(*this) {
  options.durability = default_durability_of(asked, medium);
}

void Rooms::ask_if_short(const KeyIndex& of) {
  const bool few = table.free_blocks() < upkeep.pace.blocks_ahead();
  if (few || upkeep.pace.wants_reclaim() || of.map().wants_memory()) upkeep.wake.ask();
}

Status Rooms::raise_flags(std::uint64_t flags) {
  const Lock lock(superblock.raising);
  auto raised = raise_flag(medium, superblock, flags);
  if (!raised) gate.fail_in_doubt(raised.error());
  return raised;
}

void Rooms::drain_notes() {
  sessions.drain_notes();
  spaces.for_each([](SpaceRooms& space) { space.sessions.drain_notes(); });
}

bool Rooms::inside() const {
  const auto inside = [](const Sessions& of) {
    const Session* const own = of.present();
    return own != nullptr && own->participant.inside();
  };
  bool found = inside(sessions);
  spaces.for_each([&](const SpaceRooms& space) { found = found || inside(space.sessions); });
  return found;
}

bool Rooms::is_called_back() const {
  const auto inside = [](const Session* own) {
    return own != nullptr && (own->participant.inside() || own->user.inside());
  };
  bool found = inside(sessions.present());
  spaces.for_each(
      [&](const SpaceRooms& space) { found = found || inside(space.sessions.present()); });
  return found;
}

void Rooms::end_left_snapshots() {
  const auto close_left = [this](auto& of) {
    if (of.versions.any_left()) of.versions.close_left(of.sessions.of_this_thread(), table);
  };
  close_left(*this);
  spaces.for_each(close_left);
}

bool Rooms::versions_held() const {
  bool held = versions.held();
  spaces.for_each([&](const SpaceRooms& space) { held = held || space.versions.held(); });
  return held;
}

KeyIndex* Rooms::index_of(std::uint16_t space) {
  if (space == kDefaultSpace) return &index;
  SpaceRooms* const found = spaces.find(space);
  return found == nullptr ? nullptr : &found->index;
}

Versions* Rooms::versions_of(std::uint16_t space) {
  if (space == kDefaultSpace) return &versions;
  SpaceRooms* const found = spaces.find(space);
  return found == nullptr ? nullptr : &found->versions;
}

}  // namespace holdfast::kv
