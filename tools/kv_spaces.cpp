// spaces, create-space, drop-space: the keyspaces of a store.
#include <fmt/format.h>

#include <holdfast/kv/space.hpp>

#include "console.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
int kv_spaces(const KvTarget& target) {
  bool typed = false;
  auto store = open_for_reading(target, &typed);
  if (!store) return report_error(target, store.error());
  const bool damaged = warn_of_damage(kKvCommand, target.spec, *store);
  for (const std::string& name : store->spaces()) {
    const auto space = store->space(name);
    if (!space) return report_error(target, space.error());
    const kv::SpaceStats stats = space->stats();
    if (target.json) {
      std::string text = "{";
      append_json_member(text, "space", name);
      out("{},\"records\":{},\"blocks\":{},\"live_bytes\":{}}}\n", text, stats.records,
          stats.blocks, stats.live_bytes);
    } else {
      out("{}\t{}\t{}\n", visible(name), counted(stats.records, "record"),
          human_bytes(static_cast<double>(stats.live_bytes)));
    }
  }
  return damaged ? kExitFailed : kExitDone;
}

int kv_create_space(const KvTarget& target, const std::string& name) {
  auto store = open_for_writing(target.spec, RegionAccess::kOpenOrCreate, false);
  if (!store) return report_error(target, store.error());
  if (store->recovery().created) note("created store {}\n", target.spec);
  const auto space = with_room(*store, [&] { return store->create_space(name); });
  if (!space) return report_error(target, space.error());
  const auto survival = settle(*store);
  if (!survival) return report_error(target, survival.error());
  return print_done(target, "created", *survival);
}

int kv_drop_space(const KvTarget& target, const std::string& name) {
  auto store = open_for_writing(target.spec, RegionAccess::kOpen, false);
  if (!store) return report_error(target, store.error());
  const Status dropped = with_room(*store, [&] { return store->drop_space(name); });
  if (!dropped) return report_error(target, dropped.error());
  const auto survival = settle(*store);
  if (!survival) return report_error(target, survival.error());
  return print_done(target, "dropped", *survival);
}

}  // namespace holdfast::tools
