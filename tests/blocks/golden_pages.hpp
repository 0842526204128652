// golden_pages.hpp: what the golden page stores hold, and how their bytes are kept as text.
//
//   size BYTES
//   AAAAAAAA hex…     64 bytes at this offset (hexadecimal); lines of zeros are left out
//
// Both stores have 8 pages of 256 bytes. `whole` was flushed by copy-on-write, with one freed page.
// `unfinished` is as a crash leaves it between the stores of a micro-log flush: the record of page
// 2 is durable, and of its two lines only one had reached the slot.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <holdfast/blocks/page/page_store.hpp>

namespace holdfast::blocks {

inline constexpr std::uint32_t kGoldenPageBytes = 256;
inline constexpr std::uint32_t kGoldenPages = 8;
inline constexpr std::uint32_t kGoldenFreedPage = 3;
inline constexpr std::uint32_t kGoldenChangedPage = 2;

// What page `page` holds; `life` is 1 for its first content.
inline std::vector<std::byte> golden_content(std::uint32_t page, unsigned life) {
  std::vector<std::byte> content(kGoldenPageBytes);
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<std::byte>(page * 31 + life * 7 + i);
  return content;
}
// Lines 1 and 2 of the changed page are of its second life.
inline std::vector<std::byte> golden_changed_content() {
  auto content = golden_content(kGoldenChangedPage, 1);
  const auto second = golden_content(kGoldenChangedPage, 2);
  std::copy(second.begin() + 64, second.begin() + 192, content.begin() + 64);
  return content;
}

inline void write_golden(const std::string& path, const std::string& bytes) {
  std::ofstream file(path);
  file << "size " << bytes.size() << "\n" << std::hex;
  for (std::size_t at = 0; at < bytes.size(); at += kCacheLineBytes) {
    const auto line = bytes.substr(at, kCacheLineBytes);
    if (line.find_first_not_of('\0') == std::string::npos) continue;
    file << at << ' ';
    for (const char byte : line) {
      constexpr char kDigits[] = "0123456789abcdef";
      const auto value = static_cast<unsigned char>(byte);
      file << kDigits[value >> 4] << kDigits[value & 15];
    }
    file << "\n";
  }
}

// The bytes that `path` describes; empty if it cannot be read.
inline std::string read_golden(const std::string& path) {
  std::ifstream file(path);
  std::string word, hex;
  std::size_t size = 0;
  if (!(file >> word >> size) || word != "size") return {};
  std::string bytes(size, '\0');
  while (file >> word >> hex) {
    const auto at = std::stoull(word, nullptr, 16);
    for (std::size_t i = 0; i < hex.size() && at + i / 2 < size; i += 2)
      bytes[at + i / 2] = static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace holdfast::blocks
