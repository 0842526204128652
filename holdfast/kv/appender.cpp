#include <holdfast/kv/appender.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {
namespace {

constexpr std::uint32_t kFirstEntries = 1024;

Error no_memory(std::uint64_t bytes) {
  return {Errc::kNoSpace, "no memory for a buffer of " + std::to_string(bytes) + " bytes"};
}

// A run of one operation: freed if that comes to nothing.
class RunUnderWay {
 public:
  RunUnderWay(BlockTable& table, std::uint64_t head) : table_(table), head_(head) {}
  ~RunUnderWay() {
    if (head_ == kNoBlock) return;
    try {
      (void)table_.free_runs({&head_, 1});
    } catch (const std::bad_alloc&) {  // It is free after the next opening.
    }
  }
  RunUnderWay(const RunUnderWay&) = delete;
  void keep() { head_ = kNoBlock; }

 private:
  BlockTable& table_;
  std::uint64_t head_;
};

}  // namespace

Appender::Appender(Medium& medium, BlockTable& table, const Records& records, Sequences& sequences,
                   WriteGate& gate, Pace& pace, GroupCommit& group, std::uint16_t space,
                   std::function<void()> run_opened)
    : medium_(medium),
      table_(table),
      geometry_(table.geometry()),
      sequences_(sequences),
      gate_(gate),
      pace_(pace),
      group_(group),
      space_(space),
      run_opened_(std::move(run_opened)),
      writer_(medium.persist(), group.needed(), records.patchable()) {}

// ---- One record ----

Result<Appended> Appender::append_slowly(Lane& lane, NewRecord record, std::uint64_t sequence,
                                         Purpose purpose) {
  Appended appended;
  if (sequence == 0) return lane.chunk.failure.error();
  const std::uint64_t padded = Geometry::padded(record.bytes(geometry_));
  if (padded + OpenRun::kTailBytesPerRecord + OpenRun::kTailBytes > geometry_.block_bytes) {
    HF_RETURN_IF_ERROR(append_large(lane, record, sequence, purpose, space_, appended));
    return appended;
  }
  HF_RETURN_IF_ERROR(make_room(lane, padded, 1, sequence, purpose));
  appended = {lane.run.offset + lane.run.at, padded, sequence};
  put_record(lane.run, record, sequence, padded, space_);
  return appended;
}

Result<bool> Appender::append_copy(Lane& lane, const RecordView& record, std::uint64_t hash,
                                   const SumRule& rule, Appended& appended) {
  const std::uint64_t padded = record.padded_bytes(), sequence = record.sequence();
  const bool large =
      padded + OpenRun::kTailBytesPerRecord + OpenRun::kTailBytes > geometry_.block_bytes;
  // Such records are few: each is checked, then written like any other.
  if (large || rule.version1) [[unlikely]] {
    if (!record.is_sound(rule)) return false;
  }
  const NewRecord parts{record.kind(), hash, record.key_bytes(), record.value_span()};
  if (large) [[unlikely]] {
    HF_RETURN_IF_ERROR(
        append_large(lane, parts, sequence, Purpose::kReclaim, record.header().space(), appended));
    return true;
  }
  OpenRun& run = lane.run;
  if (!run.fits(padded, 1) || run.records == 0 || run.records == run.entries_end ||
      !run.spans(sequence)) [[unlikely]] {
    HF_RETURN_IF_ERROR(make_room(lane, padded, 1, sequence, Purpose::kReclaim));
  }
  const std::uint16_t space = record.header().space();
  note_space(run, space);
  const RecordHead head{sequence, run.records, run.durable == run.at, flags_of(space)};
  if (rule.version1) [[unlikely]]
    writer_.write(run.base + run.at, parts, head, run.seed);
  else if (!writer_.write_copy(run.base + run.at, record, head, rule.seed, run.seed)) [[unlikely]]
    return false;
  if (sequence < run.min_sequence)
    run.meta->min_sequence.store(run.min_sequence = sequence, std::memory_order_relaxed);
  run.max_sequence = std::max(run.max_sequence, sequence);
  appended = {run.offset + run.at, padded, sequence};
  enter_record(run, hash, parts.kind, sequence, padded);
  return true;
}

