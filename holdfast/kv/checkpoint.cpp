#include <holdfast/kv/checkpoint.hpp>

#include <cstring>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/checkpoint_format.hpp>
#include <holdfast/kv/lane_sealing.hpp>
#include <holdfast/kv/space_rooms.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {
namespace {

// A snapshot of all keyspaces, at one sequence. None is created or dropped while it lives, but for
// that of pieces, with the first one. It need not know: a piece never changes, and dies by
// reclamation, which is held off.
class OfAllSpaces {
 public:
  explicit OfAllSpaces(Rooms& rooms) : rooms_(rooms) {
    rooms.spaces.for_each([this](SpaceRooms& space) { spaces_.push_back(&space); });
    const WriteGate::Hold hold(rooms.gate, rooms.epochs);
    version_ = rooms.sequences.lapse();
    for_each([this](auto& of) { of.versions.enter(version_); });
  }
  ~OfAllSpaces() {
    for_each([this](auto& of) {
      of.versions.close(version_, of.sessions.of_this_thread(), rooms_.table);
    });
  }
  OfAllSpaces(const OfAllSpaces&) = delete;
  std::uint64_t version() const { return version_; }

 private:
  template <class Visit>
  void for_each(Visit&& visit) {
    visit(rooms_);
    for (SpaceRooms* const space : spaces_)
      visit(*space);
  }

  Rooms& rooms_;
  std::vector<SpaceRooms*> spaces_;  // That know of it.
  std::uint64_t version_ = 0;
};

RunName name_of(const Superblock& superblock, std::uint64_t generation) {
  const std::uint64_t own = superblock.origin != 0 ? superblock.origin : superblock.store_id;
  const bool of_parent =
      generation < superblock.origin_generation && generation >= superblock.parent_generation;
  return {of_parent ? superblock.parent_origin : own, generation};
}

}  // namespace

// What a checkpoint holds: runs that are not freed, and the dead lines of one moment.
struct Checkpoint::State {
  struct Held {
    std::uint64_t head = 0;
    std::vector<std::uint64_t> dead_lines;  // Empty: none.
  };

  explicit State(StoreCore& of) : core(of), store(of.alive) { core.count_checkpoint(1); }
  ~State() {
    if (!open()) return;
    for (const Held& run : held)
      core.rooms.table.meta(run.head).pins.fetch_sub(1, std::memory_order_release);
    core.count_checkpoint(-1);
    core.rooms.upkeep.wake.ask();
  }
  State(const State&) = delete;

  // Whether its store is there. One that ended has left nothing to release or to read.
  bool open() const { return store->load(std::memory_order_acquire) != nullptr; }
  Status take();
  Status seal();
  void hold_runs();
  Status share_runs();
  SealedRun run(std::size_t i) const {
    return SealedRun::trusted(core.rooms.medium, core.rooms.table, held[i].head);
  }
  PlannedRun planned(std::size_t i) const;
  Status check_records(std::size_t i) const;

  StoreCore& core;
  const std::shared_ptr<std::atomic<StoreCore*>> store;
  Version version = 0;
  std::uint64_t generation_limit = 0, sequence_limit = 0;
  std::vector<Held> held;
  std::vector<CheckpointRun> runs;
};

Status may_take(const Rooms& rooms) {
  HF_RETURN_IF_ERROR(rooms.gate.check(false));
  if (rooms.is_called_back())
    return Error{Errc::kBusy, "a verb that is under way has called this; take it later"};
  return {};
}

Status Checkpoint::State::take() {
  Rooms& rooms = core.rooms;
  HF_RETURN_IF_ERROR(may_take(rooms));
  const Lock names(core.keyspaces.mutex());
  if (rooms.displaced && rooms.displaced->count() != 0)
    HF_RETURN_IF_ERROR(rooms.displaced->settle_all(rooms.sessions.of_this_thread()));
  // No run is evacuated between the sealing and the list.
  const auto no_reclamation = core.maintenance.hold_off();
  // What is visible at this version is not marked dead while the snapshot is open, and no word is
  // updated in place.
  const OfAllSpaces snapshot(rooms);
  version = snapshot.version();
  HF_RETURN_IF_ERROR(HF_MUTANT("K85", seal(), ok_status()));
  hold_runs();
  generation_limit =
      std::max(rooms.medium.word(kGenerationLimitWordAt), rooms.table.next_generation());
  sequence_limit = std::max(rooms.medium.word(kSequenceLimitWordAt), version + 1);
  return share_runs();
}

// All that is not newer than the snapshot lies in sealed runs then.
Status Checkpoint::State::seal() {
  const auto sealed = seal_lanes(core.rooms, core.maintenance.own_session(),
                                 [](const Lane&, Session&, LaneOf) { return true; });
  if (!sealed) return sealed.error();
  return core.rooms.group.finish_sealing();
}

