// Header (libpmemlog's way; van Renen et al., section 3.3.1): the record is made durable, then a
// word in front of the segment says how far it goes. Dancing: 64 such words, one per line, written
// in turn, so that no line is written back twice in a row.
//
//   segment  header line; 1 or 64 lines with one size word each; frames
//   0        LSN << 8 | flags
//   8        length of the record
//   16       the record, zeros up to a multiple of 8
//
// Two fences. The size is the largest of the words. Deviation, which closes a hole of the published
// log: the words are set to zero only in a segment that nobody needs, before it is taken, so no
// reader ever meets a reset that is half done. What lies below the size is believed: there is no
// checksum.
#include <algorithm>
#include <cstring>

#include <holdfast/baselines/log_formats.hpp>

namespace holdfast::baselines {

using namespace holdfast::blocks::log_detail;  // NOLINT: what frames are made of.
using holdfast::blocks::Record;
namespace {

constexpr std::uint64_t kHeaderBytes = 16;

template <unsigned kWords>
class HeaderFrames final : public Frames {
 public:
  std::string_view name() const override { return kWords == 1 ? "header" : "header-dancing"; }
  std::uint64_t first() const override { return (1 + kWords) * kCacheLineBytes; }
  unsigned fences() const override { return 2; }
  std::uint64_t min_segment_bytes() const override { return (kWords == 1 ? 1 : 2) * kPageBytes; }
  std::uint64_t frame_bytes(const Segment&, std::uint64_t length) const override {
    return kHeaderBytes + round_up(length, 8);
  }

  Result<std::uint64_t> append(const Segment& segment, std::uint64_t at, const Group& group,
                               Staging& staging) const override {
    const auto first_lsn = group.draw();
    std::uint64_t bytes = 0;
    for (const auto& record : group.records)
      bytes += frame_bytes(segment, record.size());
    auto* const begin = staging.lines(bytes + kCacheLineBytes);
    auto* to = begin;
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const std::uint64_t head[] = {tagged(group.lsn(first_lsn, i), flags_of(group, i)),
                                    record.size()};
      std::memcpy(to, head, sizeof head);
      auto* const payload = to + kHeaderBytes;
      if (record.size() % 8 != 0) std::memset(payload + round_down(record.size(), 8), 0, 8);
      if (!record.empty()) std::memcpy(payload, record.data(), record.size());
      to += frame_bytes(segment, record.size());
    }
    const auto& persist = segment.persist();
    HF_RETURN_IF_ERROR(segment.put(at, begin, bytes));
    persist.fence();
    auto* const size = size_word(segment, first_lsn / group.clock.stride() % kWords);
    persist.store(size, segment.after_group(at + bytes));
    persist.write_back(size, 8);
    return first_lsn;
  }

  bool read(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
            Frame& frame, std::vector<std::byte>&) const override {
    if (at + kHeaderBytes > segment.bytes) return false;
    const auto tag = *segment.word(at), length = *segment.word(at + 8);
    const auto lsn = lsn_of(tag);
    if (lsn <= after || lsn >= limit || length > segment.bytes - at - kHeaderBytes) return false;
    const auto end = at + frame_bytes(segment, length);
    frame = {lsn,
             {segment.data + at + kHeaderBytes, length},
             tag & kLastOfGroup ? segment.after_group(end) : end,
             (tag & kAfterCut) != 0};
    return true;
  }

  std::uint64_t end(const Segment& segment) const override {
    std::uint64_t size = 0;
    for (unsigned i = 0; i < kWords; ++i)
      size = std::max(size, Persist::load(size_word(segment, i)));
    return std::min(size, segment.bytes);
  }

  void prepare(const Segment& segment) const override {
    for (unsigned i = 0; i < kWords; ++i) {
      segment.persist().store(size_word(segment, i), 0);
      segment.persist().write_back(size_word(segment, i), 8);
    }
    segment.persist().fence();
  }

 private:
  static std::uint64_t* size_word(const Segment& segment, std::uint64_t i) {
    return segment.word((1 + i) * kCacheLineBytes);
  }
};

}  // namespace

const Frames& header_frames() {
  static const HeaderFrames<1> frames;
  return frames;
}
const Frames& dancing_frames() {
  static const HeaderFrames<64> frames;
  return frames;
}

}  // namespace holdfast::baselines
