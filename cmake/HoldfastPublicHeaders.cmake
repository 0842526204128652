# The headers that users include. A change of one that breaks a program stands in CHANGELOG.md.
#
# A header that is not in this list is internal. The internal headers that public ones include are
# installed, too, marked "Internal" in their first line; no others (cmake/InstallHeaders.cmake).
set(HOLDFAST_PUBLIC_HEADERS
  base/result.hpp
  base/units.hpp
  memory/persist.hpp
  memory/region.hpp
  blocks/extent.hpp
  blocks/field/cow_field.hpp
  blocks/field/fam_field.hpp
  blocks/field/field_group.hpp
  blocks/field/log_field.hpp
  blocks/interleave/fiber.hpp
  blocks/interleave/scheduler.hpp
  blocks/log/log.hpp
  blocks/page/buffer_manager.hpp
  blocks/page/page_store.hpp
  index/dash/byte_dash.hpp
  index/dash/dash.hpp
  index/fastfair/fastfair.hpp
  index/fptree/fptree.hpp
  kv/background_pool.hpp
  kv/backup.hpp
  kv/checkpoint.hpp
  kv/cursor.hpp
  kv/events.hpp
  kv/expiry.hpp
  kv/latencies.hpp
  kv/merge.hpp
  kv/options.hpp
  kv/pipeline.hpp
  kv/prometheus.hpp
  kv/space.hpp
  kv/store.hpp
  kv/typed_store.hpp
  sql/function.hpp)
# And these, of the crash checker.
set(HOLDFAST_PUBLIC_CRASH_HEADERS
  crash/checker.hpp
  crash/key_value.hpp
  crash/mutation.hpp)
