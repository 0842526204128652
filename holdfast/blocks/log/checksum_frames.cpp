// The frames of `Log`: a 64-bit checksum tells a whole record from anything else.
//
//   0   LSN << 8 | flags
//   8   length of the record in bytes
//   16  checksum64(record), seeded with the log's id and the two words above
//   24  the record, zeros up to a multiple of 8
//
// One fence: it does not matter in which order words become durable, nor what lay there before, so
// nothing is zeroed, streaming stores are fine, and torn sectors are as good as torn lines. A mix
// of old and new bytes passes with probability 2^-64.
#include <cstring>

#include <holdfast/base/checksum.hpp>
#include <holdfast/blocks/log/frames.hpp>

namespace holdfast::blocks::log_detail {
namespace {

constexpr std::uint64_t kHeadBytes = 24;

std::uint64_t seal(const Segment& segment, std::uint64_t tag, std::uint64_t length,
                   const std::byte* record) {
  const auto seed = mix64(segment.log_id ^ tag) + length * 0x9e3779b97f4a7c15u;
  return checksum64({record, length}, seed);
}

class ChecksumFrames final : public Frames {
 public:
  std::string_view name() const override { return "checksum"; }
  bool works_on_pages() const override { return true; }
  unsigned fences() const override { return 1; }
  std::uint64_t frame_bytes(const Segment&, std::uint64_t length) const override {
    return kHeadBytes + round_up(length, 8);
  }

  Status append(const Segment& segment, std::uint64_t at, const Group& group,
                Staging& staging) const override {
    std::uint64_t bytes = 0;
    for (const auto& record : group.records)
      bytes += frame_bytes(segment, record.size());
    auto* const begin = staging.lines(bytes + kCacheLineBytes);
    auto* to = begin;
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const std::uint64_t head[] = {tagged(group.first_lsn + i, flags_of(group, i)), record.size()};
      std::memcpy(to, head, sizeof head);
      auto* const payload = to + kHeadBytes;
      if (record.size() % 8 != 0) std::memset(payload + round_down(record.size(), 8), 0, 8);
      if (!record.empty()) std::memcpy(payload, record.data(), record.size());
      const auto sum = seal(segment, head[0], head[1], payload);
      std::memcpy(to + 16, &sum, sizeof sum);
      to += frame_bytes(segment, record.size());
    }
    HF_RETURN_IF_ERROR(segment.put(at, begin, bytes));
    segment.persist().fence();
    return {};
  }

  bool read(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
            Frame& frame, std::vector<std::byte>&) const override {
    if (at + kHeadBytes > segment.bytes) return false;
    std::uint64_t head[3];
    std::memcpy(head, segment.data + at, sizeof head);
    const auto lsn = lsn_of(head[0]);
    if (lsn <= after || lsn >= limit || head[1] > segment.bytes - at - kHeadBytes) return false;
    const auto* record = segment.data + at + kHeadBytes;
    if (seal(segment, head[0], head[1], record) != head[2]) return false;
    const auto end = at + frame_bytes(segment, head[1]);
    frame = {lsn,
             {record, head[1]},
             head[0] & kLastOfGroup ? segment.after_group(end) : end,
             (head[0] & kAfterCut) != 0};
    return true;
  }

  // Only the group in flight may be torn. A whole frame beyond it that begins a later group was
  // written after a fence that covered this one.
  std::uint64_t proof_of_loss(const Segment& segment, std::uint64_t tail, std::uint64_t last,
                              std::uint64_t limit) const override {
    const auto step = segment.after_group(1);
    Frame frame;
    std::vector<std::byte> none;
    for (auto at = segment.after_group(tail + 1); at + kHeadBytes <= segment.bytes; at += step) {
      const auto tag = *segment.word(at);
      if ((tag & kStartsDurable) == 0 || lsn_of(tag) <= last) continue;
      if (read(segment, at, last, limit, frame, none)) return frame.lsn;
    }
    return 0;
  }
};

}  // namespace

const Frames& checksum_frames() {
  static const ChecksumFrames frames;
  return frames;
}

}  // namespace holdfast::blocks::log_detail
