// sorted_keys.hpp: the keys of an index, copied and sorted.
//
// Threads    One; it has threads of its own. Others may change the index meanwhile: a key that is
//            there throughout is among them, others may be.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <holdfast/index/offset_map.hpp>
#include <holdfast/kv/records.hpp>

namespace holdfast::kv {

class SortedKeys {
 public:
  // Empty if `stop` is set before it ends.
  SortedKeys(const index::OffsetMap& map, const Records& records, EpochDomain& domain,
             unsigned threads, const std::atomic<bool>& stop);

  std::size_t size() const { return keys_.size(); }
  std::string_view operator[](std::size_t i) const { return keys_[i].text; }

 private:
  // Its first bytes decide nearly always, and spare a look at the rest.
  struct Key {
    std::uint64_t first;  // As a big-endian number, zeros behind a shorter key.
    std::string_view text;
    bool operator<(const Key& other) const {
      return first != other.first ? first < other.first : text < other.text;
    }
    static Key of(std::string_view text) {
      std::uint64_t first = 0;
      // The empty key may have no address: memcpy() of a null pointer is undefined.
      if (!text.empty()) std::memcpy(&first, text.data(), std::min(text.size(), sizeof first));
      return {__builtin_bswap64(first), text};
    }
  };
  // Copies of keys, which stay where they are.
  class Arena {
   public:
    std::string_view copy(std::string_view text);

   private:
    static constexpr std::size_t kChunkBytes = 1 << 20;
    std::vector<std::unique_ptr<char[]>> chunks_;
    std::size_t left_ = 0;
    char* next_ = nullptr;
  };
  using Run = std::vector<Key>;

  static void merge_all(std::vector<Run>& runs);

  std::vector<Arena> arenas_;  // A thread's each.
  Run keys_;
};

}  // namespace holdfast::kv
