#include <holdfast/blocks/log/space.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include <holdfast/base/checksum.hpp>

namespace holdfast::blocks::log_detail {
namespace {

std::uint64_t random_id() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

}  // namespace

Space::Space(Region& region, const Extent& where, const LogOptions& options)
    : region_(region), where_(where), options_(options) {}

void Space::make_lanes(std::uint64_t last_lsn) {
  clock_ = std::make_unique<LsnClock>(options_.lanes, last_lsn);
  for (std::uint32_t i = 0; i < options_.lanes; ++i) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->number = i;
  }
  lanes_[0]->taken = true;  // Log::append's own.
  laps_.assign(header_.segments, 0);
}

Status Space::put(std::uint64_t at, const void* from, std::uint64_t bytes, Site site) {
  if (region_.granularity() == Granularity::kPage)
    return region_.write(where_.offset_bytes + at, {static_cast<const std::byte*>(from), bytes},
                         site);
  region_.persist().copy(base() + at, from, bytes, site);
  region_.persist().write_back(base() + at, bytes, site);
  return {};
}

Status Space::barrier(Site site) {
  if (region_.granularity() == Granularity::kPage) return region_.sync(site);
  region_.persist().fence(site);
  return {};
}

Status Space::set_state(StateWord which, std::uint64_t value, Site site) {
  const auto word = checked(value, header_.log_id, which);
  HF_RETURN_IF_ERROR(put(kStateOffset + which * 8, &word, 8, site));
  return barrier(site);
}

Status Space::create() {
  frames_ = frames_of(options_.format);
  header_ = {};
  header_.magic = kMagic;
  header_.version = kVersion;
  header_.format = static_cast<std::uint32_t>(options_.format);
  header_.log_id = random_id();
  header_.segment_bytes = options_.segment_bytes;
  header_.segments = static_cast<std::uint32_t>(
      std::min<std::uint64_t>((where_.size_bytes - kPageBytes) / options_.segment_bytes,
                              std::numeric_limits<std::uint32_t>::max() - 1));
  header_.lanes = options_.lanes;
  header_.padded = options_.padded ? 1 : 0;
  header_.checksum =
      checksum64({reinterpret_cast<const std::byte*>(&header_), offsetof(LogHeader, checksum)}, 0);
  make_lanes(0);

  // A log that lay here is dead before its state changes, and ours is alive only when its state is
  // there. Its segments need no care: their checksums know another log.
  const std::uint64_t nothing = 0;
  HF_RETURN_IF_ERROR(put(0, &nothing, sizeof nothing));
  HF_RETURN_IF_ERROR(barrier());
  limit_ = 1 + 4 * lsns_per_round();
  struct {
    LogHeader header;
    std::uint64_t state[2];
  } const made{header_,
               {checked(limit_, header_.log_id, kLimit), checked(1, header_.log_id, kHead)}};
  static_assert(offsetof(decltype(made), state) == kStateOffset);
  HF_RETURN_IF_ERROR(put(sizeof header_.magic,
                         reinterpret_cast<const std::byte*>(&made) + sizeof header_.magic,
                         sizeof made - sizeof header_.magic));
  HF_RETURN_IF_ERROR(barrier());
  HF_RETURN_IF_ERROR(put(0, &header_.magic, sizeof header_.magic));
  HF_RETURN_IF_ERROR(barrier());

  head_.store(1);
  for (std::uint32_t i = 0; i < header_.segments; ++i)
    free_.push_back(i);
  syncs_begun_.store(1);
  syncs_done_.store(1);
  return {};
}

Segment Space::view(std::uint32_t index, std::uint32_t lap) const {
  Segment segment;
  segment.region = &region_;
  segment.data = base() + kPageBytes + index * header_.segment_bytes;
  segment.bytes = header_.segment_bytes;
  segment.log_id = header_.log_id;
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
    region_.persist().fence();
    if (lane.segment.paged()) lane.sync_mark = syncs_begun_.load();
    lane.tail.store(end, std::memory_order_release);
  } else {
    lane.failed = true;
    static_cast<void>(forget_failure(lane));  // Else the next append has to.
  }
  clock_->end(lane.number);
  if (!first) return first.error();
  return Lsn{*first};
}

