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
#include <cstring>

#include <holdfast/base/checksum.hpp>
#include <holdfast/blocks/log/frames.hpp>

namespace holdfast::blocks::log_detail {
namespace {

constexpr std::uint64_t kHeadBytes = 24;

// The part that does not know the LSN, so that it need not wait for it.
std::uint64_t hash_of(const Segment& segment, const std::byte* record, std::uint64_t length) {
  return checksum64({record, length}, segment.log_id + length);
}
std::uint64_t seal(std::uint64_t hash, std::uint64_t tag) { return mix64(hash + mix64(tag)); }

// Words and bytes on their way to consecutive places of a segment, by lines that are streamed. Of a
// line that begins or ends with what is not ours, our words are copied and written back.
class Lines {
 public:
  Lines(const Segment& segment, std::uint64_t at)
      : persist_(segment.persist()),
        to_(segment.data + round_down(at, kCacheLineBytes)),
        begin_(static_cast<unsigned>(at % kCacheLineBytes / 8)),
        filled_(begin_) {}
  void word(std::uint64_t value) {
    words_[filled_] = value;
    if (++filled_ == 8) pass_on();
  }
  // Zeros up to a multiple of 8.
  void bytes(const std::byte* from, std::uint64_t count) {
    std::uint64_t value = 0;
    for (; count >= 8; from += 8, count -= 8) {
      std::memcpy(&value, from, 8);
      word(value);
    }
    if (count == 0) return;
    value = 0;
    std::memcpy(&value, from, count);
    word(value);
  }
  // These lines have been written already.
  void skip(std::uint64_t count) { to_ += count; }
  // Zeros to the end of the line with padding.
  void finish(bool padded) {
    while (padded && filled_ != 0)
      word(0);
    if (filled_ > begin_) pass_on();
  }

 private:
  void pass_on() {
    if (begin_ == 0 && filled_ == 8) {
      persist_.stream_line(to_, words_);
    } else {
      persist_.copy(to_ + 8 * begin_, words_ + begin_, 8 * (filled_ - begin_));
      persist_.write_back(to_ + 8 * begin_, 8 * (filled_ - begin_));
    }
    to_ += kCacheLineBytes;
    begin_ = filled_ = 0;
  }

  const Persist persist_;
  std::byte* to_;            // The line.
  unsigned begin_, filled_;  // Words of it that we have: [begin_, filled_).
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
    if (persist.nt_evicts() && segment.padded) return append_streamed(segment, at, group);
    // Straight to the medium: a copy that is staged is read back before it has left the store
    // buffer, which waits for the fence before.
    const auto first = group.draw();  // Before records are read: lsn_clock.hpp.
    auto to = at, written_back = at;
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const auto tag = tagged(group.lsn(first, i), flags_of(group, i));
      auto* const head = segment.word(to);
      persist.store(head, tag);
      persist.store(head + 1, record.size());
      persist.store(head + 2, seal(hash_of(segment, record.data(), record.size()), tag));
      persist.copy(segment.data + to + kHeadBytes, record.data(), record.size());
      to += frame_bytes(segment, record.size());
      // Whole lines are on their way while the next record is hashed.
      const auto whole = i + 1 == group.records.size() ? to : round_down(to, kCacheLineBytes);
      if (whole > written_back) {
        persist.write_back(segment.data + written_back, whole - written_back);
        written_back = whole;
      }
    }
    return first;
  }

  bool read(const Segment& segment, std::uint64_t at, std::uint64_t after, std::uint64_t limit,
            Frame& frame, std::vector<std::byte>&) const override {
    if (at + kHeadBytes > segment.bytes) return false;
    std::uint64_t head[3];
    std::memcpy(head, segment.data + at, sizeof head);
    const auto lsn = lsn_of(head[0]);
    if (lsn <= after || lsn >= limit || head[1] > segment.bytes - at - kHeadBytes) return false;
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
    for (const auto at : {tail, group}) {
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
  // Straight to the medium past the caches. Whole lines of a record go first, from where they are:
  // they drain while it is hashed. A line that frames share is put together by words.
  Result<std::uint64_t> append_streamed(const Segment& segment, std::uint64_t at,
                                        const Group& group) const {
    const auto& persist = segment.persist();
    const auto first = group.draw();
    Lines lines(segment, at);
    for (std::size_t i = 0; i < group.records.size(); ++i) {
      const auto& record = group.records[i];
      const auto tag = tagged(group.lsn(first, i), flags_of(group, i));
      const auto payload = at + kHeadBytes;
      const auto begin = round_up(payload, kCacheLineBytes) - payload;
      const auto whole =
          record.size() < begin ? 0 : round_down(record.size() - begin, kCacheLineBytes);
      if (whole != 0) persist.stream(segment.data + payload + begin, record.data() + begin, whole);
      lines.word(tag);
      lines.word(record.size());
      lines.word(seal(hash_of(segment, record.data(), record.size()), tag));
      if (whole != 0) {
        lines.bytes(record.data(), begin);
        lines.skip(whole);
        lines.bytes(record.data() + begin + whole, record.size() - begin - whole);
      } else {
        lines.bytes(record.data(), record.size());
      }
      at += frame_bytes(segment, record.size());
    }
    lines.finish(segment.padded);
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
      const auto tag = tagged(group.lsn(first, i), flags_of(group, i));
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
