// mark, rewind: a savepoint in the store, and the way back to it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "console.hpp"
#include "kv_keys.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {

int kv_mark(const KvTarget& target, bool drop) {
  auto store = open_for_reclaiming(target.spec);
  if (!store) return report_error(target, store.error());
  const auto marked = [&]() -> Result<kv::Version> {
    if (!drop) return store->mark();
    HF_RETURN_IF_ERROR(store->drop_mark());
    return kv::Version{0};
  }();
  if (!marked) return report_error(target, marked.error());
  const std::uint64_t records = records_of(*store);
  if (const Status closed = store->close(); !closed) return report_error(target, closed.error());
  if (target.json)
    out("{{\"mark_version\":{},\"records\":{}}}\n", *marked, records);
  else if (drop)
    out("the mark is gone\n");
  else
    out("marked at version {}, with {}\n", *marked, counted(records, "record"));
  return kExitDone;
}

int kv_rewind(const KvTarget& target) {
  auto store = open_for_reclaiming(target.spec, /*at_mark=*/true);
  if (!store) return report_error(target, store.error());
  const kv::Version version = store->stats().mark_version;
  const std::uint64_t records = records_of(*store);
  if (const Status closed = store->close(); !closed) return report_error(target, closed.error());
  if (target.json)
    out("{{\"mark_version\":{},\"records\":{}}}\n", version, records);
  else
    out("back at version {}, with {}\n", version, counted(records, "record"));
  return kExitDone;
}

}  // namespace holdfast::tools
