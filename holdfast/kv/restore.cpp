// A store from the runs and the private part of a checkpoint. Each record is checked: what lay
// elsewhere meanwhile may be damaged. The superblock's magic number comes last. Until then another
// number stands in its place: a region whose restoring did not end holds no store, no open makes
// one of it, and the next restore begins anew in it.
//
// What an earlier restore left may be runs of another life of the same store: valid, with the
// generations that this store is about to hand out. So its generations begin elsewhere then.
#include <algorithm>
#include <cstring>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/checkpoint_format.hpp>
#include <holdfast/kv/records.hpp>
#include <holdfast/kv/region_options.hpp>
#include <holdfast/kv/sealed_run.hpp>
#include <holdfast/kv/superblock.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::kv {
namespace {

class Restoration {
 public:
  Restoration(Medium& medium, const CheckpointPlan& plan, const RunPlacement& placed,
              std::uint64_t generation_limit)
      : medium_(medium),
        plan_(plan),
        placed_(placed),
        generation_limit_(generation_limit),
        table_(medium, geometry_of(plan.superblock), medium.size_bytes()),
        records_(medium, table_, plan.superblock) {}

  Status begin(const Superblock& superblock) {
    HF_RETURN_IF_ERROR(HF_MUTANT("K164", medium_.put_word(0, kRestoringMagic), ok_status()));
    HF_RETURN_IF_ERROR(medium_.order());  // Before anything that looks like a store's.
    HF_RETURN_IF_ERROR(put_superblock(medium_, superblock));
    return table_.format_segments(0, placed_.segments);
  }
  Status put(std::size_t i, std::span<const std::byte> packed);
  Status end() {
    HF_RETURN_IF_ERROR(medium_.put_word(kGenerationLimitWordAt, generation_limit_));
    HF_RETURN_IF_ERROR(medium_.put_word(kSequenceLimitWordAt, plan_.sequence_limit));
    if (plan_.superblock.patchable_count != 0)
      HF_RETURN_IF_ERROR(medium_.put_word(kSharedLimitWordAt, generation_limit_));
    HF_RETURN_IF_ERROR(medium_.order());  // All of it, before the store begins.
    HF_RETURN_IF_ERROR(medium_.put_word(0, kMagic));
    return medium_.order();
  }

 private:
  Status put_words(std::uint64_t head, const PlannedRun& run);
  // Whether the run's records that are not dead are sound.
  bool are_sound(const SealedRun& run) const;

  Medium& medium_;
  const CheckpointPlan& plan_;
  const RunPlacement& placed_;
  const std::uint64_t generation_limit_;
  BlockTable table_;
  const Records records_;
};

bool Restoration::are_sound(const SealedRun& run) const {
  for (std::uint32_t i = 0; i < run.records(); ++i) {
    if (HF_MUTANT("K174", !run.is_in_order(i), false)) return false;
    if (run.dead_on_medium(i)) continue;
    const Line line = line_at(run.offset() + run.record_at(i));
    const RecordView record = records_.at(line);
    if (!record.fits(run.record_end(i) - run.record_at(i)) || !records_.is_sound(record, line))
      return false;
  }
  return true;
}

Status Restoration::put_words(std::uint64_t head, const PlannedRun& run) {
  const Geometry& geometry = table_.geometry();
  for (std::uint64_t block = head; block < head + run.run_blocks; ++block) {
    const BlockWord word{run.name.generation,
                         block == head ? BlockState::kSealed : BlockState::kTail};
    HF_RETURN_IF_ERROR(medium_.put_word(geometry.table_word_at(block),
                                        encode_block_word(word, geometry.store_id, block)));
  }
  return {};
}

Status Restoration::put(std::size_t i, std::span<const std::byte> packed) {
  const PlannedRun& run = plan_.runs[i];
  const std::uint64_t head = placed_.heads[i];
  const std::uint64_t at = table_.run_at(head);
  const std::uint64_t end = at + run.run_blocks * table_.geometry().block_bytes;
  const std::uint64_t tail_bytes = run_tail_bytes(run.records);
  const auto tail = packed.subspan(run.used_bytes);
  HF_RETURN_IF_ERROR(medium_.put(at, packed.data(), run.used_bytes));
  HF_RETURN_IF_ERROR(medium_.put(end - tail_bytes, tail.data(), tail_bytes));
  if (!run.dead.empty())
    HF_RETURN_IF_ERROR(HF_MUTANT(
        "K92", medium_.put(end - tail_bytes, run.dead.data(), run.dead.size() * 8), ok_status()));
  HF_RETURN_IF_ERROR(put_words(head, run));
  table_.mark_run(head, run.run_blocks, {run.name.generation, BlockState::kSealed});
  const auto sealed = SealedRun::read(medium_, table_, head);
  if (!sealed || sealed->footer().used_bytes != run.used_bytes ||
      sealed->records() != run.records || !HF_MUTANT("K155", are_sound(*sealed), true)) {
    return Error{Errc::kCorrupt, "run " + std::to_string(run.name.generation) + " of origin " +
                                     std::to_string(run.name.origin) +
                                     ": its bytes are not those of the checkpoint; they are "
                                     "damaged, or of another run"};
  }
  return {};
}

std::uint64_t magic_of(const Region& region) {
  return Persist::load(reinterpret_cast<const std::uint64_t*>(region.data()));
}

bool has_zeros_only(const Region& region) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(region.data());
  return std::all_of(words, words + region.size_bytes() / sizeof *words,
                     [](std::uint64_t word) { return word == 0; });
}

