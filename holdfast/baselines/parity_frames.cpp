// RAWL (Volos et al., Mnemosyne; van Renen et al., section 3.3.1): in each word one bit tells in
// which pass over the log it was written.
//
//   word   63 bits of data << 1 | parity of the segment's lap
//   frame  length of the record << 8 | flags; LSN; then the record in chunks of 63 bits
//
// One fence, no zeroing. Sound while every word beyond the tail durably has the other parity; the
// order of words does not matter.
// Deviations, each of which closes a hole: the lap, and so the parity, stands in the segment's
// header and changes with it (9); words beyond the tail that carry the lap's parity are flipped
// back, durably, before the next append (7); when a segment is taken every word that would pass for
// new is flipped, which also covers padding and ends that the lap before did not reach (8).
#include <algorithm>
#include <cstring>

#include <holdfast/baselines/log_formats.hpp>

namespace holdfast::baselines {

using namespace holdfast::blocks::log_detail;  // NOLINT: what frames are made of.
using holdfast::blocks::Record;
namespace {

constexpr unsigned kDataBits = 63;

std::uint64_t data_words(std::uint64_t length) { return (8 * length + kDataBits - 1) / kDataBits; }

std::uint64_t load_bytes(const std::byte* from, std::uint64_t count) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, std::min<std::uint64_t>(count, 8));
  return value;
}

// Bits [63 i, 63 i + 63) of the record, for each i; beyond its end zeros.
void pack(const std::byte* record, std::uint64_t length, std::uint64_t parity, std::uint64_t* to) {
  const auto words = data_words(length);
  for (std::uint64_t i = 0; i < words; ++i) {
    const auto bit = i * kDataBits, byte = bit / 8, shift = bit % 8;
    auto chunk = load_bytes(record + byte, length - byte) >> shift;
    if (shift > 1 && byte + 8 < length)
      chunk |= static_cast<std::uint64_t>(record[byte + 8]) << (64 - shift);
    to[i] = chunk << 1 | parity;
  }
}

class ParityFrames final : public Frames {
 public:
  std::string_view name() const override { return "rawl"; }
  unsigned fences() const override { return 1; }
  std::uint64_t frame_bytes(const Segment&, std::uint64_t length) const override {
    return (2 + data_words(length)) * 8;
  }

  Result<std::uint64_t> append(const Segment& segment, std::uint64_t at, const Group& group,
                               Staging& staging) const override {
    const auto first_lsn = group.draw();
    const std::uint64_t parity = segment.lap & 1;
    std::uint64_t bytes = 0;
    for (const auto& record : group.records)
      bytes += frame_bytes(segment, record.size());
    auto* const begin = staging.lines(bytes + kCacheLineBytes);
    auto* to = reinterpret_cast<std::uint64_t*>(begin);
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      to[0] = (record.size() << 8 | flags_of(group, i)) << 1 | parity;
      to[1] = group.lsn(first_lsn, i) << 1 | parity;
      pack(record.data(), record.size(), parity, to + 2);
      to += frame_bytes(segment, record.size()) / 8;
    }
    // Padding is written, too: in a later lap a longer entry may lie over it.
    const auto end = segment.after_group(at + bytes);
    for (auto position = at + bytes; position < end; position += 8)
      *to++ = parity;
    HF_RETURN_IF_ERROR(segment.put(at, begin, end - at));
    return first_lsn;
  }

  bool read(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
            Frame& frame, std::vector<std::byte>& buffer) const override {
    const std::uint64_t parity = segment.lap & 1;
    if (at + 16 > segment.bytes) return false;
    const auto head = *segment.word(at), second = *segment.word(at + 8);
    if ((head & 1) != parity || (second & 1) != parity) return false;
    const auto lsn = second >> 1;
    const auto length = head >> 9;
    if (lsn <= after || lsn >= limit || length > segment.bytes ||
        frame_bytes(segment, length) > segment.bytes - at)
      return false;
    const auto words = data_words(length);
    buffer.assign(words * 8 + 8, std::byte{0});
    for (std::uint64_t i = 0; i < words; ++i) {
      const auto word = *segment.word(at + 16 + i * 8);
      if ((word & 1) != parity) return false;
      const auto chunk = word >> 1;
      const auto bit = i * kDataBits, byte = bit / 8, shift = bit % 8;
      std::uint64_t low;
      std::memcpy(&low, buffer.data() + byte, 8);
      low |= chunk << shift;
      std::memcpy(buffer.data() + byte, &low, 8);
      if (shift > 1) buffer[byte + 8] = static_cast<std::byte>(chunk >> (64 - shift));
    }
    const auto end = at + frame_bytes(segment, length);
    frame = {lsn,
             {buffer.data(), length},
             (head >> 1 & kLastOfGroup) != 0 ? segment.after_group(end) : end,
             (head >> 1 & kAfterCut) != 0};
    return true;
  }

  // segment.lap is the lap to come.
  void prepare(const Segment& segment) const override {
    if (flip(segment, first())) segment.persist().fence();
  }
  Status repair(const Segment& segment, std::uint64_t tail) const override {
    flip(segment, tail);
    return {};
  }

 private:
  // Gives every word from `from` on the parity that the lap does not have. Returns whether there
  // was something to flip, which a fence then makes durable.
  static bool flip(const Segment& segment, std::uint64_t from) {
    const auto& persist = segment.persist();
    const std::uint64_t parity = segment.lap & 1;
    bool any = false;
    for (auto at = from; at < segment.bytes; at += 8) {
      if ((*segment.word(at) & 1) != parity) continue;
      const auto end = std::min(round_down(at, kCacheLineBytes) + kCacheLineBytes, segment.bytes);
      for (auto word = at; word < end; word += 8) {
        if ((*segment.word(word) & 1) == parity) persist.store(segment.word(word), parity ^ 1);
      }
      persist.write_back(segment.data + at, end - at);
      at = end - 8;
      any = true;
    }
    return any;
  }
};

}  // namespace

const Frames& parity_frames() {
  static const ParityFrames frames;
  return frames;
}

}  // namespace holdfast::baselines
