// Opening a log: what is there, where each lane ends, and what must be made durable before the next
// append.
#include <algorithm>
#include <cstring>
#include <string>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/blocks/log/space.hpp>

namespace holdfast::blocks::log_detail {

Error Space::damaged(std::uint32_t segment, std::uint64_t at, const std::string& what) const {
  return {
      Errc::kCorrupt,
      "log: segment " + std::to_string(segment) + ", offset " + std::to_string(at) + " (" +
          std::to_string(where_.offset_bytes + kPageBytes + segment * options_.segment_bytes + at) +
          " in the region): " + what};
}

Status Space::read_header() {
  LogBody body{};
  if (writer_.word(0) == kMagic2) {
    HF_ASSIGN_OR_RETURN(body, read_header_2());
  } else {
    HF_ASSIGN_OR_RETURN(const auto header,
                        read_superblock(kLogSuperblock, {base(), kPageBytes},
                                        std::as_writable_bytes(std::span(&body, 1))));
    log_id_ = header.id;
  }
  return take_shape(body);
}

// A log of format 2, which this build writes on as it is.
Result<LogBody> Space::read_header_2() {
  LogHeader2 header;
  std::memcpy(&header, base(), sizeof header);
  if (header.version > kVersion2)
    return Error{Errc::kNewerFormat, "log: written in format " + std::to_string(header.version) +
                                         "; with this header there are formats up to " +
                                         std::to_string(kVersion2)};
  if (header.version < kVersion2)
    return Error{Errc::kUnsupported, "log: written in format " + std::to_string(header.version) +
                                         "; this build reads 2 and 3: copy the records with the "
                                         "build that wrote them"};
  const auto sum =
      checksum64({reinterpret_cast<const std::byte*>(&header), offsetof(LogHeader2, checksum)}, 0);
  if (sum != header.checksum)
    return Error{Errc::kCorrupt, "log: the header's checksum does not match"};
  log_id_ = header.log_id;
  state_offset_ = kStateOffset2;
  LogBody body{};
  body.segment_bytes = header.segment_bytes;
  body.segments = header.segments;
  body.lanes = header.lanes;
  body.format = header.format;
  body.padded = header.padded;
  return body;
}

Status Space::take_shape(const LogBody& body) {
  options_.format = static_cast<LogFormat>(body.format);
  options_.segment_bytes = body.segment_bytes;
  options_.lanes = body.lanes;
  options_.padded = body.padded != 0;
  segments_ = body.segments;
  frames_ = body.format <= 0xff ? frames_of(options_.format) : nullptr;
  if (frames_ == nullptr && body.format <= 0xff && name(options_.format) != "?")
    return Error{Errc::kUnsupported,
                 "log: its format is " + std::string(name(options_.format)) +
                     ", a published one that this build does not have; it has checksum. The "
                     "benchmark's module reads it (baselines/log_formats.hpp)"};
  if (frames_ == nullptr || !options_.validate() || segments_ < 2)
    return Error{Errc::kCorrupt, "log: the header is whole but contradicts itself"};
  const auto room = where_.size_bytes - kPageBytes;
  if (segments_ > room / options_.segment_bytes)
    return Error{Errc::kCorrupt, "log: " + std::to_string(segments_) + " segments of " +
                                     std::to_string(options_.segment_bytes) +
                                     " bytes do not fit into an extent of " +
                                     std::to_string(where_.size_bytes)};
  return {};
}

Result<std::uint64_t> Space::read_state(StateWord which) const {
  const auto value =
      open_word<ShortCheckWord>(writer_.word(state_offset_ + which * 8), log_id_, which);
  if (value && *value != 0) return *value;
  return Error{Errc::kCorrupt, std::string("log: the state word of ") +
                                   (which == kLimit ? "the LSN limit" : "the head") +
                                   " is damaged"};
}

bool Space::read_segment_header(std::uint32_t index, SegmentHeader& header) const {
  std::memcpy(&header, base() + kPageBytes + index * options_.segment_bytes, sizeof header);
  const auto sum =
      checksum64({reinterpret_cast<const std::byte*>(&header), offsetof(SegmentHeader, checksum)},
                 segment_seed(index));
  return sum == header.checksum && header.lane < options_.lanes && header.base_lsn != 0 &&
         header.base_lsn < HF_MUTANT("L29", limit_, kLsnMax);
}

// A segment without a valid header was never used, or a crash took the header with the first group
// of a lap. A later group means that the header had been durable.
Status Space::check_lost(std::uint32_t index) const {
  auto segment = view(index, 0);
  segment.bytes = std::min(segment.bytes, 64 * KiB);  // Enough to meet the second group.
  const auto lsn = frames_->proof_of_loss(segment, frames_->first(), head() - 1, limit_);
  if (lsn == 0 || HF_MUTANT("L17", false, true)) return {};
  return damaged(index, 0,
                 "the header is lost, and with it records around LSN " + std::to_string(lsn));
}

Status Space::find_segments() {
  std::vector<std::vector<std::pair<SegmentHeader, std::uint32_t>>> by_lane(options_.lanes);
  for (std::uint32_t index = 0; index < segments_; ++index) {
    SegmentHeader header;
    if (read_segment_header(index, header)) {
      of_segment_[index].lap = header.lap;
      by_lane[header.lane].emplace_back(header, index);
    } else {
      HF_RETURN_IF_ERROR(check_lost(index));
      // A torn header must not become whole, and its dead frames with it, by words that the next
      // one shares with it.
      if (header.checksum != 0 && !region_.read_only()) {
        const auto at =
            kPageBytes + index * options_.segment_bytes + offsetof(SegmentHeader, checksum);
        HF_RETURN_IF_ERROR(writer_.put_word(at, 0));
      }
      free_.push_back(index);
    }
  }
  for (auto& lane : lanes_) {
    auto& found = by_lane[lane->number];
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.first.base_lsn < b.first.base_lsn; });
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto& [header, index] = found[i];
      // The successor says where this one ended.
      const bool last = i + 1 == found.size();
      const auto end = last ? 0 : found[i + 1].first.previous_lsn;
      if (!last && end < head() + HF_MUTANT("L11", 0, 1)) {
        free_.push_back(index);
        continue;
      }
      if (uses(*lane).empty() && header.previous_lsn >= head() && HF_MUTANT("L18", true, false))
        return damaged(index, 0,
                       "its lane continues LSN " + std::to_string(header.previous_lsn) +
                           ", whose segment is lost");
      of_lane_[lane->number].uses.push_back({index, header.base_lsn, end});
      lane->last_lsn = header.previous_lsn;  // Until recover_lane() knows better.
    }
  }
  return {};
}

