// frames.hpp: how one record lies in a segment of a log. Internal to blocks/log, and the interface
// by which the benchmark adds published formats (holdfast/baselines).
//
// A log (log.hpp) is a ring of segments; what differs between its formats is only the frame around
// a record and the steps that make it durable. All share these rules, each of which closes a hole
// of published logs (van Renen et al., "Building blocks for persistent memory", VLDB Journal 2020):
//
//   A frame carries its LSN, and a reader accepts LSNs above the last one only. open() hands out
//   LSNs above all that were ever used, so whatever a crash left behind the tail stays dead.
//   A segment is taken only when a durable head LSN says that nothing in it is needed: truncation
//   is one word.
//   A record of no bytes is still a frame with bits set.
//
// Groups     Records that are appended together share their fences and lie densely; with padding
//            the next group begins on a line of its own.
// Threads    One writer per segment; readers of what is published run beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/blocks/log/lsn_clock.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::blocks {

// Frozen: stands in the header of a log.
enum class LogFormat : std::uint8_t {
  kChecksum = 1,  // One fence. A 64-bit checksum, seeded with log and LSN. Every medium.
  // 2 to 7 are the published formats of holdfast/baselines.
};

// "checksum", "line-tags", "poplog", "rawl", "classic", "header", "header-dancing"; "?": no format.
std::string_view name(LogFormat format);

using Record = std::span<const std::byte>;

namespace log_detail {

// LSNs fit 56 bits: 28 years at ten million appends per second over eight lanes, 228 with one.
inline constexpr std::uint64_t kLsnMax = (std::uint64_t{1} << 56) - 1;

// Where frames are put together before they go to the medium; lines, grows by need.
class Staging {
 public:
  // At least `bytes`, rounded up to lines. Content is undefined.
  std::byte* lines(std::uint64_t bytes) {
    if (bytes > bytes_) grow(bytes);
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete[](memory, std::align_val_t{kCacheLineBytes});
    }
  };
  void grow(std::uint64_t bytes);
  std::unique_ptr<std::byte, Free> memory_;
  std::uint64_t bytes_ = 0;
};

// One segment as its frames see it. Positions are offsets from `data`.
struct Segment {
  Region* region = nullptr;
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t log_id = 0;  // Drawn at creation: frames of another log never pass for ours.
  std::uint32_t lap = 0;     // How often the segment was taken; its parity is kParity's.
  bool padded = true;

  const Persist& persist() const { return region->persist(); }
  bool paged() const { return region->granularity() == Granularity::kPage; }
  std::uint64_t* word(std::uint64_t at) const {
    return reinterpret_cast<std::uint64_t*>(data + at);
  }
  // Where the group after one that ends at `end` begins.
  std::uint64_t after_group(std::uint64_t end) const {
    return round_up(end, padded ? kCacheLineBytes : 8);
  }
  // Stores `count` bytes (a multiple of 8) from staged lines and starts writing them back. With
  // padding `at` is a line and the rest of the last one is taken from `from` too.
  Status put(std::uint64_t at, std::byte* from, std::uint64_t count, HF_SITE) const;
  // Stores zero to the word at `at` and starts writing it back.
  Status clear(std::uint64_t at, HF_SITE) const;
};

struct Group {
  std::span<const Record> records;
  LsnClock& clock;  // Of the log.
  std::uint32_t lane = 0;
  // Everything that this lane appended before is durable.
  bool starts_durable = true;
  // A crash left only a part of the group before, and this one begins on the next line.
  bool after_cut = false;

  // Takes LSNs for the records and returns the first one's. Once.
  std::uint64_t draw() const { return clock.draw(lane, records.size()); }
  std::uint64_t lsn(std::uint64_t first, std::size_t i) const { return first + i * clock.stride(); }
};
struct Frame {
  std::uint64_t lsn = 0;
  Record record;           // In the segment, or in the buffer given to read().
  std::uint64_t next = 0;  // Where the following frame would begin.
  bool after_cut = false;  // Group::after_cut.
  std::uint64_t at = 0;    // Where it begins. Set by follow().
};

class Frames {
 public:
  virtual ~Frames() = default;

