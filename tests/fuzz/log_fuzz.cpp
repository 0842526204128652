// Any bytes as a log: it is refused with a reason, or it reads, appends, truncates and opens again.
//
// Input: flags, then patches (offset, value) to a small log that was made with records; without
// patches the input itself is the image. Checksums of header and segment headers are put right on
// demand, so that the fuzzer gets behind them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <holdfast/base/check.hpp>
#include <holdfast/base/checksum.hpp>
#include <holdfast/baselines/log_formats.hpp>
#include <holdfast/blocks/log/space.hpp>

#include "fuzz_region.hpp"

namespace {

using namespace holdfast;          // NOLINT: a fuzz target of one file.
using namespace holdfast::blocks;  // NOLINT

constexpr std::uint64_t kSegment = 8 * KiB, kBytes = 4 * KiB + 3 * kSegment;

Region& region() { return fuzz_region<kBytes>(); }

void exercise() {
  std::optional<Log> log;
  if (auto opened = Log::open(region(), whole(region()))) log.emplace(std::move(*opened));
  if (!log) return;
  std::uint64_t last = 0;
  for (auto reader = log->read();;) {
    const auto more = reader.next();
    if (!more || !*more) break;
    HF_CHECK(reader.lsn().value > last);
    last = reader.lsn().value;
    std::uint64_t sum = 0;
    for (const auto byte : reader.record())
      sum += static_cast<std::uint64_t>(byte);
    HF_CHECK(sum <= reader.record().size() * 255);
  }
  const std::byte record[100] = {};
  const auto lsn = log->append(record);
  if (!lsn) return;
  HF_CHECK(lsn->value > last);
  HF_CHECK(log->truncate(*lsn).has_value());
  log.reset();
  auto again = Log::open(region(), whole(region()));
  HF_CHECK(again.has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  auto& place = region();
  LogOptions options;
  baselines::register_log_formats();
  const auto formats = log_detail::registered_formats();
  options.format = formats[(data[0] & 0x7f) % formats.size()];
  options.padded = (data[0] & 0x80) != 0 || !log_detail::frames_of(options.format)->works_dense();
  options.segment_bytes = kSegment;
  options.lanes = 2;
  std::memset(place.data(), 0, kBytes);
  {
    auto log = Log::create(place, whole(place), options).value();
    const std::byte record[300] = {};
    for (int i = 0; i < 20; ++i)
      (void)log.append({record, static_cast<std::size_t>(i) * 13}).has_value();
  }
  const bool repair = (data[1] & 1) != 0;
  for (std::size_t at = 2; at + 11 <= size; at += 11) {
    std::uint64_t offset = 0, value = 0;
    std::memcpy(&offset, data + at, 2);
    std::memcpy(&value, data + at + 3, 8);
    offset = offset * 8 % kBytes;
    std::memcpy(place.data() + offset, &value, 8);
  }
  if (repair) {
    SuperblockHeader header;
    std::memcpy(&header, place.data(), sizeof header);
    if (header.id == 0) header.id = 1;  // 0 is nobody's, and cannot be sealed.
    header = sealed_header(header, log_detail::kLogSuperblock,
                           {place.data() + sizeof header, sizeof(log_detail::LogBody)});
    std::memcpy(place.data(), &header, sizeof header);
    for (std::uint32_t i = 0; i < 3; ++i) {
      auto* const begin = place.data() + 4 * KiB + i * kSegment;
      const auto sum = checksum64({begin, offsetof(log_detail::SegmentHeader, checksum)},
                                  mix64(header.id ^ (i + 1)));
      std::memcpy(begin + offsetof(log_detail::SegmentHeader, checksum), &sum, sizeof sum);
    }
  }
  exercise();
  return 0;
}
