// Classic (van Renen et al., section 3.3.1): header and payload are made durable, then a footer
// says so.
//
//   0   LSN << 8 | flags
//   8   length of the record
//   16  the record, zeros up to a multiple of 8
//   …   footer; with padding on a line of its own, so that no line is written back twice
//
// Two fences. Deviation, which closes a hole of the published log: the footer is a hash of LSN and
// log, not the entry's offset, so neither an old footer nor a record's bytes pass for it (by
// chance: 2^-64).
#include <cstring>

#include <holdfast/base/hash.hpp>
#include <holdfast/baselines/log_formats.hpp>

namespace holdfast::baselines {

using namespace holdfast::blocks::log_detail;  // NOLINT: what frames are made of.
using holdfast::blocks::Record;
namespace {

constexpr std::uint64_t kHeadBytes = 16;

std::uint64_t footer_of(const Segment& segment, std::uint64_t lsn) {
  return mix64(segment.log_id ^ mix64(lsn));
}

class ClassicFrames final : public Frames {
 public:
  std::string_view name() const override { return "classic"; }
  unsigned fences() const override { return 2; }
  std::uint64_t frame_bytes(const Segment& segment, std::uint64_t length) const override {
    return segment.after_group(footer_at(segment, length) + 8);
  }

  Result<std::uint64_t> append(const Segment& segment, std::uint64_t at, const Group& group,
                               Staging& staging) const override {
    const auto first_lsn = group.draw();
    const auto& persist = segment.persist();
    auto to = at;
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const auto bytes = kHeadBytes + round_up(record.size(), 8);
      auto* const frame = staging.lines(bytes + kCacheLineBytes);
      const std::uint64_t head[] = {tagged(group.lsn(first_lsn, i), flags_of(group, i)),
                                    record.size()};
      std::memcpy(frame, head, sizeof head);
      std::memset(frame + bytes - 8, 0, record.empty() ? 0 : 8);
      if (!record.empty()) std::memcpy(frame + kHeadBytes, record.data(), record.size());
      HF_RETURN_IF_ERROR(segment.put(to, frame, bytes));
      to += frame_bytes(segment, record.size());
    }
    persist.fence();
    to = at;
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      auto* const footer = segment.word(to + footer_at(segment, group.records[i].size()));
      persist.store(footer, footer_of(segment, group.lsn(first_lsn, i)));
      persist.write_back(footer, 8);
      to += frame_bytes(segment, group.records[i].size());
    }
    return first_lsn;
  }

  bool read(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
            Frame& frame, std::vector<std::byte>&) const override {
    if (at + kHeadBytes + 8 > segment.bytes) return false;
    const auto lsn = lsn_of(*segment.word(at)), length = *segment.word(at + 8);
    if (lsn <= after || lsn >= limit || length > segment.bytes ||
        frame_bytes(segment, length) > segment.bytes - at)
      return false;
    if (*segment.word(at + footer_at(segment, length)) != footer_of(segment, lsn)) return false;
    frame = {lsn, {segment.data + at + kHeadBytes, length}, at + frame_bytes(segment, length)};
    return true;
  }

 private:
  static std::uint64_t footer_at(const Segment& segment, std::uint64_t length) {
    return segment.after_group(kHeadBytes + round_up(length, 8));
  }
};

}  // namespace

const Frames& classic_frames() {
  static const ClassicFrames frames;
  return frames;
}

}  // namespace holdfast::baselines
