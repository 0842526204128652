#include <holdfast/blocks/log/space.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>

namespace holdfast::blocks::log_detail {

Space::Space(Region& region, const Extent& where, const LogOptions& options, Claim claim)
    : region_(region),
      where_(where),
      claim_(std::move(claim)),
      writer_(region, where),
      options_(options) {}

void Space::make_lanes(std::uint64_t last_lsn) {
  clock_ = std::make_unique<LsnClock>(options_.lanes, last_lsn);
  for (std::uint32_t i = 0; i < options_.lanes; ++i) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->number = i;
  }
  of_lane_.resize(options_.lanes);
  of_lane_[0].taken = true;  // Log::append's own.
  of_segment_.resize(segments_);
}

Status Space::set_state(StateWord which, std::uint64_t value, Site site) {
  HF_RETURN_IF_ERROR(
      writer_.put_word(state_offset_ + which * 8, checked(value, log_id_, which), site));
  return writer_.order(site);
}

Status Space::create() {
  LogBody body{};
  body.segment_bytes = options_.segment_bytes;
  body.segments = static_cast<std::uint32_t>(
      std::min<std::uint64_t>((where_.size_bytes - kPageBytes) / options_.segment_bytes,
                              std::numeric_limits<std::uint32_t>::max() - 1));
  body.lanes = options_.lanes;
  body.format = static_cast<std::uint32_t>(options_.format);
  body.padded = options_.padded ? 1 : 0;
  const auto bytes = std::as_bytes(std::span(&body, 1));
  HF_ASSIGN_OR_RETURN(const auto header, new_header(kLogSuperblock, bytes));
  frames_ = frames_of(options_.format);
  log_id_ = header.id;
  segments_ = body.segments;
  const Lock hold(mutex_);
  make_lanes(0);

  // A log that lay here is dead before its state changes, by one word that cannot be torn, and ours
  // is alive only when its state is there. Its segments need no care: their checksums know another
  // log.
  HF_RETURN_IF_ERROR(writer_.put_word(0, 0));
  HF_RETURN_IF_ERROR(writer_.order());
  limit_ = 1 + 4 * lsns_per_round();
  const std::uint64_t state[] = {checked(limit_, log_id_, kLimit), checked(1, log_id_, kHead)};
  HF_RETURN_IF_ERROR(writer_.put(kStateOffset, state, sizeof state));
  HF_RETURN_IF_ERROR(write_superblock(writer_, 0, header, bytes));

  head_.store(1);
  for (std::uint32_t i = 0; i < segments_; ++i)
    free_.push_back(i);
  syncs_begun_.store(1);
  syncs_done_.store(1);
  return {};
}

Segment Space::view(std::uint32_t index, std::uint32_t lap) const {
  Segment segment;
  segment.region = &region_;
  segment.data = base() + kPageBytes + index * options_.segment_bytes;
  segment.bytes = options_.segment_bytes;
  segment.log_id = log_id_;
  segment.lap = lap;
  segment.padded = options_.padded;
  return segment;
}

std::uint64_t Space::max_record_bytes() const {
  const auto segment = view(0, 0);
  const auto room = segment.bytes - frames_->first();
  // The largest multiple of 8 whose frame fits, from above.
  auto length = room;
  while (length > 0 && frames_->frame_bytes(segment, length) > room)
    length -= std::min<std::uint64_t>(length, 8);
  return length;
}

Result<Lsn> Space::append(Lane& lane, std::span<const Record> records) {
  if (records.empty()) [[unlikely]]
    return Error{Errc::kInvalidOption, "log: append_many of no records; at least one is needed"};
  auto end =
      lane.segment.after_group(lane.position() + frames_->group_bytes(lane.segment, records));
  if (lane.failed) [[unlikely]]
    HF_RETURN_IF_ERROR(forget_failure(lane));
  if (end > lane.segment.bytes) [[unlikely]] {
    HF_RETURN_IF_ERROR(take_segment(lane, records));
    end = lane.segment.after_group(lane.position() + frames_->group_bytes(lane.segment, records));
  }
  const Group group{records, *clock_, lane.number,
                    !lane.segment.paged() || syncs_done_.load() > lane.sync_mark, lane.cut};
  const auto first = frames_->append(lane.segment, lane.position(), group, lane.staging);
  clock_->publish(lane.number);  // Also if it failed: a part may be on the medium.
  if (first) [[likely]] {
    // Stores leave the CPU in order: what need not wait for the fence is not put behind it, where
    // the next frame would wait for it.
    lane.last_lsn = group.lsn(*first, records.size() - 1);
    lane.cut = false;
    if (HF_MUTANT("L04", false, true)) {
      lane.tail.store(end, std::memory_order_release);
      clock_->end(lane.number);
    }
    region_.persist().fence();
    if (lane.segment.paged()) lane.sync_mark = syncs_begun_.load();
    lane.tail.store(end, std::memory_order_release);
  } else {
    lane.failed = HF_MUTANT("L07", true, false);
    static_cast<void>(forget_failure(lane));  // Else the next append has to.
  }
  clock_->end(lane.number);
  if (!first) return first.error();
  return Lsn{*first};
}

