// waiting_entries.hpp: what a store is to write, given in any order, written in that of the keys.
//
// Groups come in the order of their hashes. In the order of its keys RocksDB's write buffer takes
// them in half the time: the place of each is beside that of the one before.
//
// Threads  One at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream {

class WaitingEntries {
 public:
  // `same`: all keys begin with so many bytes, which are the same in all.
  explicit WaitingEntries(std::size_t same) : same_(same) {}

  void put(std::string_view key, std::string_view state) { add(key, state, false); }
  void erase(std::string_view key) { add(key, {}, true); }
  // About what they take.
  std::size_t bytes() const { return bytes_.size() + entries_.size() * sizeof(Entry); }

  // visit(key, state, is_erased) of each, in the order of the keys, and of one key in the order in
  // which they were given. None waits then.
  template <class Visit>
  void take(Visit visit) {
    std::sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) {
      if (a.slice != b.slice) return a.slice < b.slice;
      if (a.group != b.group) return a.group < b.group;
      const auto order = key_of(a).compare(key_of(b));
      // Given earlier, it lies before.
      return order != 0 ? order < 0 : HF_MUTANT("RS5", a.at<b.at, a.at> b.at);
    });
    for (const auto& entry : entries_)
      visit(key_of(entry), std::string_view(bytes_).substr(entry.at + entry.key_bytes, entry.bytes),
            entry.is_erased);
    clear();
  }
  void clear() {
    entries_.clear();
    bytes_.clear();
  }

 private:
  struct Entry {
    std::uint64_t slice, group;  // The first 16 bytes in which keys differ: mostly they suffice.
    std::size_t at;              // In bytes_: the key, and behind it the state.
    std::size_t bytes;           // Of the state.
    std::uint32_t key_bytes;
    bool is_erased;
  };

  void add(std::string_view key, std::string_view state, bool is_erased) {
    entries_.push_back({number_at(key, same_), number_at(key, same_ + 8), bytes_.size(),
                        state.size(), static_cast<std::uint32_t>(key.size()), is_erased});
    bytes_ += key;
    bytes_ += state;
  }
  // Eight bytes as a number in whose order the bytes are. Behind the end there are zeros.
  static std::uint64_t number_at(std::string_view key, std::size_t at) {
    std::uint64_t bytes = 0;
    if (at < key.size())
      std::memcpy(&bytes, key.data() + at, std::min<std::size_t>(8, key.size() - at));
    return __builtin_bswap64(bytes);
  }
  std::string_view key_of(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.at, entry.key_bytes);
  }

  const std::size_t same_;
  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace holdfast::stream
