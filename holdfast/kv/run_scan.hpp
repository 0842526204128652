// run_scan.hpp: what a run holds that was open when its process ended: read record by record.
//
// Records are accepted from the run's beginning as long as they are whole and in order; a batch is
// accepted with all its members or not at all. What follows was never acknowledged if a crash left
// it: each acknowledgement had everything before it in its run durable.
//
// Damage looks the same at first: a record that is not whole. But a record says whether all before
// it in its run was durable when it was written (kFencedBefore). One such record that is whole,
// behind one that is not, proves that the medium lost something: then the whole records behind the
// damage are found, too, and the damage is named. (Runs of version 1 do not say it.) So does a mark
// by which more of the run was synced than is whole (synced_mark.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/kv/key_index.hpp>
#include <holdfast/kv/records.hpp>
#include <holdfast/kv/sealed_run.hpp>

namespace holdfast::kv {

struct ScannedRun {
  std::uint64_t head = 0;
  std::vector<RunEntry> entries;  // In order; with damage, ordinals are missing among them.
  std::uint64_t used_bytes = 0;   // End of the last accepted record.
  std::uint64_t frame_bytes = 0;
  std::uint64_t torn_bytes = 0;           // Behind it, never acknowledged.
  std::vector<std::uint64_t> damaged_at;  // Offsets in the run.
};

// `synced_bytes`: so much of the run was durable; 0 where nobody knows.
ScannedRun scan_run(const Medium& medium, const BlockTable& table, const Records& records,
                    const KeyIndex& index, std::uint64_t head, std::uint64_t synced_bytes);

}  // namespace holdfast::kv