void Checkpoint::State::hold_runs() {
  BlockTable& table = core.rooms.table;
  for (std::uint64_t block = 0; block < table.blocks(); ++block) {
    BlockMeta& run = table.meta(block);
    if (run.state.load(std::memory_order_acquire) != BlockState::kSealed || run.head != block ||
        run.evacuated.load(std::memory_order_relaxed) ||
        run.min_sequence.load(std::memory_order_acquire) > version)
      continue;
    held.push_back({block, {}});  // Before it is pinned: what is in the list is let go.
    run.pins.fetch_add(HF_MUTANT("K87", 1, 0), std::memory_order_seq_cst);
    HF_MUTANT("K88", held.back().dead_lines = table.dead_lines_of(block),
              std::vector<std::uint64_t>());
    const std::uint64_t used = run.used_bytes.load(std::memory_order_relaxed);
    runs.push_back({name_of(core.rooms.superblock, run.generation),
                    used + run_tail_bytes(run.records), run.records});
  }
}

// From here on words of their records are not updated in place any more, after crashes neither.
Status Checkpoint::State::share_runs() {
  Rooms& rooms = core.rooms;
  if (rooms.records.patchable().empty()) return {};
  const auto put = [&]() -> Status {
    HF_RETURN_IF_ERROR(rooms.raise_flags(kSharesRuns));
    HF_RETURN_IF_ERROR(
        HF_MUTANT("K89", rooms.medium.put_word(kSharedLimitWordAt, rooms.table.next_generation()),
                  ok_status()));
    return rooms.medium.order();
  };
  if (auto done = put(); !done) {
    rooms.gate.fail(done.error());
    return done;
  }
  for (const Held& run : held)
    rooms.table.meta(run.head).fixed.fetch_or(HF_MUTANT("K90", BlockMeta::kShared, std::uint8_t{0}),
                                              std::memory_order_seq_cst);
  return {};
}

PlannedRun Checkpoint::State::planned(std::size_t i) const {
  const SealedRun sealed = run(i);
  PlannedRun plan{
      runs[i].name, sealed.footer().used_bytes, sealed.footer().run_blocks, sealed.records(), {}};
  const std::vector<std::uint64_t>& lines = held[i].dead_lines;
  const bool newer = HF_MUTANT("K91", sealed.footer().max_sequence > version, false);
  if (lines.empty() && !newer) return plan;
  std::vector<std::uint64_t> dead(dead_bits_bytes(sealed.records()) / sizeof(std::uint64_t));
  bool any = false;
  for (std::uint32_t at = 0; at < sealed.records(); ++at) {
    const std::uint64_t line = sealed.record_at(at) / kCacheLineBytes;
    const bool is_dead = (!lines.empty() && (lines[line / 64] >> line % 64 & 1) != 0) ||
                         (newer && sealed.sequence(at) > version);
    if (!is_dead) continue;
    dead[at / 64] |= std::uint64_t{1} << at % 64;
    any = true;
  }
  if (any) plan.dead = std::move(dead);
  return plan;
}

// A copy of damage would be found much later, when the store is gone.
Status Checkpoint::State::check_records(std::size_t i) const {
  const SealedRun sealed = run(i);
  const Records& records = core.rooms.records;
  const std::vector<std::uint64_t>& lines = held[i].dead_lines;
  for (std::uint32_t at = 0; at < sealed.records(); ++at) {
    const std::uint64_t line = sealed.record_at(at) / kCacheLineBytes;
    if (!lines.empty() && (lines[line / 64] >> line % 64 & 1) != 0) continue;
    const std::uint64_t offset = sealed.offset() + sealed.record_at(at);
    const RecordView record = records.at(line_at(offset));
    if (!record.fits(sealed.record_end(at) - sealed.record_at(at)) ||
        !records.is_sound(record, line_at(offset)))
      return records.damaged(offset, "record whose checksum does not hold");
  }
  return {};
}

Result<Checkpoint> StoreBase::checkpoint() {
  if (!core()) return closed();
  auto state = std::make_unique<Checkpoint::State>(*core_);
  HF_RETURN_IF_ERROR(state->take());
  return Checkpoint(std::move(state));
}

// ---- The mark: a checkpoint that stays where it is (mark.hpp) ----

namespace {

// What only the mark before keeps is emptied first, or the new one would keep it, too, and so would
// each one to come: that a run has been emptied is not on the medium.
Status empty_dead_runs(Maintenance& maintenance) {
  constexpr double kNothingLives = 1;
  const auto turn = maintenance.hold_off();
  const auto emptied = maintenance.pass(turn, ~std::size_t{0}, kNothingLives, 0);
  // One that is damaged stays, and so does one for whose tombstones there is no room.
  if (!emptied && emptied.code() != Errc::kCorrupt && emptied.code() != Errc::kNoSpace)
    return emptied.error();
  return {};
}

}  // namespace