// Before a run is opened, and before the present one is sealed: what is refused changes nothing.
Status Appender::admit(Lane& lane, std::uint64_t blocks, Purpose purpose) {
  if (purpose == Purpose::kReclaim || std::exchange(lane.admitted, false)) return {};
  if (!pace_.wants_pause()) return {};
  if (purpose == Purpose::kErase) {
    pace_.go_on(blocks);
    return {};
  }
  lane.unpaid_blocks += blocks;
  return purpose == Purpose::kPut ? Status(Error{Errc::kBusy, {}}) : ok_status();
}

std::uint64_t Appender::blocks_to_open(Lane& lane, const NewRecord& record) const {
  const std::uint64_t padded = Geometry::padded(record.bytes(geometry_));
  if (padded + OpenRun::kTailBytesPerRecord + OpenRun::kTailBytes > geometry_.block_bytes)
    return geometry_.blocks_for(padded, 1);
  const Lock lock(lane.latch);
  return lane.run.open() && lane.run.fits(padded, 1) ? 0 : 1;
}

// A run with this much room, sealing and opening as needed. Its sequences stay within what its
// summary can say.
Status Appender::make_room(Lane& lane, std::uint64_t padded_bytes, std::uint64_t records,
                           std::uint64_t sequence, Purpose purpose) {
  OpenRun& run = lane.run;
  if (!run.open() || !run.fits(padded_bytes, records) || !run.spans(sequence)) {
    HF_RETURN_IF_ERROR(admit(lane, 1, purpose));
    HF_RETURN_IF_ERROR(seal(lane));
    if (group_.needed() && !lane.staging) {
      lane.staging = make_line_buffer(geometry_.block_bytes);
      if (!lane.staging) return no_memory(geometry_.block_bytes);
    }
    HF_ASSIGN_OR_RETURN(const std::uint64_t head, table_.open_run(1, purpose));
    run.head = head;
    run.meta = &table_.meta(head);
    run.offset = table_.run_at(head);
    run.bytes = table_.run_bytes(head);
    run.seed = geometry_.seed(run.meta->generation);
    run.at = run.committed = run.durable = run.marked = 0;
    run.left = run.bytes - OpenRun::kTailBytes;
    run.records = 0;
    run.frame_bytes = 0;
    run.space = space_;
    run.meta->space.store(group_.needed() ? kMixedSpaces : space_, std::memory_order_relaxed);
    run.base = group_.needed() ? lane.staging.get() : medium_.at(run.offset);
    run_opened_();
  }
  if (run.records == 0) {
    run.min_sequence = run.max_sequence = sequence;
    run.meta->min_sequence.store(sequence, std::memory_order_relaxed);
  }
  if (run.records + records > run.entries_end) {
    const auto wanted = static_cast<std::uint32_t>(
        std::max<std::uint64_t>({run.records + records, 2 * run.entries_end, kFirstEntries}));
    auto larger = std::make_unique<RunEntry[]>(wanted);
    std::copy_n(run.entries.get(), run.records, larger.get());
    run.entries = std::move(larger);
    run.entries_end = wanted;
    lane.entries_bytes.store(wanted * sizeof(RunEntry), std::memory_order_relaxed);
  }
  return {};
}

// A page that is written for the first time is written whole, with zeros behind the last record: of
// one that is written in part the kernel first reads the rest from the device, and waits for it.
Status Appender::hand_over(Lane& lane) {
  OpenRun& run = lane.run;
  std::uint64_t end = run.at;
  if (end > round_up(run.committed, kPageBytes)) {
    end = round_up(end, kPageBytes);
    std::memset(run.base + run.at, 0, end - run.at);
  }
  HF_RETURN_IF_ERROR(
      put_or_fail(run.offset + run.committed, run.base + run.committed, end - run.committed));
  run.committed = run.at;
  group_.note_unsynced();
  return {};
}

Status Appender::put_or_fail(std::uint64_t offset, const void* bytes, std::uint64_t count) {
  auto put = medium_.put(offset, bytes, count);
  if (!put) gate_.fail_in_doubt(put.error());
  return put;
}

// Straight to the medium; page media take it from a buffer of its size.
Status Appender::put_large(std::uint64_t at, const NewRecord& record, const RecordHead& head,
                           std::uint64_t seed) {
  if (!group_.needed()) {
    writer_.write(medium_.at(at), record, head, seed);
    return {};
  }
  const std::uint64_t padded = Geometry::padded(record.bytes(geometry_));
  const LineBuffer buffer = make_line_buffer(padded);
  if (buffer == nullptr) return no_memory(padded);
  writer_.write(buffer.get(), record, head, seed);
  return put_or_fail(at, buffer.get(), padded);
}

