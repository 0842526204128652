// The sum of a record of any bytes: its header may say anything, and nothing behind the bytes that
// there are is read. They end where a page begins that cannot be read.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include <holdfast/base/check.hpp>
#include <holdfast/kv/record_kernel.hpp>

using namespace holdfast;
using namespace holdfast::kv;

// The first byte chooses the patchable words, the rest is the record, up to whole lines.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kRoom = 4 * kPageBytes;
  static std::byte* const pages = [] {
    void* const mapped = mmap(nullptr, kRoom + kPageBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HF_CHECK(mapped != MAP_FAILED);
    auto* const begin = static_cast<std::byte*>(mapped);
    HF_CHECK(mprotect(begin + kRoom, kPageBytes, PROT_NONE) == 0);
    return begin;
  }();
  if (size == 0 || size - 1 > kRoom) return 0;
  static const std::vector<std::vector<std::uint32_t>> kSets = {
      {}, {0}, {0, 8, 56}, {8, 504, 512, 4000}};
  const PatchableWords words(kSets[data[0] % kSets.size()]);
  const std::size_t bytes = round_up(size - 1 == 0 ? 1 : size - 1, kCacheLineBytes);
  std::byte* const record = pages + kRoom - bytes;
  std::memset(record, 0, bytes);
  std::memcpy(record, data + 1, size - 1);

  const RecordSums sums = record_sum_of(record, bytes, data[0], words);
  HF_CHECK(record_sum_by(RecordIsa::kPortable, record, bytes, data[0], words) == sums);
  // One flipped bit outside of what may be patched is found, by either of the two checksums.
  const std::uint64_t bit = data[size - 1] % (bytes * 8);
  record[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  if (bit >= 64 && !(bit >= 256 && bit < 320 && !words.empty()))
    HF_CHECK(record_sum_of(record, bytes, data[0], words) != sums);
  return 0;
}
