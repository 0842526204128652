// Line tags: each line of a frame ends in a word that says which record it belongs to.
//
//   line   seven words of payload, then LSN << 8 | flags, stored last
//   payload of a frame: length of the record in its first word, then the record
//
// One fence, no zeroing, no checksum: ordinary stores to one line become durable in program order,
// so a line whose tag is durable is durable as a whole, and a frame is whole if all its lines carry
// its LSN. LSNs are never used twice, hence no stale line can pass. Sound without any assumption on
// hashing, but only where lines are; streaming stores would break it. Always padded.
#include <algorithm>
#include <cstring>

#include <holdfast/baselines/log_formats.hpp>

namespace holdfast::baselines {

using namespace holdfast::blocks::log_detail;  // NOLINT: what frames are made of.
using holdfast::blocks::Record;
namespace {

constexpr std::uint64_t kPayloadBytes = kCacheLineBytes - 8;
constexpr std::uint64_t kFirstLine = 8, kLastLine = 16;  // Flags, besides those of all frames.

std::uint64_t lines_of(std::uint64_t length) {
  return (8 + length + kPayloadBytes - 1) / kPayloadBytes;
}

class LineTagFrames final : public Frames {
 public:
  std::string_view name() const override { return "line-tags"; }
  unsigned fences() const override { return 1; }
  bool works_dense() const override { return false; }
  std::uint64_t frame_bytes(const Segment&, std::uint64_t length) const override {
    return lines_of(length) * kCacheLineBytes;
  }

  Result<std::uint64_t> append(const Segment& segment, std::uint64_t at, const Group& group,
                               Staging& staging) const override {
    const auto first_lsn = group.draw();
    const auto& persist = segment.persist();
    auto* const line = staging.lines(kCacheLineBytes);
    auto to = at;
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const auto lines = lines_of(record.size());
      const std::uint64_t length = record.size();
      std::uint64_t done = 0;  // Bytes of the record.
      for (std::uint64_t n = 0; n < lines; ++n, to += kCacheLineBytes) {
        auto* payload = line;
        auto room = kPayloadBytes;
        if (n == 0) {
          std::memcpy(payload, &length, 8);
          payload += 8, room -= 8;
        }
        const auto part = std::min(room, length - done);
        if (part != 0) std::memcpy(payload, record.data() + done, part);
        std::memset(payload + part, 0, room - part);
        done += part;
        persist.copy(segment.data + to, line, kPayloadBytes);
        persist.store(
            segment.word(to + kPayloadBytes),
            tagged(group.lsn(first_lsn, i), flags_of(group, i) | (n == 0 ? kFirstLine : 0) |
                                                (n + 1 == lines ? kLastLine : 0)));
      }
    }
    persist.write_back(segment.data + at, to - at);
    return first_lsn;
  }

  bool read(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
            Frame& frame, std::vector<std::byte>& buffer) const override {
    if (at + kCacheLineBytes > segment.bytes) return false;
    const auto lsn = lsn_of(tag(segment, at));
    const auto length = *segment.word(at);
    if (lsn <= after || lsn >= limit || length > segment.bytes) return false;
    const auto lines = lines_of(length);
    if (lines * kCacheLineBytes > segment.bytes - at) return false;
    buffer.clear();
    for (std::uint64_t n = 0; n < lines; ++n) {
      const auto here = tag(segment, at + n * kCacheLineBytes);
      if (lsn_of(here) != lsn || ((here & kFirstLine) != 0) != (n == 0) ||
          ((here & kLastLine) != 0) != (n + 1 == lines))
        return false;
      const auto* line = segment.data + at + n * kCacheLineBytes;
      buffer.insert(buffer.end(), line + (n == 0 ? 8 : 0), line + kPayloadBytes);
    }
    frame = {lsn, {buffer.data(), length}, at + lines * kCacheLineBytes};
    return true;
  }

 private:
  static std::uint64_t tag(const Segment& segment, std::uint64_t line) {
    return *segment.word(line + kPayloadBytes);
  }
};

}  // namespace

const Frames& line_tag_frames() {
  static const LineTagFrames frames;
  return frames;
}

}  // namespace holdfast::baselines