Status Appender::append_large(Lane& lane, const NewRecord& record, std::uint64_t sequence,
                              Purpose purpose, std::uint16_t space, Appended& appended) {
  const std::uint64_t padded = Geometry::padded(record.bytes(geometry_));
  const std::uint64_t blocks = geometry_.blocks_for(padded, 1);
  HF_RETURN_IF_ERROR(admit(lane, blocks, purpose));
  HF_ASSIGN_OR_RETURN(const std::uint64_t head, table_.open_run(blocks, purpose));
  RunUnderWay under_way(table_, head);
  run_opened_();
  BlockMeta& run = table_.meta(head);
  const std::uint64_t at = table_.run_at(head);
  const std::uint64_t seed = geometry_.seed(run.generation);
  HF_RETURN_IF_ERROR(put_large(at, record, {sequence, 0, true, flags_of(space)}, seed));
  if (!group_.needed()) medium_.persist().fence();  // Before the tail, which vouches for it.
  run.used_bytes.store(padded, std::memory_order_relaxed);
  if (record.kind == RecordKind::kErase)
    run.own_dead_bytes.store(padded, std::memory_order_relaxed);
  run.min_sequence.store(sequence, std::memory_order_relaxed);
  const RunEntry entry = RunEntry::of(record.hash, sequence, 0, record.kind);
  HF_RETURN_IF_ERROR(seal_run(head, {&entry, 1}, padded, 0, space));
  under_way.keep();
  appended = {at, padded, sequence};
  return {};
}

// ---- Sealing ----

Status Appender::seal(Lane& lane) {
  OpenRun& run = lane.run;
  if (!run.open()) return {};
  // Page media: records of a group may still be in staging. Elsewhere they may lack a fence (a
  // group that goes on in the next run): the tail vouches for them.
  HF_RETURN_IF_ERROR(HF_MUTANT("K41", commit(lane), ok_status()));
  // Where there is no memory for its tail, this throws, and the run stays open here.
  auto sealed =
      seal_run(run.head, {run.entries.get(), run.records}, run.at, run.frame_bytes, run.space);
  run.head = kNoBlock;
  run.left = 0;
  return sealed;
}

Status Appender::close(Lane& lane) {
  if (!lane.run.open() || lane.run.records != 0) return seal(lane);
  lane.run.left = 0;
  const std::uint64_t empty = std::exchange(lane.run.head, kNoBlock);
  return table_.free_runs({&empty, 1});
}

// One fence, and every record was fenced before: a valid tail says that all its records are whole.
// Until the run's word says sealed, a run without a valid tail counts as open, and its records are
// found without the tail.
Status Appender::seal_run(std::uint64_t head, std::span<const RunEntry> entries,
                          std::uint64_t used_bytes, std::uint64_t frame_bytes,
                          std::uint16_t space) {
  BlockMeta& run = table_.meta(head);
  auto tail = compose_run_tail(entries, {run.generation, run.run_blocks, used_bytes, frame_bytes,
                                         geometry_.seed(run.generation), false, space});
  RunFooter footer;
  std::memcpy(&footer, tail.data() + tail.size() - sizeof footer, sizeof footer);
  if (group_.needed()) group_.seal(head, std::move(tail));
  run.records = static_cast<std::uint32_t>(entries.size());
  run.tombstones = footer.tombstones;
  run.space.store(space, std::memory_order_relaxed);
  if (group_.needed()) return {};
  const auto put = [&]() -> Status {
    HF_RETURN_IF_ERROR(medium_.put(table_.run_at(head) + table_.run_bytes(head) - tail.size(),
                                   tail.data(), tail.size()));
    HF_RETURN_IF_ERROR(medium_.order());
    return table_.mark_sealed(head);
  };
  auto sealed = put();
  if (!sealed) gate_.fail(sealed.error());
  return sealed;
}

// ---- Atomic batches ----