Result<LogPlace> Space::append_placed(Lane& lane, Record record) {
  HF_ASSIGN_OR_RETURN(const auto lsn, append(lane, {&record, 1}));
  // Its group was the last one, and holds nothing else.
  const auto end = lane.tail.load(std::memory_order_relaxed);
  const auto bytes = lane.segment.after_group(frames_->frame_bytes(lane.segment, record.size()));
  return LogPlace{lsn, place_of(lane.segment.data + end - bytes)};
}

Status Space::read_at(std::uint64_t at_bytes, Frame& frame) const {
  const auto index = (at_bytes - kPageBytes) / options_.segment_bytes;
  if (at_bytes >= kPageBytes && at_bytes % 8 == 0 && index < segments_) {
    const auto segment = view(static_cast<std::uint32_t>(index), 0);
    const auto at = at_bytes - place_of(segment.data);
    std::vector<std::byte> buffer;
    if (at >= frames_->first() && options_.format == LogFormat::kChecksum &&
        frames_->read(segment, at, 0, kLsnMax + 1, frame, buffer))
      return {};
  }
  return Error{Errc::kCorrupt, "log: no whole record lies at offset " + std::to_string(at_bytes) +
                                   " of its extent"};
}

// An append that fails has used LSNs and no space. Were it tried again and again, LSNs would pass
// the durable limit, and what is appended then would be lost at the next opening. And what it left
// at the tail would be a record there.
Status Space::forget_failure(Lane& lane) {
  const Lock hold(mutex_);
  HF_RETURN_IF_ERROR(raise_limit());
  HF_RETURN_IF_ERROR(frames_->repair(lane.segment, lane.tail.load(std::memory_order_relaxed)));
  lane.failed = false;
  return {};
}

// All that the lanes can draw before each of them takes another segment is below the limit then.
Status Space::raise_limit() {
  const auto next = clock_->next();
  if (next + 6 * lsns_per_round() > kLsnMax)
    return Error{Errc::kNoSpace, "log: its LSNs are used up; make a new one"};
  if (next + HF_MUTANT("L03", 2 * lsns_per_round(), 0) > limit_) {
    HF_RETURN_IF_ERROR(set_state(kLimit, next + 4 * lsns_per_round()));
    limit_ = next + 4 * lsns_per_round();
  }
  return {};
}

void Space::reclaim() {
  const auto keep =
      HF_MUTANT("L05", pins_.empty() ? head() : std::min(head(), *pins_.begin()), head());
  for (const auto& lane : lanes_) {
    auto& uses = of_lane_[lane->number].uses;
    while (uses.size() > 1 && uses.front().last_lsn < keep + HF_MUTANT("L02", 0, 1) &&
           (of_segment_[uses.front().index].readers == 0 || HF_MUTANT("L31", false, true))) {
      free_.push_back(uses.front().index);
      uses.erase(uses.begin());
    }
  }
}

// Nothing in it is needed.
void Space::leave_last_segment(Lane& lane) {
  free_.push_back(uses(lane).back().index);
  of_lane_[lane.number].uses.clear();
  lane.segment = {};
  lane.cut = false;
  lane.last_lsn = 0;
  lane.tail.store(0, std::memory_order_release);
}

// Of `own`, whose thread this is, and of lanes that no thread has: the segments that reclaim()
// leaves to them, where nothing in these is needed either.
void Space::reclaim_last_segments(const Lane& own) {
  const auto keep =
      HF_MUTANT("L33", pins_.empty() ? head() : std::min(head(), *pins_.begin()), head());
  for (const auto& lane : lanes_) {
    if ((lane.get() != &own && HF_MUTANT("L34", of_lane_[lane->number].taken, false)) ||
        HF_MUTANT("L35", lane->failed, false))
      continue;
    const auto& of_lane = uses(*lane);
    if (of_lane.size() == 1 && lane->last_lsn < keep + HF_MUTANT("L36", 0, 1) &&
        (of_segment_[of_lane.back().index].readers == 0 || HF_MUTANT("L37", false, true)))
      leave_last_segment(*lane);
  }
}

std::uint64_t Space::free_segments() {
  const Lock hold(mutex_);
  reclaim();
  return free_.size();
}

