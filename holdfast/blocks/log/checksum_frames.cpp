// The frames of `Log`: a 64-bit checksum tells a whole record from anything else.
//
//   0   LSN << 8 | flags
//   8   length of the record in bytes
//   16  a 64-bit checksum of the log's id, the record, its length and the LSN
//   24  the record, up to a multiple of 8
//
// One fence: it does not matter in which order words become durable, nor what lay there before, so
// nothing is zeroed ahead, streaming stores are fine, and torn sectors are as good as torn lines. A
// mix of two records passes with probability 2^-64. What a crash left at the tail loses its first
// word at open(), else the words that it misses might come with the next record.
#include <algorithm>
#include <cstring>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/blocks/log/frames.hpp>

namespace holdfast::blocks::log_detail {
namespace {

constexpr std::uint64_t kHeadBytes = 24;

// Whether a padded group is streamed where that leaves the cache; else it is written back. By
// measurement on Intel, while the machine was busy, in ns per record:
//
//   records x bytes    16 x 64   16 x 128   16 x 256   16 x 512   1 x 512   1 x 1024   1 x 2048
//   written back            40         41         73        114       258        363        637
//   streamed                51         62         63         78       284        357        387
//
// Re-measure: holdfast blocks bench --suite log --only padded
bool better_streamed(std::uint64_t bytes, std::size_t records) {
  return bytes >= 256 * records && bytes >= (records == 1 ? 1 * KiB : 4 * KiB);
}

// The part that does not know the LSN, so that it need not wait for it.
std::uint64_t hash_of(const Segment& segment, const std::byte* record, std::uint64_t length) {
  return checksum64({record, length}, HF_MUTANT("L22", segment.log_id, 0) + length);
}
std::uint64_t tag_of(const Group& group, std::uint64_t first, std::size_t i) {
  return tagged(group.lsn(first, i),
                flags_of(group, i) & HF_MUTANT("L25", ~std::uint64_t{0}, ~kStartsDurable));
}
std::uint64_t seal(std::uint64_t hash, std::uint64_t tag) { return mix64(hash + mix64(tag)); }

// Words and bytes on their way to consecutive lines of a segment, which are streamed.
class Lines {
 public:
  Lines(const Segment& segment, std::uint64_t at)  // `at` begins a line.
      : persist_(segment.persist()), to_(segment.data + at) {}
  void word(std::uint64_t value) {
    words_[filled_] = value;
    if (++filled_ == 8) pass_on();
  }
  // Zeros up to a multiple of 8.
  void bytes(const std::byte* from, std::uint64_t count) {
    while (count != 0) {
      const auto part = std::min<std::uint64_t>(count, 8 * (8 - filled_));
      auto* const to = words_ + filled_;
      if (part % 8 != 0) to[part / 8] = 0;
      std::memcpy(to, from, part);
      filled_ += static_cast<unsigned>((part + 7) / 8);
      from += part, count -= part;
      if (filled_ == 8) pass_on();
    }
  }
  // Whole lines from where they are; nothing of a line is waiting.
  void lines(const std::byte* from, std::uint64_t count) {
    persist_.stream(to_, from, count);
    to_ += count;
  }
  // Zeros to the end of the line.
  void finish() {
    while (filled_ != 0)
      word(0);
  }

 private:
  void pass_on() {
    persist_.stream_line(to_, words_);
    to_ += kCacheLineBytes;
    filled_ = 0;
  }

  const Persist persist_;
  std::byte* to_;  // The line that is put together.
  unsigned filled_ = 0;
  std::uint64_t words_[8];
};

class ChecksumFrames final : public Frames {
 public:
  std::string_view name() const override { return "checksum"; }
  bool works_on_pages() const override { return true; }
  unsigned fences() const override { return 1; }
  std::uint64_t frame_bytes(const Segment&, std::uint64_t length) const override {
    return kHeadBytes + round_up(length, 8);
  }

