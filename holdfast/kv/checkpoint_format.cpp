#include <holdfast/kv/checkpoint_format.hpp>

#include <algorithm>
#include <cstring>

#include <holdfast/base/hash.hpp>
#include <holdfast/kv/superblock.hpp>

namespace holdfast::kv {
namespace {

constexpr std::size_t kPartSummedFrom = offsetof(PrivateHeader, version);

std::uint64_t sum_of(std::span<const std::byte> bytes) {
  return hash64(bytes.subspan(kPartSummedFrom));
}

Error damaged_part(const char* what) {
  return {Errc::kCorrupt, std::string("private part of a checkpoint: ") + what};
}

template <class T>
void append(std::vector<std::byte>& to, const T* from, std::size_t count = 1) {
  const auto bytes = std::as_bytes(std::span(from, count));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// Takes it from the front of `bytes`.
template <class T>
bool take(std::span<const std::byte>& bytes, T* to, std::size_t count = 1) {
  if (bytes.size() / sizeof(T) < count) return false;
  if (count != 0) std::memcpy(to, bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
  return true;
}

bool is_sane_run(const PrivateRun& run, const Geometry& geometry) {
  const std::uint64_t words = dead_bits_bytes(run.records) / sizeof(std::uint64_t);
  return run.generation != 0 && run.generation <= kMaxGeneration && run.run_blocks != 0 &&
         run.run_blocks < geometry.blocks_per_group() && run.records <= kMaxRecordsPerRun &&
         run.used_bytes % kCacheLineBytes == 0 &&
         run.used_bytes <= run.run_blocks * geometry.block_bytes &&
         run_tail_bytes(run.records) <= run.run_blocks * geometry.block_bytes - run.used_bytes &&
         (run.dead_words == 0 || run.dead_words == words);
}

}  // namespace

std::vector<std::byte> CheckpointPlan::encode() const {
  PrivateHeader header{};
  header.magic = kPrivateMagic;
  header.version = kPrivateVersion;
  header.runs = runs.size();
  header.newest = version;
  header.generation_limit = generation_limit;
  header.sequence_limit = sequence_limit;
  header.superblock = superblock;
  std::vector<std::byte> bytes;
  append(bytes, &header);
  for (const PlannedRun& run : runs) {
    const PrivateRun entry{run.name.origin, run.name.generation, run.used_bytes,
                           run.run_blocks,  run.records,         run.dead.size()};
    append(bytes, &entry);
    append(bytes, run.dead.data(), run.dead.size());
  }
  header.checksum = sum_of(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

Result<CheckpointPlan> CheckpointPlan::decode(std::span<const std::byte> bytes) {
  PrivateHeader header;
  std::span<const std::byte> rest = bytes;
  if (!take(rest, &header) || header.magic != kPrivateMagic)
    return damaged_part("it does not begin as one");
  if (header.version != kPrivateVersion) {
    return Error{Errc::kNewerFormat, "private part of a checkpoint: version " +
                                         std::to_string(header.version) +
                                         "; this build reads version " +
                                         std::to_string(kPrivateVersion) + ": use a newer build"};
  }
  if (header.checksum != sum_of(bytes)) return damaged_part("its checksum does not hold");
  HF_RETURN_IF_ERROR(check_superblock(header.superblock));
  if (header.newest > kMaxSequence || header.sequence_limit > kMaxSequence ||
      header.generation_limit > kMaxGeneration || header.newest >= header.sequence_limit)
    return damaged_part("its limits contradict each other");
  CheckpointPlan plan;
  plan.superblock = header.superblock;
  plan.version = header.newest;
  plan.generation_limit = header.generation_limit;
  plan.sequence_limit = header.sequence_limit;
  const Geometry geometry = geometry_of(plan.superblock);
  for (std::uint64_t i = 0; i < header.runs; ++i) {
    PrivateRun entry;
    if (!take(rest, &entry)) return damaged_part("it is cut");
    if (!is_sane_run(entry, geometry) || entry.generation >= header.generation_limit)
      return damaged_part("an entry of a run contradicts itself");
    PlannedRun run{
        {entry.origin, entry.generation}, entry.used_bytes, entry.run_blocks, entry.records, {}};
    if (entry.dead_words > rest.size() / sizeof(std::uint64_t)) return damaged_part("it is cut");
    run.dead.resize(entry.dead_words);
    take(rest, run.dead.data(), run.dead.size());
    plan.runs.push_back(std::move(run));
  }
  if (!rest.empty()) return damaged_part("there are bytes behind its end");
  return plan;
}

RunPlacement place_runs(const CheckpointPlan& plan) {
  const Geometry geometry = geometry_of(plan.superblock);
  const std::uint64_t per_group = geometry.blocks_per_group();
  RunPlacement placed;
  std::uint64_t next = 1;  // Behind the first table block.
  for (const PlannedRun& run : plan.runs) {
    if (geometry.is_table_block(next)) ++next;
    // One that would reach into the next group's table block begins behind it.
    if (next % per_group + run.run_blocks > per_group) next += per_group - next % per_group + 1;
    placed.heads.push_back(next);
    next += run.run_blocks;
  }
  const std::uint64_t per_segment = geometry.blocks_per_segment();
  placed.segments = std::max<std::uint64_t>((next + per_segment - 1) / per_segment, 1);
  return placed;
}

Result<CheckpointContents> read_private_part(std::span<const std::byte> private_part) {
  HF_ASSIGN_OR_RETURN(const CheckpointPlan plan, CheckpointPlan::decode(private_part));
  CheckpointContents contents;
  contents.store_id = plan.superblock.store_id;
  contents.version = plan.version;
  for (const PlannedRun& run : plan.runs)
    contents.runs.push_back({run.name, run.packed_bytes(), run.records});
  contents.medium_bytes = place_runs(plan).segments * plan.superblock.segment_bytes;
  return contents;
}

}  // namespace holdfast::kv
