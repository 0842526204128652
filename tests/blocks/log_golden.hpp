// log_golden.hpp: logs as small text files, for tests that logs of a released format open.
//
//   lsns 8 10 …       of the records, in their order; the texts are golden_log_records()
//   AAAAAAAA hex…     64 bytes at this offset (hexadecimal) of the region; zeros are left out
//   end BYTES         size of the region
#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "log_support.hpp"

namespace holdfast::blocks {

inline constexpr std::uint64_t kGoldenLogSegment = 8 * KiB;

// What a golden log holds. Its first records are truncated, and fill a segment of their own.
inline std::vector<std::string> golden_log_records() {
  std::vector<std::string> records;
  for (std::uint64_t i = 0; i < 12; ++i)
    records.push_back(pattern(i, i * i * 5));
  return records;
}

// Two lanes, groups, a truncation, an opening, and at the end a torn group.
inline void fill_golden_log(Region& region, const LogOptions& options) {
  const auto records = golden_log_records();
  {
    auto log = Log::create(region, whole(region), options).value();
    std::uint64_t dead = 0;
    while (log.free_segments() > 2)
      log.append(bytes(pattern(100 + dead++, 1'000))).value();
    const auto first = log.append(bytes(records[0])).value();
    log.truncate(first).value();
    const std::vector<Record> group{bytes(records[1]), bytes(records[2]), bytes(records[3])};
    log.append_many(group).value();
  }
  auto log = Log::open(region, whole(region)).value();
  auto second = log.appender().value();
  for (std::size_t i = 4; i < records.size(); ++i)
    (i % 2 == 0 ? log.append(bytes(records[i])) : second.append(bytes(records[i]))).value();
  std::vector<std::byte> before(region.data(), region.data() + region.size_bytes());
  log.append(bytes(pattern(200, 300))).value();
  // Of the last append every other changed line is lost.
  bool lost = false;
  for (std::uint64_t at = region.size_bytes(); at != 0;) {
    at -= kCacheLineBytes;
    if (std::memcmp(region.data() + at, before.data() + at, kCacheLineBytes) == 0) continue;
    lost = !lost;
    if (lost) std::memcpy(region.data() + at, before.data() + at, kCacheLineBytes);
  }
}

inline void write_golden_log(Region& region, const std::string& path) {
  std::vector<std::byte> image(region.data(), region.data() + region.size_bytes());
  std::ofstream file(path);
  file << "lsns";
  const auto found = entries(Log::open(region, whole(region)).value()).value();
  for (const auto& [lsn, record] : found)
    file << ' ' << lsn;
  file << "\n" << std::hex;
  for (std::uint64_t at = 0; at < image.size(); at += kCacheLineBytes) {
    const auto line = std::span(image).subspan(at, kCacheLineBytes);
    if (std::all_of(line.begin(), line.end(), [](auto byte) { return byte == std::byte{0}; }))
      continue;
    file << at << ' ';
    for (const auto byte : line)
      file << "0123456789abcdef"[static_cast<int>(byte) >> 4]
           << "0123456789abcdef"[static_cast<int>(byte) & 15];
    file << "\n";
  }
  file << std::dec << "end " << image.size() << "\n";
}

struct GoldenLogFile {
  std::vector<std::uint64_t> lsns;
  Region region;
};
inline GoldenLogFile read_golden_log(const std::string& path) {
  std::ifstream file(path);
  std::string word, hex;
  std::getline(file, word);
  std::istringstream numbers(word);
  GoldenLogFile golden{{}, dram(kPageBytes + 4 * kGoldenLogSegment)};
  numbers >> word;
  for (std::uint64_t lsn = 0; numbers >> lsn;)
    golden.lsns.push_back(lsn);
  while (file >> word >> hex && word != "end") {
    auto* to = golden.region.data() + std::stoull(word, nullptr, 16);
    for (std::size_t i = 0; i < hex.size(); i += 2)
      *to++ = static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return golden;
}

}  // namespace holdfast::blocks
