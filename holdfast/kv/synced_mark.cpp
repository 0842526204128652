#include <holdfast/kv/synced_mark.hpp>

#include <cstring>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

Status put_synced_mark(Medium& medium, std::uint64_t store_id, OpenRun& run) {
  const std::uint64_t bytes = HF_MUTANT("K161", run.durable, run.committed);
  if (bytes == run.marked) return {};
  SyncedMark mark{0, run.meta->generation, bytes};
  mark.checksum = mark_checksum(mark, store_id);
  HF_RETURN_IF_ERROR(medium.put(run.offset + run.bytes - sizeof mark, &mark, sizeof mark));
  run.marked = bytes;
  return {};
}

std::uint64_t synced_bytes(const Medium& medium, const BlockTable& table, std::uint64_t head) {
  SyncedMark mark;
  const std::uint64_t end = table.run_at(head) + table.run_bytes(head);
  std::memcpy(&mark, medium.at(end - sizeof mark), sizeof mark);
  const bool holds = mark.checksum == mark_checksum(mark, table.geometry().store_id);
  return holds && mark.generation == table.meta(head).generation ? mark.bytes : 0;
}

}  // namespace holdfast::kv
