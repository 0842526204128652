// synced_mark.hpp: how far the run was synced that is open, on page media.
//
// Where a process died, damage in the last group of an open run looks like the torn end that a
// power failure leaves there. The mark says that so many bytes of the run were durable, so what is
// not whole in them is damage (run_scan.hpp).
//
// It is put behind the sync that it tells of, and becomes durable with the next one. A mark that is
// found can be relied on. A missing mark, or one with a wrong checksum, says nothing. It stays
// behind when its run is sealed or freed: no other run gets the same generation.
#pragma once

#include <holdfast/kv/medium.hpp>

namespace holdfast::kv {

struct SyncedMark {
  std::uint64_t checksum;  // Over the rest, and the store's id.
  std::uint64_t generation;
  std::uint64_t bytes;  // From the beginning of the run.
};

Status put_synced_mark(Medium& medium, std::uint64_t store_id, std::uint64_t generation,
                       std::uint64_t bytes);
// How many bytes of this generation's run were synced; 0: nothing is known.
std::uint64_t synced_bytes(const Medium& medium, std::uint64_t store_id, std::uint64_t generation);

}  // namespace holdfast::kv