Result<Version> StoreCore::mark() {
  HF_RETURN_IF_ERROR(may_take(rooms));
  const Lock lock(marking_);
  if (rooms.mark.version() != 0)
    HF_RETURN_IF_ERROR(HF_MUTANT("K144", empty_dead_runs(maintenance), ok_status()));
  HF_RETURN_IF_ERROR(rooms.raise_flags(kHasMark));
  Checkpoint::State moment(*this);
  HF_RETURN_IF_ERROR(moment.take());
  MarkImage image{moment.version, {}};
  for (auto& run : moment.held)
    image.runs.push_back(
        {run.head, rooms.table.meta(run.head).generation, std::move(run.dead_lines)});
  for (Maintenance::RoomSoFar so_far;;) {
    auto marked = rooms.mark.put(image);
    if (marked) break;
    if (marked.code() == Errc::kIo) rooms.gate.fail(marked.error());
    if (marked.code() != Errc::kNoSpace) return std::move(marked).error();
    HF_ASSIGN_OR_RETURN(const bool made, maintenance.make_room(so_far));
    if (!made) return maintenance.full(std::move(marked).error());
  }
  moment.held.clear();  // Their pins are the mark's now.
  free_old_images();
  return image.version;
}

Status StoreCore::drop_mark() {
  HF_RETURN_IF_ERROR(may_take(rooms));
  const Lock lock(marking_);
  if (rooms.mark.version() == 0) return Error{Errc::kNotFound, "the store has no mark"};
  auto dropped = rooms.mark.drop();
  if (!dropped)
    rooms.gate.fail(dropped.error());
  else
    free_old_images();
  return dropped;
}

// What they have held may go, too. A mark is as it should be where they stay: the next one tries
// again, and so does an opening.
void StoreCore::free_old_images() {
  if (const auto freed = rooms.mark.free_old_images(); !freed) rooms.gate.fail(freed.error());
  rooms.upkeep.wake.ask();
}

Result<Version> StoreBase::mark() { return core() ? core()->mark() : Result<Version>(closed()); }
Status StoreBase::drop_mark() { return core() ? core()->drop_mark() : Status(closed()); }

// ---- Checkpoint ----

namespace {
Error is_gone() {
  return {Errc::kClosed, "the checkpoint was moved from, or its store was closed"};
}
}  // namespace

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Version Checkpoint::version() const { return state_ ? state_->version : 0; }
std::span<const CheckpointRun> Checkpoint::runs() const {
  return state_ ? std::span<const CheckpointRun>(state_->runs) : std::span<const CheckpointRun>();
}
std::uint64_t Checkpoint::runs_opened() const {
  return state_ && state_->open() ? state_->core.rooms.table.next_generation() : 0;
}

Result<std::vector<std::byte>> Checkpoint::private_part() const {
  if (!state_ || !state_->open()) return is_gone();
  CheckpointPlan plan;
  {
    OpenSuperblock& superblock = state_->core.rooms.superblock;
    const Lock no_flag_is_raised(superblock.raising);
    plan.superblock = superblock;
  }
  plan.version = state_->version;
  plan.generation_limit = state_->generation_limit;
  plan.sequence_limit = state_->sequence_limit;
  plan.runs.reserve(state_->runs.size());
  for (std::size_t i = 0; i < state_->runs.size(); ++i) {
    const std::uint64_t head = state_->held[i].head;
    Rooms& rooms = state_->core.rooms;
    const std::uint64_t tail = run_tail_bytes(state_->runs[i].records);
    HF_RETURN_IF_ERROR(
        rooms.medium.fetch(rooms.table.run_at(head) + rooms.table.run_bytes(head) - tail, tail));
    if (!SealedRun::read(rooms.medium, rooms.table, head)) {
      return rooms.records.damaged(rooms.table.run_at(head),
                                   "run whose footer is not valid any more");
    }
    plan.runs.push_back(state_->planned(i));
  }
  return plan.encode();
}

Status Checkpoint::read(std::size_t i, std::span<std::byte> to) const {
  if (!state_ || !state_->open()) return is_gone();
  if (i >= state_->runs.size() || to.size() != state_->runs[i].bytes) {
    return Error{Errc::kInvalidOption,
                 "read: a buffer of " + std::to_string(to.size()) + " bytes for run " +
                     std::to_string(i) +
                     (i >= state_->runs.size()
                          ? "; the checkpoint has " + std::to_string(state_->runs.size()) + " runs"
                          : "; " + std::to_string(state_->runs[i].bytes) + " bytes are needed")};
  }
  Rooms& rooms = state_->core.rooms;
  const std::uint64_t head = state_->held[i].head;
  const std::uint64_t at = rooms.table.run_at(head), bytes = rooms.table.run_bytes(head);
  const std::uint64_t tail = run_tail_bytes(state_->runs[i].records), used = to.size() - tail;
  HF_RETURN_IF_ERROR(rooms.medium.fetch(at, used));
  HF_RETURN_IF_ERROR(rooms.medium.fetch(at + bytes - tail, tail));
  if (!SealedRun::read(rooms.medium, rooms.table, head))
    return rooms.records.damaged(at, "run whose footer is not valid any more");
  HF_RETURN_IF_ERROR(state_->check_records(i));
  std::memcpy(to.data(), rooms.medium.at(at), used);
  // The dead bits change, beside this too, and are part of the private part.
  const std::uint64_t bits = dead_bits_bytes(state_->runs[i].records);
  std::memset(to.data() + used, 0, bits);
  std::memcpy(to.data() + used + bits, rooms.medium.at(at + bytes - tail + bits), tail - bits);
  return {};
}

}  // namespace holdfast::kv
