#include <holdfast/kv/synced_mark.hpp>

#include <cstring>

#include <holdfast/base/hash.hpp>
#include <holdfast/kv/format.hpp>

namespace holdfast::kv {
namespace {

std::uint64_t synced_mark_checksum(const SyncedMark& mark, std::uint64_t store_id) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&mark);
  const std::uint64_t sum =
      hash64({bytes + sizeof mark.checksum, sizeof mark - sizeof mark.checksum}) ^ mix64(store_id);
  return sum + (sum == 0);
}

}  // namespace

Status put_synced_mark(Medium& medium, std::uint64_t store_id, std::uint64_t generation,
                       std::uint64_t bytes) {
  SyncedMark mark{0, generation, bytes};
  mark.checksum = synced_mark_checksum(mark, store_id);
  return medium.put(kSyncedMarkAt, &mark, sizeof mark);
}

std::uint64_t synced_bytes(const Medium& medium, std::uint64_t store_id, std::uint64_t generation) {
  SyncedMark mark;
  std::memcpy(&mark, medium.at(kSyncedMarkAt), sizeof mark);
  const bool holds = mark.checksum == synced_mark_checksum(mark, store_id);
  return holds && mark.generation == generation ? mark.bytes : 0;
}

}  // namespace holdfast::kv