  Result<std::uint64_t> append(const Segment& segment, std::uint64_t at, const Group& group,
                               Staging& staging) const override {
    const auto& persist = segment.persist();
    if (segment.paged()) return append_staged(segment, at, group, staging);
    if (persist.nt_evicts() && segment.padded &&
        better_streamed(group_bytes(segment, group.records), group.records.size()))
      return append_streamed(segment, at, group);
    // Straight to the medium: a copy that is staged is read back before it has left the store
    // buffer, which waits for the fence before.
    const auto first = group.draw();  // Before records are read: lsn_clock.hpp.
    auto to = at, written_back = at;
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const auto tag = tag_of(group, first, i);
      const auto payload = to + kHeadBytes, end = to + frame_bytes(segment, record.size());
      persist.copy(segment.data + payload, record.data(), record.size());
      // The lines that hold nothing but the record are on their way while it is hashed.
      const auto begin = round_up(payload, kCacheLineBytes);
      const auto whole = i + 1 == group.records.size() ? end : round_down(end, kCacheLineBytes);
      const std::uint64_t left_out = HF_MUTANT("L24", 0, whole == end && end % 64 == 8 ? 8 : 0);
      if (whole > begin) persist.write_back(segment.data + begin, whole - begin - left_out);
      auto* const head = segment.word(to);
      persist.store(head, tag);
      persist.store(head + 1, record.size());
      persist.store(head + 2, seal(hash_of(segment, record.data(), record.size()), tag));
      const auto rest = std::min(begin, whole);
      if (rest > written_back) persist.write_back(segment.data + written_back, rest - written_back);
      written_back = std::max(written_back, whole);
      to = end;
    }
    return first;
  }

  bool read(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
            Frame& frame, std::vector<std::byte>&) const override {
    if (at + kHeadBytes > segment.bytes) return false;
    std::uint64_t head[3];
    std::memcpy(head, segment.data + at, sizeof head);
    const auto lsn = lsn_of(head[0]);
    if (lsn + HF_MUTANT("L21", 0, 1) <= after || lsn >= limit + HF_MUTANT("L20", 0, 1) ||
        head[1] > segment.bytes - at - kHeadBytes)
      return false;
    const auto* record = segment.data + at + kHeadBytes;
    if (seal(hash_of(segment, record, head[1]), head[0]) != head[2]) return false;
    const auto end = at + frame_bytes(segment, head[1]);
    frame = {lsn,
             {record, head[1]},
             head[0] & kLastOfGroup ? segment.after_group(end) : end,
             (head[0] & kAfterCut) != 0};
    return true;
  }

  // A torn frame of which only some words are missing would be whole, and come back, once the next
  // one brings the same words to these places. Without its first word it cannot.
  Status repair(const Segment& segment, std::uint64_t tail) const override {
    const auto group = segment.after_group(tail);
    for (const auto at : {tail, HF_MUTANT("L23", group, tail)}) {
      if (at + 8 > segment.bytes || *segment.word(at) == 0) continue;
      HF_RETURN_IF_ERROR(segment.clear(at));
    }
    return {};
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

 private:
  // Straight to the medium past the caches, in the order of addresses: going back to the line of
  // the header takes longer than the hash that it would hide. Whole lines of a record are taken
  // from where it is; a line that frames share is put together by words.
  Result<std::uint64_t> append_streamed(const Segment& segment, std::uint64_t at,
                                        const Group& group) const {
    const auto first = group.draw();
    Lines lines(segment, at);
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const auto tag = tag_of(group, first, i);
      lines.word(tag);
      lines.word(record.size());
      lines.word(seal(hash_of(segment, record.data(), record.size()), tag));
      // Up to the next line, whole lines, and the rest.
      const auto begin = std::min<std::uint64_t>(
          round_up(at + kHeadBytes, kCacheLineBytes) - at - kHeadBytes, record.size());
      const auto whole = round_down(record.size() - begin, kCacheLineBytes);
      lines.bytes(record.data(), begin);
      if (whole != 0) lines.lines(record.data() + begin, whole);
      lines.bytes(record.data() + begin + whole, record.size() - begin - whole);
      at += frame_bytes(segment, record.size());
    }
    lines.finish();
    return first;
  }

  // All bytes at once: for system calls.
  Result<std::uint64_t> append_staged(const Segment& segment, std::uint64_t at, const Group& group,
                                      Staging& staging) const {
    std::uint64_t bytes = 0;
    for (const auto& record : group.records)
      bytes += frame_bytes(segment, record.size());
    auto* const begin = staging.lines(bytes + kCacheLineBytes);
    const auto first = group.draw();
    auto* to = begin;
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const auto tag = tag_of(group, first, i);
      const std::uint64_t head[] = {tag, record.size(),
                                    seal(hash_of(segment, record.data(), record.size()), tag)};
      std::memcpy(to, head, sizeof head);
      auto* const payload = to + kHeadBytes;
      if (record.size() % 8 != 0) std::memset(payload + round_down(record.size(), 8), 0, 8);
      if (!record.empty()) std::memcpy(payload, record.data(), record.size());
      to += frame_bytes(segment, record.size());
    }
    HF_RETURN_IF_ERROR(segment.put(at, begin, bytes));
    return first;
  }
};

}  // namespace

const Frames& checksum_frames() {
  static const ChecksumFrames frames;
  return frames;
}

}  // namespace holdfast::blocks::log_detail