// A new region, or what a restore that did not end has left. One that was killed while the region
// was made has left zeros.
Result<Region> open_region(std::string_view spec, RegionOptions options,
                           std::uint64_t needed_bytes) {
  auto made = Region::open(spec, options);
  if (made.code() != Errc::kAlreadyExists) return made;
  options.access = RegionAccess::kOpen;
  auto left = Region::open(spec, options);
  if (!left || left->size_bytes() < kSuperblockPageBytes) return made;
  if (magic_of(*left) != kRestoringMagic && !has_zeros_only(*left)) return made;
  if (left->size_bytes() < needed_bytes) HF_RETURN_IF_ERROR(left->grow(needed_bytes));
  return left;
}

// The region has zeros, but for a devdax, what an earlier restore has left, and the like.
Result<Region> make_region(std::string_view spec, const StoreOptions& options,
                           const CheckpointPlan& plan) {
  StoreOptions store = options;
  store.access = RegionAccess::kCreate;
  store.block_bytes = plan.superblock.block_bytes;
  store.segment_bytes = plan.superblock.segment_bytes;
  store.initial_bytes = place_runs(plan).segments * store.segment_bytes;
  if (store.max_bytes < store.initial_bytes) {
    return Error{Errc::kNoSpace, "max_bytes=" + std::to_string(store.max_bytes) +
                                     "; the checkpoint needs " +
                                     std::to_string(store.initial_bytes) + " bytes"};
  }
  HF_RETURN_IF_ERROR(store.validate());
  HF_ASSIGN_OR_RETURN(Region region, open_region(spec, region_options(store), store.initial_bytes));
  if (region.size_bytes() < store.initial_bytes) {
    return Error{Errc::kNoSpace, "the region has " + std::to_string(region.size_bytes()) +
                                     " bytes; the checkpoint needs " +
                                     std::to_string(store.initial_bytes)};
  }
  return region;
}

// Whether nothing of an earlier life of any store lies in the region. A device is never known to be
// so.
bool is_fresh(const Region& region) { return magic_of(region) == 0 && region.kind() != "devdax"; }

// Of the restored store: above all that the checkpoint's store had handed out. A footer that lies
// in the region would pass for that of a new run with its generation in its blocks. So where there
// may be one, the limit is raised by a random number: they meet with a probability of 2^-30.
Result<std::uint64_t> generation_limit_of(const Region& region, const CheckpointPlan& plan) {
  if (is_fresh(region)) return plan.generation_limit;
  constexpr std::uint64_t kMostSkipped = (std::uint64_t{1} << 30) - 1;
  if (plan.generation_limit + kMostSkipped > kMaxGeneration)
    return Error{Errc::kNoSpace,
                 "an earlier restore into this region did not end, and the checkpoint's store has "
                 "used nearly all its 2^40 block generations; restore into a new region"};
  HF_ASSIGN_OR_RETURN(const std::uint64_t drawn, random_id());
  return plan.generation_limit + HF_MUTANT("K173", drawn & kMostSkipped, 0);
}

}  // namespace

Status restore_into(Medium& medium, const CheckpointPlan& plan, ReadRun read) {
  const Region& region = medium.region();
  if (magic_of(region) != kRestoringMagic)
    HF_RETURN_IF_ERROR(refuse_to_overwrite("restore", region, {0, region.size_bytes()}));
  HF_ASSIGN_OR_RETURN(const std::uint64_t limit, generation_limit_of(region, plan));
  Superblock superblock = plan.superblock;
  HF_RETURN_IF_ERROR(give_origin(superblock, limit));
  const RunPlacement placed = place_runs(plan);
  Restoration restoration(medium, plan, placed, limit);
  HF_RETURN_IF_ERROR(restoration.begin(superblock));
  std::vector<std::byte> packed;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const PlannedRun& run = plan.runs[i];
    packed.resize(run.packed_bytes());
    HF_RETURN_IF_ERROR(read({run.name, run.packed_bytes(), run.records}, packed));
    HF_RETURN_IF_ERROR(restoration.put(i, packed));
  }
  return restoration.end();
}

namespace {

Result<Region> restored_region(std::string_view spec, std::span<const std::byte> private_part,
                               ReadRun read, const StoreOptions& options) {
  HF_ASSIGN_OR_RETURN(const CheckpointPlan plan, CheckpointPlan::decode(private_part));
  HF_ASSIGN_OR_RETURN(Region region, make_region(spec, options, plan));
  Medium medium(std::move(region));
  HF_RETURN_IF_ERROR(restore_into(medium, plan, read));
  return std::move(medium.region());
}

}  // namespace

Status restore(std::string_view spec, std::span<const std::byte> private_part, ReadRun read,
               const StoreOptions& options) {
  HF_RETURN_IF_ERROR(restored_region(spec, private_part, read, options));
  return {};
}

Result<Store<>> restore_open(std::string_view spec, std::span<const std::byte> private_part,
                             ReadRun read, const StoreOptions& options) {
  HF_ASSIGN_OR_RETURN(Region region, restored_region(spec, private_part, read, options));
  StoreOptions opened = options;
  opened.access = RegionAccess::kOpen;  // The region is new; the store in it is not.
  return Store<>::open(std::move(region), opened);
}

}  // namespace holdfast::kv
