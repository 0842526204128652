// synced_mark.hpp: how far a run is synced that is open, on page media.
//
// Where a process died, damage in the last group of an open run looks like the torn end that a
// power failure leaves there. The mark says that so many bytes of the run were durable, so what is
// not whole in them is damage (run_scan.hpp).
//
// It is put behind the sync that it tells of, and becomes durable with the next one. It lies in the
// run itself, so that no sync has another file to care for. A mark that is found can be relied on.
// A missing mark, or one with a wrong checksum, says nothing.
#pragma once

#include <holdfast/kv/lane.hpp>

namespace holdfast::kv {

// Where there is something new to tell. The caller has the lane's latch.
Status put_synced_mark(Medium& medium, std::uint64_t store_id, OpenRun& run);
// How many bytes of the run were synced; 0: nothing is known.
std::uint64_t synced_bytes(const Medium& medium, const BlockTable& table, std::uint64_t head);

}  // namespace holdfast::kv
