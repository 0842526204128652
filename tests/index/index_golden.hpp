// index_golden.hpp: small indexes as text files, for tests that what a released build wrote opens.
//
//   AAAAAAAA hex…     64 bytes at this offset (hexadecimal) of the region; zeros are left out
//   end BYTES         size of the region
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <holdfast/index/fastfair/fastfair.hpp>
#include <holdfast/index/fptree/fptree.hpp>

#include "dash/byte_dash_support.hpp"
#include "index_support.hpp"

namespace holdfast::index {

// How a golden index is made and read. The name is that of its file.
template <class Index>
struct Golden;
template <>
struct Golden<Dash> {
  static constexpr const char* kName = "dash";
  static DashOptions options() { return small_byte_dash().dash; }
  template <class Visit>
  static Status each(const Dash& index, Visit&& visit) {
    return index.for_each(visit);
  }
};
template <>
struct Golden<NumberedBytes> {
  static constexpr const char* kName = "byte_dash";
  static NumberedOptions options() { return {}; }
  template <class Visit>
  static Status each(const NumberedBytes& index, Visit&& visit) {
    return index.each(visit);
  }
};
template <class Tree>
struct GoldenTree {
  template <class Visit>
  static Status each(const Tree& tree, Visit&& visit) {
    return tree.scan(0, [&](std::uint64_t key, std::uint64_t value) {
      visit(key, value);
      return true;
    });
  }
};
template <>
struct Golden<FpTree> : GoldenTree<FpTree> {
  static constexpr const char* kName = "fptree";
  static FpTreeOptions options() { return {.records = 6, .leaves = 20}; }
};
template <>
struct Golden<FastFair> : GoldenTree<FastFair> {
  static constexpr const char* kName = "fastfair";
  static FastFairOptions options() { return {.slots = 4, .nodes = 60}; }
};

inline constexpr std::uint64_t kGoldenBytes = 64 * KiB;

// Inserts in no order, updates, erases.
inline std::map<std::uint64_t, std::uint64_t> golden_records() {
  std::map<std::uint64_t, std::uint64_t> records;
  for (std::uint64_t i = 0; i < 30; ++i)
    records[i * 17 % 30 * 1'000'003] = i;
  records[0] = 4'711;
  records.erase(1'000'003 * std::uint64_t{7});
  return records;
}
template <class Index>
void fill_golden(Region& region) {
  const auto index = Index::create(region, blocks::whole(region), Golden<Index>::options()).value();
  for (std::uint64_t i = 0; i < 30; ++i)
    index->insert(i * 17 % 30 * 1'000'003, i).value();
  index->update(0, 4'711).value();
  index->erase(1'000'003 * std::uint64_t{7}).value();
}

inline void write_golden(const Region& region, const std::string& path) {
  std::ofstream file(path);
  file << std::hex;
  const std::span bytes(region.data(), region.size_bytes());
  for (std::uint64_t at = 0; at < bytes.size(); at += kCacheLineBytes) {
    const auto line = bytes.subspan(at, kCacheLineBytes);
    if (std::ranges::all_of(line, [](auto byte) { return byte == std::byte{0}; })) continue;
    file << at << ' ';
    for (const auto byte : line)
      file << "0123456789abcdef"[static_cast<int>(byte) >> 4]
           << "0123456789abcdef"[static_cast<int>(byte) & 15];
    file << "\n";
  }
  file << std::dec << "end " << bytes.size() << "\n";
}
inline void read_golden(Region& region, const std::string& path) {
  std::ifstream file(path);
  std::string word, hex;
  while (file >> word >> hex && word != "end") {
    auto* to = region.data() + std::stoull(word, nullptr, 16);
    for (std::size_t i = 0; i < hex.size(); i += 2)
      *to++ = static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
}

}  // namespace holdfast::index