Status Space::recover_lane(Lane& lane) {
  const auto& use = uses(lane).back();
  lane.segment = view(use.index, of_segment_[use.index].lap);
  const auto& segment = lane.segment;
  const auto end = frames_->end(segment);
  auto at = frames_->first();
  auto last = use.base_lsn - HF_MUTANT("L14", 1, 0);
  Frame frame;
  std::vector<std::byte> buffer;
  for (;;) {
    while (at < end && frames_->follow(segment, at, last, limit_, frame, buffer)) {
      at = frame.next;
      last = lane.last_lsn = frame.lsn;
    }
    // What was truncated proves nothing: it may be what lay here before the segment was taken by
    // another lane, by a header that did not become durable.
    const auto needed = std::max(last, HF_MUTANT("L32", head() - 1, 0));
    const auto lsn = frames_->proof_of_loss(segment, at, needed, limit_);
    if (lsn == 0) break;
    if (!region_.read_only())
      return damaged(use.index, at,
                     "the record after LSN " + std::to_string(last) +
                         " is damaged; a later one, LSN " + std::to_string(lsn) + ", is whole");
    // Readers will say the same, and go on behind it if they are told to.
    do
      at += segment.after_group(1) - at % segment.after_group(1);
    while (!frames_->read(segment, at, last, limit_, frame, buffer));
  }
  // The next group begins on a line of its own (Lane::position), also after a part of one.
  lane.cut = HF_MUTANT("L19", segment.after_group(at) != at, false);
  lane.tail.store(at, std::memory_order_release);
  if (region_.read_only()) {
    lane.segment.bytes = 0;  // Every append comes to take_segment(), which refuses it.
    return {};
  }
  // A process that was killed left lines in the cache that nobody has written back. From now on
  // readers rely on them.
  if (!segment.paged()) region_.persist().write_back(segment.data, at - HF_MUTANT("L13", 0, 64));
  HF_RETURN_IF_ERROR(frames_->repair(segment, at));
  if (lane.last_lsn < head() + HF_MUTANT("L12", 0, 1)) leave_last_segment(lane);
  return {};
}

Status Space::open() {
  HF_RETURN_IF_ERROR(read_header());
  const Lock hold(mutex_);
  HF_ASSIGN_OR_RETURN(limit_, read_state(kLimit));
  // What the crash left beyond the tails has LSNs below the old limit, new records have not.
  make_lanes(
      limit_ - 1 -
      HF_MUTANT("L16", 0, 3 * options_.lanes * options_.lanes * (options_.segment_bytes / 16)));
  HF_ASSIGN_OR_RETURN(const auto head, read_state(kHead));
  if (head > limit_)
    return Error{Errc::kCorrupt, "log: the head, " + std::to_string(head) +
                                     ", lies beyond the LSN limit, " + std::to_string(limit_)};
  head_.store(head);
  HF_RETURN_IF_ERROR(find_segments());
  for (const auto& lane : lanes_) {
    if (!uses(*lane).empty()) HF_RETURN_IF_ERROR(recover_lane(*lane));
  }
  syncs_begun_.store(1);
  syncs_done_.store(1);
  if (region_.read_only()) return {};
  if (limit_ + 6 * lsns_per_round() > kLsnMax) {
    // There are no more LSNs. take_segment() says so, and every append comes to it.
    for (const auto& lane : lanes_)
      lane->segment.bytes = 0;
    return writer_.order();
  }
  if (!writer_.paged()) region_.persist().write_back(base(), state_offset_);
  const auto limit = limit_ + HF_MUTANT("L15", 4 * lsns_per_round(), 8);
  HF_RETURN_IF_ERROR(set_state(kLimit, limit));
  limit_ = limit;
  return {};
}

}  // namespace holdfast::blocks::log_detail