// An append that fails has used LSNs and no space. Were it tried again and again, LSNs would pass
// the durable limit, and what is appended then would be lost at the next opening. And what it left
// at the tail would be a record there.
Status Space::forget_failure(Lane& lane) {
  const std::lock_guard hold(mutex_);
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
  if (next + 2 * lsns_per_round() > limit_) {
    HF_RETURN_IF_ERROR(set_state(kLimit, next + 4 * lsns_per_round()));
    limit_ = next + 4 * lsns_per_round();
  }
  return {};
}

void Space::reclaim() {
  const auto keep = pins_.empty() ? head() : std::min(head(), *pins_.begin());
  for (const auto& lane : lanes_) {
    auto& uses = lane->uses;
    while (uses.size() > 1 && uses.front().last_lsn < keep) {
      free_.push_back(uses.front().index);
      uses.erase(uses.begin());
    }
  }
}

std::uint64_t Space::free_segments() {
  const std::lock_guard hold(mutex_);
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
  const std::lock_guard hold(mutex_);
  if (!lane.uses.empty()) lane.uses.back().last_lsn = lane.last_lsn;
  reclaim();
  if (free_.empty())
    return Error{Errc::kNoSpace,
                 "log: all " + std::to_string(header_.segments) +
                     " segments hold records from LSN " + std::to_string(head()) +
                     " on; truncate what is not needed any more, and let readers go"};
  // On page media what lies in the lane's segments before must not be lost while the new one is
  // kept: the new one's header vouches for it.
  if (region_.granularity() == Granularity::kPage) HF_RETURN_IF_ERROR(barrier());
  HF_RETURN_IF_ERROR(raise_limit());
  const auto index = free_.front();
  const auto segment = view(index, laps_[index] + 1);
  frames_->prepare(segment);
  SegmentHeader header{};
  header.base_lsn = clock_->next();
  header.previous_lsn = lane.last_lsn;
  header.lane = lane.number;
  header.lap = segment.lap;
  header.checksum =
      checksum64({reinterpret_cast<const std::byte*>(&header), offsetof(SegmentHeader, checksum)},
                 segment_seed(index));
  // Durable with the first group in it, which is worth nothing without it and the other way round.
  HF_RETURN_IF_ERROR(
      put(static_cast<std::uint64_t>(segment.data - base()), &header, sizeof header));
  free_.pop_front();
  laps_[index] = segment.lap;
  lane.uses.push_back({index, header.base_lsn, 0});
  lane.segment = segment;
  lane.cut = false;
  lane.tail.store(frames_->first(), std::memory_order_release);
  return {};
}

Status Space::truncate(Lsn up_to) {
  if (region_.read_only()) return Error{Errc::kReadOnly, "log: the region was opened read-only"};
  const auto last = stable();
  if (up_to.value > last + 1)
    return Error{Errc::kInvalidOption, "log: truncate(" + std::to_string(up_to.value) +
                                           ") lies beyond the last record's LSN + 1, " +
                                           std::to_string(last + 1)};
  const std::lock_guard hold(mutex_);
  if (up_to.value <= head()) return {};
  HF_RETURN_IF_ERROR(set_state(kHead, up_to.value));
  head_.store(up_to.value, std::memory_order_release);
  return {};
}

Status Space::sync() {
  if (region_.granularity() != Granularity::kPage) return {};
  const auto number = syncs_begun_.fetch_add(1) + 1;
  HF_RETURN_IF_ERROR(region_.sync());
  for (auto done = syncs_done_.load(); done < number;) {
    if (syncs_done_.compare_exchange_weak(done, number)) break;
  }
  return {};
}

Result<Lane*> Space::take_lane() {
  if (region_.read_only()) return Error{Errc::kReadOnly, "log: the region was opened read-only"};
  const std::lock_guard hold(mutex_);
  Lane* best = nullptr;  // One that has a segment already, where there is one.
  for (const auto& lane : lanes_) {
    if (!lane->taken && (best == nullptr || (best->uses.empty() && !lane->uses.empty())))
      best = lane.get();
  }
  if (best == nullptr)
    return Error{Errc::kBusy, "log: all " + std::to_string(options_.lanes) +
                                  " lanes are taken, one of them by Log::append; let an appender "
                                  "go or create the log with more lanes"};
  best->taken = true;
  clock_->use(best->number);
  return best;
}

void Space::give_back(Lane& lane) {
  const std::lock_guard hold(mutex_);
  lane.taken = false;
}

}  // namespace holdfast::blocks::log_detail
