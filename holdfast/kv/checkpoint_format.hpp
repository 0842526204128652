// checkpoint_format.hpp: the bytes of a checkpoint outside of its store.
//
//   private part  PrivateHeader, then for each run a PrivateRun and its dead bits
//   run           records [0, used_bytes), then the run's tail with dead bits of zero
//
// The dead bits of the private part, a bit per record, are those of the moment: records that were
// superseded, and such as are newer than the checkpoint. A run of which none is dead has no words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/format.hpp>
#include <holdfast/kv/medium.hpp>

namespace holdfast::kv {

inline constexpr std::uint64_t kPrivateMagic = 0x3150'4b43'4644'4c48;  // "HLDFCKP1"
inline constexpr std::uint32_t kPrivateVersion = 1;

struct PrivateHeader {
  std::uint64_t magic;
  std::uint64_t checksum;  // XXH3 of everything behind it, runs included.
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t runs;
  std::uint64_t newest;            // Version of the checkpoint.
  std::uint64_t generation_limit;  // All that were handed out are below, and sequences below ...
  std::uint64_t sequence_limit;    // ... this one.
  std::array<std::uint64_t, 2> reserved2;  // Zero.
  Superblock superblock;                   // Of the store.
};
static_assert(sizeof(PrivateHeader) == 72 + sizeof(Superblock));
static_assert(std::has_unique_object_representations_v<PrivateHeader>);

struct PrivateRun {
  std::uint64_t origin;
  std::uint64_t generation;
  std::uint64_t used_bytes;
  std::uint32_t run_blocks;
  std::uint32_t records;
  std::uint64_t dead_words;  // 0: none is dead; else dead_bits_bytes(records) / 8 follow.
};
static_assert(sizeof(PrivateRun) == 40 && std::has_unique_object_representations_v<PrivateRun>);

struct PlannedRun {
  RunName name;
  std::uint64_t used_bytes = 0;
  std::uint32_t run_blocks = 1, records = 0;
  std::vector<std::uint64_t> dead;  // Empty: none.

  std::uint64_t packed_bytes() const { return used_bytes + run_tail_bytes(records); }
};

// A private part, taken apart.
struct CheckpointPlan {
  Superblock superblock{};
  Version version = 0;
  std::uint64_t generation_limit = 0, sequence_limit = 0;
  std::vector<PlannedRun> runs;

  std::vector<std::byte> encode() const;
  // Takes any bytes. Errors: kCorrupt, kNewerFormat.
  static Result<CheckpointPlan> decode(std::span<const std::byte> bytes);
};

// Where the runs of a plan go, in blocks of a new store: each within a group.
struct RunPlacement {
  std::vector<std::uint64_t> heads;  // As the runs of the plan.
  std::uint64_t segments = 0;
};
RunPlacement place_runs(const CheckpointPlan& plan);

// restore() into a region that is large enough. Five fences. Errors: kAlreadyExists (the region
// begins with a structure of Holdfast's), those of restore().
Status restore_into(Medium& medium, const CheckpointPlan& plan, ReadRun read);

}  // namespace holdfast::kv