Status Space::take_segment(Lane& lane, std::span<const Record> records) {
  if (region_.read_only()) return Error{Errc::kReadOnly, "log: the region was opened read-only"};
  const auto empty = view(0, 0);
  auto end = frames_->first();
  for (const auto& record : records) {
    if (record.size() > empty.bytes) end = empty.bytes;  // Its frame's size might wrap around.
    end += frames_->frame_bytes(empty, std::min<std::uint64_t>(record.size(), empty.bytes));
  }
  if (empty.after_group(end) > empty.bytes)
    return Error{Errc::kTooLarge, "log: " + std::to_string(records.size()) +
                                      " records with their frames take " +
                                      std::to_string(empty.after_group(end) - frames_->first()) +
                                      " bytes or more; a segment holds " +
                                      std::to_string(empty.bytes - frames_->first())};
  const Lock hold(mutex_);
  auto& uses = of_lane_[lane.number].uses;
  if (!uses.empty()) uses.back().last_lsn = lane.last_lsn;
  reclaim();
  if (free_.empty()) reclaim_last_segments(lane);
  if (free_.empty())
    return Error{Errc::kNoSpace,
                 "log: all " + std::to_string(segments_) + " segments hold records from LSN " +
                     std::to_string(head()) +
                     " on, or are the last ones of other appenders; truncate what is not needed "
                     "any more, and let readers and appenders go"};
  // On page media what lies in the lane's segments before must not be lost while the new one is
  // kept: the new one's header vouches for it.
  if (writer_.paged() && HF_MUTANT("L09", true, uses.size() < 2))
    HF_RETURN_IF_ERROR(writer_.order());
  HF_RETURN_IF_ERROR(raise_limit());
  const auto index = free_.front();
  const auto segment = view(index, of_segment_[index].lap + 1);
  frames_->prepare(segment);
  SegmentHeader header{};
  header.base_lsn = clock_->next();
  header.previous_lsn = HF_MUTANT("L01", lane.last_lsn, 0);
  header.lane = lane.number;
  header.lap = segment.lap;
  header.checksum =
      checksum64({reinterpret_cast<const std::byte*>(&header), offsetof(SegmentHeader, checksum)},
                 segment_seed(index));
  // Durable with the first group in it, which is worth nothing without it and the other way round.
  HF_RETURN_IF_ERROR(
      writer_.put(static_cast<std::uint64_t>(segment.data - base()), &header, sizeof header));
  free_.pop_front();
  of_segment_[index].lap = segment.lap;
  uses.push_back({index, header.base_lsn, 0});
  lane.segment = segment;
  lane.cut = false;
  lane.tail.store(frames_->first(), std::memory_order_release);
  return {};
}

Status Space::truncate(Lsn up_to) {
  if (region_.read_only()) return Error{Errc::kReadOnly, "log: the region was opened read-only"};
  const auto last = HF_MUTANT("L30", stable(), kLsnMax);
  if (up_to.value > last + 1)
    return Error{Errc::kInvalidOption, "log: truncate(" + std::to_string(up_to.value) +
                                           ") lies beyond the last record's LSN + 1, " +
                                           std::to_string(last + 1)};
  const Lock hold(mutex_);
  if (up_to.value <= head()) return {};
  if (HF_MUTANT("L06", false, true)) {
    head_.store(up_to.value, std::memory_order_release);
    reclaim();
  }
  HF_RETURN_IF_ERROR(set_state(kHead, up_to.value));
  head_.store(up_to.value, std::memory_order_release);
  return {};
}

Status Space::sync() {
  if (!writer_.paged()) return {};
  const auto number = syncs_begun_.fetch_add(1) + 1;
  if (HF_MUTANT("L08", false, true)) syncs_done_.store(number);
  HF_RETURN_IF_ERROR(region_.sync());
  for (auto done = syncs_done_.load(); done < number;) {
    if (syncs_done_.compare_exchange_weak(done, number)) break;
  }
  return {};
}

Result<Lane*> Space::take_lane() {
  if (region_.read_only()) return Error{Errc::kReadOnly, "log: the region was opened read-only"};
  const Lock hold(mutex_);
  Lane* best = nullptr;  // One that has a segment already, where there is one.
  for (const auto& lane : lanes_) {
    if (!of_lane_[lane->number].taken &&
        (best == nullptr || (uses(*best).empty() && !uses(*lane).empty())))
      best = lane.get();
  }
  if (best == nullptr)
    return Error{Errc::kBusy, "log: all " + std::to_string(options_.lanes) +
                                  " lanes are taken, one of them by Log::append; let an appender "
                                  "go or create the log with more lanes"};
  of_lane_[best->number].taken = true;
  clock_->use(best->number);
  return best;
}

void Space::give_back(Lane& lane) {
  const Lock hold(mutex_);
  of_lane_[lane.number].taken = false;
}

}  // namespace holdfast::blocks::log_detail
