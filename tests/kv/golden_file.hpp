// golden_file.hpp: a store's files as one small text file. Long runs of zeros are left out.
//
//   segment_bytes N
//   AAAAAAAA hex…     64 bytes at this offset (hexadecimal) of the segments laid end to end
//   end BYTES         total size
//
// Likewise a directory of a few files, a backup; each begins with
//
//   file NAME
#pragma once

#include <filesystem>
#include <map>
#include <sstream>

#include "damage.hpp"

namespace holdfast::kv {

inline void write_golden_lines(std::ostream& file, std::string_view bytes) {
  constexpr std::uint64_t kLine = 64;
  file << std::hex;
  for (std::uint64_t at = 0; at < bytes.size(); at += kLine) {
    const std::string_view line = bytes.substr(at, kLine);
    if (line.find_first_not_of('\0') == std::string_view::npos) continue;
    file << at << ' ';
    for (const char byte : line) {
      constexpr char kDigits[] = "0123456789abcdef";
      const auto value = static_cast<unsigned char>(byte);
      file << kDigits[value >> 4] << kDigits[value & 15];
    }
    file << "\n";
  }
  file << std::dec << "end " << bytes.size() << "\n";
}

inline void write_golden(const Image& image, const std::string& path) {
  std::ofstream file(path);
  file << "segment_bytes " << image.geometry().segment_bytes << "\n";
  write_golden_lines(file, image.bytes());
}

// The bytes of the next file; none if they cannot be read.
inline std::string read_golden_lines(std::istream& file) {
  std::string word, hex, bytes;
  std::uint64_t total = 0;
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
  bytes.resize(total);
  return bytes;
}

// The bytes that `path` describes; none if it cannot be read.
inline std::string read_golden(const std::string& path, std::uint64_t& segment_bytes) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word >> segment_bytes) || word != "segment_bytes") return {};
  std::string bytes = read_golden_lines(file);
  return bytes.size() % segment_bytes == 0 ? bytes : std::string();
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

inline void write_golden_files(const std::string& directory, const std::string& path) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::ofstream out(path);
  for (const auto& [name, bytes] : files) {
    out << "file " << name << "\n";
    write_golden_lines(out, bytes);
  }
}

// How many files there were.
inline int unpack_golden_files(const std::string& path, const std::string& directory) {
  std::ifstream file(path);
  std::string word, name;
  int files = 0;
  std::filesystem::create_directory(directory);
  for (; file >> word >> name && word == "file"; ++files) {
    const std::string bytes = read_golden_lines(file);
    std::ofstream(directory + "/" + name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  return files;
}

}  // namespace holdfast::kv
