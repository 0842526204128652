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
    if (segment.paged() || (persist.nt_evicts() && segment.padded))
      return append_staged(segment, at, group, staging);
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
  // Whole lines at once: for streaming stores and for system calls.
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