// On the medium a batch is a frame followed by its members, in one run, under one fence. Recovery
// of an open run accepts the frame with all its members or stops before it. A sealed run lists
// members like any record, since it was sealed only after the batch was whole. So no member needs
// to know of the others, and relocation treats them as what they are: records.
Result<std::uint64_t> Appender::append_batch(Lane& lane, std::span<BatchMember> members) {
  std::uint64_t bytes = 0;
  for (const BatchMember& member : members)
    bytes += Geometry::padded(member.record.bytes(geometry_));
  const std::uint64_t sequence = sequences_.draw(lane.chunk, true);
  if (sequence == 0) return lane.chunk.failure.error();
  if (kCacheLineBytes + bytes + members.size() * OpenRun::kTailBytesPerRecord +
          OpenRun::kTailBytes >
      geometry_.block_bytes) {
    HF_RETURN_IF_ERROR(append_large_batch(lane, members, sequence, bytes));
    return sequence;
  }
  // One run holds all of it, so that it is sealed either before the frame or with every member.
  HF_RETURN_IF_ERROR(
      make_room(lane, kCacheLineBytes + bytes, members.size(), sequence, Purpose::kPut));
  append_frame(lane.run, sequence, bytes);
  for (BatchMember& member : members) {
    const std::uint64_t padded = Geometry::padded(member.record.bytes(geometry_));
    member.appended = {lane.run.offset + lane.run.at, padded, sequence};
    put_record(lane.run, member.record, sequence, padded, member.space);
  }
  HF_RETURN_IF_ERROR(commit(lane));
  return sequence;
}

void Appender::append_frame(OpenRun& run, std::uint64_t sequence, std::uint64_t members_bytes) {
  writer_.write_frame(run.base + run.at, members_bytes,
                      {sequence, run.records, run.durable == run.at}, run.seed);
  run.at += kCacheLineBytes;
  run.left -= kCacheLineBytes;
  run.frame_bytes += kCacheLineBytes;
  run.max_sequence = sequence;
  run.meta->used_bytes.store(run.at, std::memory_order_relaxed);
  count_dead(run, kCacheLineBytes);  // Reclaimed with its run.
}

// More than a block holds: a run of its own. One fence for the frame and its members, one for the
// tail that vouches for them.
Status Appender::append_large_batch(Lane& lane, std::span<BatchMember> members,
                                    std::uint64_t sequence, std::uint64_t bytes) {
  if (kCacheLineBytes + bytes + run_tail_bytes(members.size()) > kMaxRunBytes ||
      members.size() > kMaxRecordsPerRun) {
    return Error{Errc::kTooLarge, "batch of " + std::to_string(members.size()) +
                                      " operations and " + std::to_string(bytes) +
                                      " bytes; at most " + std::to_string(kMaxRunBytes) +
                                      " bytes are allowed, split it"};
  }
  const std::uint64_t blocks = geometry_.blocks_for(kCacheLineBytes + bytes, members.size());
  HF_RETURN_IF_ERROR(admit(lane, blocks, Purpose::kPut));
  HF_ASSIGN_OR_RETURN(const std::uint64_t head, table_.open_run(blocks, Purpose::kPut));
  RunUnderWay under_way(table_, head);
  run_opened_();
  BlockMeta& run = table_.meta(head);
  const std::uint64_t base = table_.run_at(head);
  const std::uint64_t seed = geometry_.seed(run.generation);
  std::vector<RunEntry> entries;
  alignas(kCacheLineBytes) std::byte frame[kCacheLineBytes];
  writer_.write_frame(group_.needed() ? frame : medium_.at(base), bytes, {sequence, 0, true}, seed);
  if (group_.needed()) HF_RETURN_IF_ERROR(put_or_fail(base, frame, sizeof frame));
  std::uint64_t at = kCacheLineBytes;
  std::uint64_t tombstone_bytes = 0;
  std::uint16_t space = members.front().space;
  for (BatchMember& member : members) {
    const std::uint64_t padded = Geometry::padded(member.record.bytes(geometry_));
    const auto ordinal = static_cast<std::uint32_t>(entries.size());
    HF_RETURN_IF_ERROR(put_large(base + at, member.record,
                                 {sequence, ordinal, false, flags_of(member.space)}, seed));
    member.appended = {base + at, padded, sequence};
    entries.push_back(RunEntry::of(member.record.hash, sequence, at, member.record.kind));
    if (member.record.kind == RecordKind::kErase) tombstone_bytes += padded;
    if (member.space != space) space = kMixedSpaces;
    at += padded;
  }
  run.used_bytes.store(at, std::memory_order_relaxed);
  run.own_dead_bytes.store(kCacheLineBytes + tombstone_bytes, std::memory_order_relaxed);
  run.min_sequence.store(sequence, std::memory_order_relaxed);
  if (HF_MUTANT("K40", !group_.needed(), false)) medium_.persist().fence();
  HF_RETURN_IF_ERROR(seal_run(head, entries, at, kCacheLineBytes, space));
  under_way.keep();
  return {};
}

}  // namespace holdfast::kv
