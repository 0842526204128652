// space.hpp: what a log has on its medium, and the state of its lanes in DRAM. Internal to
// blocks/log.
//
// The extent: a page with the superblock (header and body, a line each) and the state line, then
// the segments. Format 2 had a header of one line without feature flags; such logs are opened as
// they are, and stay so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <type_traits>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/blocks/log/log.hpp>
#include <holdfast/blocks/log/lsn_clock.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/sealed_word.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::blocks::log_detail {

inline constexpr SuperblockFormat kLogSuperblock{"log", magic_of("HLDFLOG3"), 3, 3, 0};

struct LogBody {  // On media, behind the superblock's header; written once.
  std::uint64_t segment_bytes;
  std::uint32_t segments;
  std::uint32_t lanes;
  std::uint32_t format;  // LogFormat.
  std::uint32_t padded;  // 0 or 1.
  std::uint64_t reserved[5];
};
static_assert(sizeof(LogBody) == kCacheLineBytes);
static_assert(std::has_unique_object_representations_v<LogBody>);

inline constexpr std::uint64_t kMagic2 = magic_of("HDFLOGL1");
inline constexpr std::uint32_t kVersion2 = 2;  // 1 had another checksum64.

struct LogHeader2 {  // On media, at the start of a log of format 2.
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t format;  // LogFormat.
  std::uint64_t log_id;  // Random.
  std::uint64_t segment_bytes;
  std::uint32_t segments;
  std::uint32_t lanes;
  std::uint32_t padded;  // 0 or 1.
  std::uint32_t reserved[3];
  std::uint64_t checksum;  // checksum64 of the words before, seed 0.
};
static_assert(sizeof(LogHeader2) == kCacheLineBytes);
static_assert(std::has_unique_object_representations_v<LogHeader2>);

struct SegmentHeader {         // On media, at the start of a segment; written when it is taken.
  std::uint64_t base_lsn;      // All LSNs in the segment are at least this.
  std::uint64_t previous_lsn;  // The last one in the lane's segment before; 0: there was none.
  std::uint32_t lane;
  std::uint32_t lap;  // One more than before, where that is known.
  std::uint64_t reserved[4];
  std::uint64_t checksum;  // checksum64 of the words before, seeded with log and segment.
};
static_assert(sizeof(SegmentHeader) == kCacheLineBytes);
static_assert(std::has_unique_object_representations_v<SegmentHeader>);

// The state line: words that change by one store each.
inline constexpr std::uint64_t kStateOffset = 2 * kCacheLineBytes;
inline constexpr std::uint64_t kStateOffset2 = kCacheLineBytes;  // Format 2.
enum StateWord : std::uint64_t {
  kLimit = 0,  // LSNs below may have been used.
  kHead = 1,   // Records below are gone.
};
// 56 bits of value, as LSNs need them, and 8 that tell damage.
inline std::uint64_t checked(std::uint64_t value, std::uint64_t log_id, StateWord which) {
  return seal_word<ShortCheckWord>(value, log_id, which);
}

struct Use {  // A segment of a lane.
  std::uint32_t index;
  std::uint64_t base_lsn;
  std::uint64_t last_lsn;  // 0: no record.
};

struct alignas(kCacheLineBytes) Lane {
  std::atomic<std::uint64_t> tail{0};  // Frames of the last segment below this are acknowledged.
  std::uint64_t last_lsn = 0;          // Of the last append that did not fail.
  Segment segment;                     // The last one of Space::uses(); no data: none yet.
  bool cut = false;                    // Group::after_cut of the next one.
  bool failed = false;                 // The last append: Space::forget_failure() comes first.
  std::uint64_t sync_mark = 0;         // Syncs begun when the last append had returned.
  // Where the next group begins. The appender's.
  std::uint64_t position() const {
    return segment.after_group(tail.load(std::memory_order_relaxed));
  }
  std::uint32_t number = 0;
  Staging staging;
};

struct OfLane {  // What other threads than its own look at, too.
  bool taken = false;
  std::vector<Use> uses;  // By base_lsn.
};

struct OfSegment {
  std::uint32_t lap = 0;  // 0: unknown.
  std::uint32_t readers = 0;
};

class Space {
 public:
  Space(Region& region, const Extent& where, const LogOptions& options, Claim claim);

  Status create();
  Status open();  // recovery.cpp

