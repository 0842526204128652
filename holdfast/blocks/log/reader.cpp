// Reading a log: one cursor per lane, merged by LSN.
#include <algorithm>
#include <string>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/blocks/log/space.hpp>

namespace holdfast::blocks {
namespace log_detail {

// One lane: where the reader is, and how far it has been told to go.
struct Cursor {
  std::vector<Use> uses;          // From the one that is read on.
  std::vector<Segment> segments;  // Of `uses`.
  std::uint64_t tail = 0;         // In the last segment.
  std::size_t number = 0;         // Of the use that is read.
  std::uint64_t at = 0;
  std::uint64_t last = 0;  // LSN read before.
  bool ready = false;      // `frame` is there and has not been given.
  Frame frame;
  const std::byte* begin = nullptr;  // Of the frame.
  std::vector<std::byte> buffer;

  // Others may take what it reads from now on.
  void let_go(Space& space) HF_REQUIRES(space.mutex()) {
    for (const auto& use : uses)
      space.let_go(use.index);
  }

  // Goes on in the lane as it is now.
  void look_again(Space& space, const Lane& lane, std::uint64_t from) HF_REQUIRES(space.mutex()) {
    const auto before = uses.empty() ? Use{} : uses[number];
    let_go(space);
    uses.clear();
    segments.clear();
    number = 0;
    bool same = false;  // The segment that was read is still there.
    const auto& of_lane = space.uses(lane);
    for (const auto& use : of_lane) {
      const bool final = &use == &of_lane.back();
      if (!final && use.last_lsn < from + HF_MUTANT("L28", 0, 1)) continue;
      if (uses.empty()) same = use.base_lsn == before.base_lsn;
      uses.push_back(use);
      space.hold(use.index);
      segments.push_back(space.view_of(use));
    }
    tail = lane.tail.load(std::memory_order_acquire);
    if (same || uses.empty()) return;
    at = space.frames().first();
    last = uses.front().base_lsn - 1;
  }

  // Past a frame that is not there any more: to the next group that is whole, or else the next
  // segment.
  void skip(const Frames& frames) {
    const auto& segment = segments[number];
    const bool final = number + 1 == uses.size();
    const auto end = final ? tail : segment.bytes;
    const auto step = segment.after_group(1);
    for (at = segment.after_group(at + 1); at < end; at += step) {
      if (frames.read(segment, at, last, kLsnMax + 1, frame, buffer) &&
          (final || frame.lsn <= uses[number].last_lsn))
        return;
    }
    at = end;
    if (!final) last = uses[number].last_lsn;
  }

  // Goes to the next frame; false after the last one.
  Result<bool> advance(const Frames& frames) {
    for (;;) {
      if (uses.empty()) return false;
      const bool final = number + 1 == uses.size();
      if (final ? at >= tail : last >= uses[number].last_lsn) {
        if (final) return false;
        ++number;
        at = frames.first();
        last = std::max(last, uses[number].base_lsn - 1);
        continue;
      }
      if (!frames.follow(segments[number], at, last, kLsnMax + 1, frame, buffer))
        return Error{Errc::kCorrupt, "log: segment " + std::to_string(uses[number].index) +
                                         ", offset " + std::to_string(at) +
                                         ": the record after LSN " + std::to_string(last) +
                                         " is damaged"};
      begin = segments[number].data + frame.at;
      at = frame.next;
      last = frame.lsn;
      return true;
    }
  }
};

}  // namespace log_detail

using log_detail::Cursor;

void LogReader::look_again() HF_REQUIRES(space_->mutex()) {
  until_ = space_->stable();  // Before the tails are read: all up to here lie below them.
  for (std::size_t i = 0; i < cursors_.size(); ++i)
    cursors_[i]->look_again(*space_, *space_->lanes()[i], pin_);
  if (HF_MUTANT("L26", false, true)) until_ = space_->stable();
}

LogReader::LogReader(log_detail::Space* space, Lsn from) : space_(space) {
  const Lock hold(space->mutex());
  for (std::size_t i = 0; i < space->lanes().size(); ++i)
    cursors_.push_back(std::make_unique<Cursor>());
  pin_ = std::max(from.value, space->head());
  space->pin(pin_);
  try {
    look_again();
  } catch (...) {  // No memory. What is pinned would stay so: there is no reader that ends.
    for (const auto& cursor : cursors_)
      cursor->let_go(*space);
    space->unpin(pin_);
    throw;
  }
}

LogReader::LogReader(LogReader&& other) noexcept
    : space_(std::exchange(other.space_, nullptr)),
      cursors_(std::move(other.cursors_)),
      pin_(other.pin_),
      until_(other.until_),
      at_end_(other.at_end_),
      damaged_(std::exchange(other.damaged_, nullptr)),
      lsn_(other.lsn_),
      at_bytes_(other.at_bytes_),
      record_(other.record_) {}
LogReader& LogReader::operator=(LogReader&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(cursors_, other.cursors_);
  std::swap(pin_, other.pin_);
  std::swap(until_, other.until_);
  std::swap(at_end_, other.at_end_);
  std::swap(damaged_, other.damaged_);
  std::swap(lsn_, other.lsn_);
  std::swap(at_bytes_, other.at_bytes_);
  std::swap(record_, other.record_);
  return *this;
}
LogReader::~LogReader() {
  if (space_ == nullptr) return;
  const Lock hold(space_->mutex());
  for (const auto& cursor : cursors_)
    cursor->let_go(*space_);
  space_->unpin(pin_);
}

bool LogReader::skip_damage() {
  const auto cursor = std::exchange(damaged_, nullptr);
  if (cursor != nullptr) cursor->skip(space_->frames());
  return cursor != nullptr;
}

// Each cursor holds its lane's next record; the one with the least LSN is given.
Result<bool> LogReader::next() {
  if (at_end_) {
    // What was given is not read again: its segments may go.
    const Lock hold(space_->mutex());
    const auto from = std::max(pin_, until_ + 1);
    space_->pin(from);
    space_->unpin(pin_);
    pin_ = from;
    look_again();
    at_end_ = false;
  }
  Cursor* least = nullptr;
  for (const auto& cursor : cursors_) {
    while (!cursor->ready) {
      const auto more = cursor->advance(space_->frames());
      if (!more) {
        damaged_ = cursor.get();
        return more.error();
      }
      if (!*more) break;
      cursor->ready = cursor->frame.lsn >= pin_;
    }
    if (cursor->ready && (least == nullptr || cursor->frame.lsn < least->frame.lsn))
      least = cursor.get();
  }
  if (least == nullptr || least->frame.lsn > HF_MUTANT("L27", until_, log_detail::kLsnMax)) {
    at_end_ = true;
    return false;
  }
  least->ready = false;
  lsn_ = {least->frame.lsn};
  at_bytes_ = space_->place_of(least->begin);
  record_ = least->frame.record;
  return true;
}

}  // namespace holdfast::blocks
