#include <holdfast/kv/rooms.hpp>

#include <utility>

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
  return loses ? medium.region().report().kind : std::string();
}

}  // namespace

Rooms::Rooms(Medium given, const StoreOptions& asked, const Superblock& found)
    : options(asked),
      medium(std::move(given)),
      superblock(found),
      default_durability(default_durability_of(options, medium)),
      gate(medium.region().read_only(), kind_that_loses_power(medium)),
      table(medium, geometry_of(superblock), options.max_bytes),
      pace(table, options),
      records(medium, table, superblock),
      sequences(medium, gate),
      group(medium.paged() ? std::make_unique<GroupCommit>(medium, table, gate) : nullptr),
      sessions(epochs, table),
      index(records, epochs, key_hash_of(superblock), options.verify_reads),
      displaced(medium.paged() ? std::make_unique<Displaced>(medium, table, records, index, epochs)
                               : nullptr),
      versions(records, index, sequences, epochs),
      appender(medium, table, records, sequences, gate, pace, group.get(), [this] {
        const bool few = table.free_blocks() < pace.blocks_ahead();
        if (few || pace.wants_reclaim() || index.map().wants_memory()) wake.ask();
      }) {}

}  // namespace holdfast::kv