  Result<Lsn> append(Lane& lane, std::span<const Record> records);
  Result<LogPlace> append_placed(Lane& lane, Record record);
  // Log::record_at().
  Status read_at(std::uint64_t at_bytes, Frame& frame) const;
  // From the start of the extent.
  std::uint64_t place_of(const std::byte* at) const {
    return static_cast<std::uint64_t>(at - base());
  }
  Status truncate(Lsn up_to);
  Status sync();
  Result<Lane*> take_lane();
  void give_back(Lane& lane);
  std::uint64_t stable() const { return clock_->stable(); }  // Log::stable().
  std::uint64_t max_record_bytes() const;

  Segment view(std::uint32_t index, std::uint32_t lap) const;
  Segment view_of(const Use& use) const HF_REQUIRES(mutex_) {
    return view(use.index, of_segment_[use.index].lap);
  }
  const std::vector<Use>& uses(const Lane& lane) const HF_REQUIRES(mutex_) {
    return of_lane_[lane.number].uses;
  }
  const Frames& frames() const { return *frames_; }
  const LogOptions& options() const { return options_; }
  const Extent& where() const { return where_; }
  std::uint64_t size_bytes() const { return kPageBytes + segments_ * options_.segment_bytes; }
  std::uint64_t head() const { return head_.load(std::memory_order_acquire); }
  std::vector<std::unique_ptr<Lane>>& lanes() { return lanes_; }
  std::uint64_t free_segments();

  // For readers: segments with LSNs from `lsn` on are kept until unpin.
  void pin(std::uint64_t lsn) HF_REQUIRES(mutex_) { pins_.insert(lsn); }
  void unpin(std::uint64_t lsn) HF_REQUIRES(mutex_) { pins_.erase(pins_.find(lsn)); }
  // The segment that a lane had last when a reader looked is read from its start, whatever its
  // LSNs are: the lane may leave it meanwhile, and nobody may take it.
  void hold(std::uint32_t segment) HF_REQUIRES(mutex_) { ++of_segment_[segment].readers; }
  void let_go(std::uint32_t segment) HF_REQUIRES(mutex_) { --of_segment_[segment].readers; }
  Mutex& mutex() HF_RETURN_CAPABILITY(mutex_) { return mutex_; }

 private:
  // LSNs that all lanes together can use before each of them takes another segment.
  std::uint64_t lsns_per_round() const {
    return options_.lanes * (options_.segment_bytes / 16) * clock_->stride();
  }
  std::byte* base() const { return writer_.at(0); }
  Status set_state(StateWord which, std::uint64_t value, HF_SITE) HF_REQUIRES(mutex_);
  Status take_segment(Lane& lane, std::span<const Record> records);
  Status forget_failure(Lane& lane);
  Status raise_limit() HF_REQUIRES(mutex_);
  void reclaim() HF_REQUIRES(mutex_);
  void reclaim_last_segments(const Lane& own) HF_REQUIRES(mutex_);
  void leave_last_segment(Lane& lane) HF_REQUIRES(mutex_);
  void make_lanes(std::uint64_t last_lsn) HF_REQUIRES(mutex_);

  // recovery.cpp
  Status read_header();
  Result<LogBody> read_header_2();
  Status take_shape(const LogBody& body);
  Result<std::uint64_t> read_state(StateWord which) const;
  bool read_segment_header(std::uint32_t index, SegmentHeader& header) const HF_REQUIRES(mutex_);
  Status find_segments() HF_REQUIRES(mutex_);
  Status recover_lane(Lane& lane) HF_REQUIRES(mutex_);
  Status check_lost(std::uint32_t index) const HF_REQUIRES(mutex_);
  Error damaged(std::uint32_t segment, std::uint64_t at, const std::string& what) const;
  std::uint64_t segment_seed(std::uint32_t index) const { return mix64(log_id_ ^ (index + 1)); }

  Region& region_;
  const Extent where_;
  const Claim claim_;
  const DurableWriter writer_;
  LogOptions options_;
  std::uint64_t log_id_ = 0;  // Random.
  std::uint64_t state_offset_ = kStateOffset;
  std::uint32_t segments_ = 0;
  const Frames* frames_ = nullptr;

  Mutex mutex_;
  // These two are made once, before others know the log.
  std::unique_ptr<LsnClock> clock_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<OfLane> of_lane_ HF_GUARDED_BY(mutex_);        // By its number.
  std::vector<OfSegment> of_segment_ HF_GUARDED_BY(mutex_);  // By its number.
  std::deque<std::uint32_t> free_ HF_GUARDED_BY(mutex_);     // Taken from the front: a ring.
  std::multiset<std::uint64_t> pins_ HF_GUARDED_BY(mutex_);
  std::uint64_t limit_ HF_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> syncs_begun_{0}, syncs_done_{0};
};

}  // namespace holdfast::blocks::log_detail