  virtual std::string_view name() const = 0;
  // Where the first frame begins: behind the segment's header line and what a format adds to it.
  virtual std::uint64_t first() const { return kCacheLineBytes; }
  // Whether it is sound where a sector of 512 bytes may be torn in any way.
  virtual bool works_on_pages() const { return false; }
  // Whether a frame may begin in the middle of a line.
  virtual bool works_dense() const { return true; }
  virtual std::uint64_t min_segment_bytes() const { return kPageBytes; }
  // Fences of one append to a segment that has room.
  virtual unsigned fences() const = 0;

  // The size of a frame with a record of `length` bytes: a multiple of 8, or of 64 for whole lines.
  virtual std::uint64_t frame_bytes(const Segment& segment, std::uint64_t length) const = 0;
  // The size of the frames of a group.
  std::uint64_t group_bytes(const Segment& segment, std::span<const Record> records) const {
    std::uint64_t bytes = 0;
    for (const auto& record : records)
      bytes += frame_bytes(segment, record.size());
    return bytes;
  }
  // Draws LSNs, writes a group's frames at `at`, where they fit, and returns the first LSN. The
  // caller's fence makes them durable; on page media they survive the process.
  virtual Result<std::uint64_t> append(const Segment& segment, std::uint64_t at, const Group& group,
                                       Staging& staging) const = 0;
  // The frame at `at` if there is a whole one with an LSN above `after` and below `limit`.
  virtual bool read(const Segment& segment, std::uint64_t at, std::uint64_t after,
                    std::uint64_t limit, Frame& frame, std::vector<std::byte>& buffer) const = 0;
  // The frame that follows a frame which ended at `at`: there, or else where the next group begins,
  // if that says that a crash cut the one before short.
  bool follow(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
              Frame& frame, std::vector<std::byte>& buffer) const {
    bool found = read(segment, at, after, limit, frame, buffer);
    if (!found) {
      const auto group = segment.after_group(at);
      found = group != at && read(segment, group, after, limit, frame, buffer) && frame.after_cut;
      at = group;
    }
    frame.at = at;
    return found;
  }
  // Frames lie below this.
  virtual std::uint64_t end(const Segment& segment) const { return segment.bytes; }

  // Makes a segment that nobody needs ready for a new lap; durable on return.
  virtual void prepare(const Segment& segment) const { (void)segment; }
  // After recovery: makes what a crash left from `tail` on harmless, durably before the next
  // append: open() ends in a barrier.
  virtual Status repair(const Segment& segment, std::uint64_t tail) const {
    (void)segment, (void)tail;
    return {};
  }
  // The LSN of a frame beyond `tail` that proves that what lay at `tail` had been durable, so that
  // the medium lost it; 0: no sign of it.
  virtual std::uint64_t proof_of_loss(const Segment& segment, std::uint64_t tail,
                                      std::uint64_t last, std::uint64_t limit) const {
    (void)segment, (void)tail, (void)last, (void)limit;
    return 0;
  }
};

// Null for a number that is no format, or one that is not registered.
const Frames* frames_of(LogFormat format);
// Adds a format that the library does not have: one of a published log. Any thread.
void register_frames(LogFormat format, const Frames& frames);
// The formats that frames_of() knows, rising.
std::vector<LogFormat> registered_formats();

// The first word of most frames: LSN above, flags below.
inline constexpr std::uint64_t kLastOfGroup = 1;    // The next frame begins at after_group().
inline constexpr std::uint64_t kStartsDurable = 2;  // Group::starts_durable, on its first frame.
inline constexpr std::uint64_t kAfterCut = 4;       // Group::after_cut, on its first frame.
inline std::uint64_t tagged(std::uint64_t lsn, std::uint64_t flags) { return lsn << 8 | flags; }
inline std::uint64_t lsn_of(std::uint64_t tag) { return tag >> 8; }
inline std::uint64_t flags_of(const Group& group, std::size_t i) {
  return (i + 1 == group.records.size() ? kLastOfGroup : 0) |
         (i == 0 && group.after_cut ? kAfterCut : 0) |
         (i == 0 && group.starts_durable ? kStartsDurable : 0);
}

const Frames& checksum_frames();

}  // namespace log_detail
}  // namespace holdfast::blocks
