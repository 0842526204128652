// PopLog (van Renen et al., section 3.3.1): the number of one bits tells whether all of a record
// has arrived.
//
//   0   number of one bits << 32 | length of the record; the count includes the length's bits
//   8   LSN << 8 | flags
//   16  the record, zeros up to a multiple of 8
//
// One fence. Sound only on space that is durably zero, where bits go from 0 to 1 and never back;
// the order in which words become durable does not matter, so streaming stores are fine.
// Deviations, each of which closes a hole: the tail that a crash left is zeroed durably before the
// next append (1, 6); a segment is zeroed, with a fence of its own, when it is taken (2), not while
// it holds the log (3); the LSN, from 1, is counted, so that no entry has count 0 (4); count and
// length are one word (5).
#include <bit>
#include <cstring>

#include <holdfast/baselines/log_formats.hpp>

namespace holdfast::baselines {

using namespace holdfast::blocks::log_detail;  // NOLINT: what frames are made of.
using holdfast::blocks::Record;
namespace {

constexpr std::uint64_t kCountedHeadBytes = 16;

[[gnu::always_inline]] inline std::uint64_t count_bits(const std::byte* words,
                                                       std::uint64_t bytes) {
  std::uint64_t bits = 0;
  for (std::uint64_t at = 0; at < bytes; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, words + at, 8);
    bits += static_cast<std::uint64_t>(std::popcount(word));
  }
  return bits;
}
// Without the instruction each word is a call of a function, and PopLog looks worse than it is.
__attribute__((target("popcnt"))) std::uint64_t count_bits_by_instruction(const std::byte* words,
                                                                          std::uint64_t bytes) {
  return count_bits(words, bytes);
}

std::uint64_t bits_of(const std::byte* words, std::uint64_t bytes) {
  static const bool popcnt = __builtin_cpu_supports("popcnt") != 0;
  return popcnt ? count_bits_by_instruction(words, bytes) : count_bits(words, bytes);
}

std::uint64_t count_word(std::uint64_t length, std::uint64_t tag, const std::byte* record) {
  return (static_cast<std::uint64_t>(std::popcount(length) + std::popcount(tag)) +
          bits_of(record, round_up(length, 8)))
             << 32 |
         length;
}

class PopcountFrames final : public Frames {
 public:
  std::string_view name() const override { return "poplog"; }
  unsigned fences() const override { return 1; }
  std::uint64_t frame_bytes(const Segment&, std::uint64_t length) const override {
    return kCountedHeadBytes + round_up(length, 8);
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
      auto* const payload = to + kCountedHeadBytes;
      if (record.size() % 8 != 0) std::memset(payload + round_down(record.size(), 8), 0, 8);
      if (!record.empty()) std::memcpy(payload, record.data(), record.size());
      const auto tag = tagged(group.lsn(first_lsn, i), flags_of(group, i));
      const std::uint64_t head[] = {count_word(record.size(), tag, payload), tag};
      std::memcpy(to, head, sizeof head);
      to += frame_bytes(segment, record.size());
    }
    HF_RETURN_IF_ERROR(segment.put(at, begin, bytes));
    return first_lsn;
  }

  bool read(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
            Frame& frame, std::vector<std::byte>&) const override {
    if (at + kCountedHeadBytes > segment.bytes) return false;
    const auto count = *segment.word(at), tag = *segment.word(at + 8);
    const auto length = count & 0xffffffff;
    const auto lsn = lsn_of(tag);
    if (lsn <= after || lsn >= limit ||
        round_up(length, 8) > segment.bytes - at - kCountedHeadBytes)
      return false;
    const auto* record = segment.data + at + kCountedHeadBytes;
    if (count_word(length, tag, record) != count) return false;
    const auto end = at + frame_bytes(segment, length);
    frame = {lsn,
             {record, length},
             tag & kLastOfGroup ? segment.after_group(end) : end,
             (tag & kAfterCut) != 0};
    return true;
  }

  void prepare(const Segment& segment) const override {
    if (zero(segment, first())) segment.persist().fence();
  }
  Status repair(const Segment& segment, std::uint64_t tail) const override {
    zero(segment, tail);
    return {};
  }

 private:
  // Returns whether there was something to zero, which a fence then makes durable.
  static bool zero(const Segment& segment, std::uint64_t from) {
    const auto& persist = segment.persist();
    bool any = false;
    for (auto at = from; at < segment.bytes; at += 8) {
      if (*segment.word(at) == 0) continue;
      // Line by line, and only lines that need it: those in flight cost more than looking.
      const auto end = std::min(round_down(at, kCacheLineBytes) + kCacheLineBytes, segment.bytes);
      for (auto word = at; word < end; word += 8)
        persist.store(segment.word(word), 0);
      persist.write_back(segment.data + at, end - at);
      at = end - 8;
      any = true;
    }
    return any;
  }
};

}  // namespace

const Frames& popcount_frames() {
  static const PopcountFrames frames;
  return frames;
}

}  // namespace holdfast::baselines
