// golden_file.hpp: a store's files as one small text file. Long runs of zeros are left out.
//
//   segment_bytes N
//   AAAAAAAA hex…     64 bytes at this offset (hexadecimal) of the segments laid end to end
//   end BYTES         total size
#pragma once

#include <sstream>

#include "damage.hpp"

namespace holdfast::kv {

inline void write_golden(const Image& image, const std::string& path) {
  std::ofstream file(path);
  file << "segment_bytes " << image.geometry().segment_bytes << "\n" << std::hex;
  constexpr std::uint64_t kLine = 64;
  for (std::uint64_t at = 0; at < image.size(); at += kLine) {
    const std::string_view line = std::string_view(image.bytes()).substr(at, kLine);
    if (line.find_first_not_of('\0') == std::string_view::npos) continue;
    file << at << ' ';
    for (const char byte : line) {
      constexpr char kDigits[] = "0123456789abcdef";
      const auto value = static_cast<unsigned char>(byte);
      file << kDigits[value >> 4] << kDigits[value & 15];
    }
    file << "\n";
  }
  file << std::dec << "end " << image.size() << "\n";
}

// The bytes that `path` describes; none if it cannot be read.
inline std::string read_golden(const std::string& path, std::uint64_t& segment_bytes) {
  std::ifstream file(path);
  std::string word, hex, bytes;
  std::uint64_t total = 0;
  if (!(file >> word >> segment_bytes) || word != "segment_bytes") return {};
  while (file >> word) {
    if (word == "end") {
      file >> total;
      break;
    }
    if (!(file >> hex)) return {};
    const std::uint64_t at = std::stoull(word, nullptr, 16);
    if (bytes.size() < at + hex.size() / 2) bytes.resize(at + hex.size() / 2);
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      bytes[at + i / 2] = static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
  }
  if (total == 0 || total % segment_bytes != 0) return {};
  bytes.resize(total);
  return bytes;
}

// Makes the directory of segment files that `path` describes; false if it cannot be read.
inline bool unpack_golden(const std::string& path, const std::string& directory) {
  std::uint64_t segment_bytes = 0;
  const std::string bytes = read_golden(path, segment_bytes);
  if (bytes.empty()) return false;
  std::filesystem::create_directory(directory);
  for (std::uint64_t i = 0; i * segment_bytes < bytes.size(); ++i) {
    std::ofstream(Image::path(directory, i), std::ios::binary)
        .write(bytes.data() + i * segment_bytes, static_cast<std::streamsize>(segment_bytes));
  }
  return true;
}

}  // namespace holdfast::kv
