#include <holdfast/kv/record_writer.hpp>

#include <cstring>

namespace holdfast::kv {

void RecordWriter::write_frame(std::byte* to, std::uint64_t members_bytes, const RecordHead& head,
                               std::uint64_t seed) const {
  alignas(kCacheLineBytes) std::uint64_t line[kCacheLineBytes / sizeof(std::uint64_t)] = {};
  line[1] = head.sequence;
  line[2] = members_bytes | head.size_flags;
  line[3] = kind_word(RecordKind::kBatch, head);
  const RecordSums sums =
      record_sum_of(reinterpret_cast<const std::byte*>(line), sizeof line, seed, words_);
  line[0] = sums.whole;
  if (!words_.empty()) line[4] = sums.fixed;
  persist_.stream(to, line, sizeof line);
}

}  // namespace holdfast::kv
