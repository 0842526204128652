// Reading a log: one cursor per lane, merged by LSN.
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include <holdfast/blocks/log/space.hpp>

namespace holdfast::blocks {
namespace log_detail {

// One lane, as it was when the reader was made.
struct Cursor {
  std::vector<Use> uses;
  std::vector<Segment> segments;  // Of `uses`.
  std::uint64_t tail = 0;         // In the last segment.
  std::size_t number = 0;         // Of the use that is read.
  std::uint64_t at = 0;
  std::uint64_t last = 0;  // LSN read before.
  Frame frame;
  std::vector<std::byte> buffer;

  // Goes to the next frame; false after the last one.
  Result<bool> advance(const Frames& frames) {
    for (;;) {
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
      at = frame.next;
      last = frame.lsn;
      return true;
    }
  }
};

}  // namespace log_detail

using log_detail::Cursor;

LogReader::LogReader(log_detail::Space* space, Lsn from) : space_(space) {
  const std::lock_guard hold(space->mutex());
  pin_ = std::max(from.value, space->head());
  space->pin(pin_);
  until_ = space->stable();  // Before the tails are read: all up to here lie below them.
  for (const auto& lane : space->lanes()) {
    auto cursor = std::make_unique<Cursor>();
    for (const auto& use : lane->uses) {
      const bool final = &use == &lane->uses.back();
      if (!final && use.last_lsn < pin_) continue;
      cursor->uses.push_back(use);
      cursor->segments.push_back(space->view_of(use));
    }
    if (cursor->uses.empty()) continue;
    cursor->tail = lane->tail.load(std::memory_order_acquire);
    cursor->at = space->frames().first();
    cursor->last = cursor->uses.front().base_lsn - 1;
    cursors_.push_back(std::move(cursor));
  }
}

LogReader::LogReader(LogReader&& other) noexcept
    : space_(std::exchange(other.space_, nullptr)),
      cursors_(std::move(other.cursors_)),
      pin_(other.pin_),
      until_(other.until_),
      current_(other.current_),
      started_(other.started_),
      lsn_(other.lsn_),
      record_(other.record_) {}
LogReader& LogReader::operator=(LogReader&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(cursors_, other.cursors_);
  std::swap(pin_, other.pin_);
  std::swap(until_, other.until_);
  std::swap(current_, other.current_);
  std::swap(started_, other.started_);
  std::swap(lsn_, other.lsn_);
  std::swap(record_, other.record_);
  return *this;
}
LogReader::~LogReader() {
  if (space_ != nullptr) space_->unpin(pin_);
}

Result<bool> LogReader::next() {
  const auto& frames = space_->frames();
  // Advances a cursor to its next record from `pin_` on; drops it after its last one.
  const auto advance = [&](std::size_t i) -> Result<bool> {
    do {
      HF_ASSIGN_OR_RETURN(const bool more, cursors_[i]->advance(frames));
      if (!more || cursors_[i]->frame.lsn > until_) {
        cursors_.erase(cursors_.begin() + static_cast<std::ptrdiff_t>(i));
        return false;
      }
    } while (cursors_[i]->frame.lsn < pin_);
    return true;
  };
  if (!started_) {
    started_ = true;
    for (std::size_t i = 0; i < cursors_.size();) {
      HF_ASSIGN_OR_RETURN(const bool more, advance(i));
      if (more) ++i;
    }
  } else if (!cursors_.empty()) {
    HF_ASSIGN_OR_RETURN(const bool more, advance(current_));
    (void)more;
  }
  if (cursors_.empty()) return false;
  current_ = 0;
  for (std::size_t i = 1; i < cursors_.size(); ++i) {
    if (cursors_[i]->frame.lsn < cursors_[current_]->frame.lsn) current_ = i;
  }
  lsn_ = {cursors_[current_]->frame.lsn};
  record_ = cursors_[current_]->frame.record;
  return true;
}

}  // namespace holdfast::blocks
