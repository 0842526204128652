// state_keys.hpp: the keys by which a store that has an order keeps the state of a query.
//
//   query (4 bytes), 'e', slice (8), the group's key, epoch (8)   an entry
//   query (4 bytes), 'b', slice (8), generation (8), epoch (8), number (4)   a block of entries
//   query (4 bytes), 'v', slice (8), epoch (8), number (4)        a block of entries that replace
//                                                                 one another
//   query (4 bytes), another letter                               what else the store has of it
//
// Numbers are big-endian, so that the order of the keys is theirs; the slice's sign is flipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::stream {

class StateKeys {
 public:
  static constexpr std::size_t kSliceBytes = 8, kEpochBytes = 8;

  explicit StateKeys(std::uint32_t query) {
    append_short(query, query_);
    entries_ = query_ + 'e';
    blocks_ = query_ + 'b';
    logs_ = query_ + 'v';
  }

  // What the keys of all entries begin with, and what is behind all of them.
  const std::string& entries() const { return entries_; }
  std::string behind_entries() const { return other('e' + 1); }
  std::string other(char letter) const { return query_ + letter; }
  // What those of a slice begin with, and what is behind them.
  std::string of_slice(std::int64_t slice) const {
    std::string key = entries_;
    append_number(ordered(slice), key);
    return key;
  }
  std::string behind_slice(std::int64_t slice) const {
    return slice == INT64_MAX ? behind_entries() : of_slice(slice + 1);
  }
  std::string of_entry(std::int64_t slice, std::string_view key, std::uint64_t epoch) const {
    std::string full;
    full.reserve(entries_.size() + kSliceBytes + key.size() + kEpochBytes);
    full = entries_;
    append_number(ordered(slice), full);
    full += key;
    append_number(epoch, full);
    return full;
  }

  // The same of blocks, whose order is that in which they were put.
  const std::string& blocks() const { return blocks_; }
  std::string blocks_of_slice(std::int64_t slice) const {
    std::string key = blocks_;
    append_number(ordered(slice), key);
    return key;
  }
  std::string of_generation(std::int64_t slice, std::uint64_t generation) const {
    std::string key = blocks_of_slice(slice);
    append_number(generation, key);
    return key;
  }
  std::string of_block(std::int64_t slice, std::uint64_t generation, std::uint64_t epoch,
                       std::uint32_t number) const {
    std::string key = of_generation(slice, generation);
    append_number(epoch, key);
    append_short(number, key);
    return key;
  }
  std::size_t block_bytes() const { return blocks_.size() + kSliceBytes + 2 * kEpochBytes + 4; }
  // Of a block's key, which has block_bytes().
  std::uint64_t generation_of_block(std::string_view key) const {
    return number_at(key.substr(blocks_.size() + kSliceBytes));
  }
  std::uint64_t epoch_of_block(std::string_view key) const {
    return number_at(key.substr(blocks_.size() + kSliceBytes + kEpochBytes));
  }

  // The same of entries that replace one another.
  const std::string& logs() const { return logs_; }
  std::string log_of_slice(std::int64_t slice) const {
    std::string key = logs_;
    append_number(ordered(slice), key);
    return key;
  }
  std::string of_log(std::int64_t slice, std::uint64_t epoch, std::uint32_t number) const {
    std::string key = log_of_slice(slice);
    append_number(epoch, key);
    append_short(number, key);
    return key;
  }
  std::size_t log_bytes() const { return logs_.size() + kSliceBytes + kEpochBytes + 4; }
  std::uint64_t epoch_of_log(std::string_view key) const {
    return number_at(key.substr(logs_.size() + kSliceBytes));
  }

  // Of both kinds of blocks.
  static std::uint32_t number_of_block(std::string_view key) {
    return static_cast<std::uint32_t>(number_at(key.substr(key.size() - 8)));
  }

  // The shortest key of an entry.
  std::size_t least_bytes() const { return entries_.size() + kSliceBytes + kEpochBytes; }
  // Of the key of an entry, which is no shorter, or of a block of either kind.
  std::int64_t slice_of(std::string_view key) const {
    return static_cast<std::int64_t>(number_at(key.substr(entries_.size())) ^ kSign);
  }
  static std::uint64_t epoch_of(std::string_view key) {
    return number_at(key.substr(key.size() - kEpochBytes));
  }

  static void append_number(std::uint64_t number, std::string& bytes) {
    for (int shift = 56; shift >= 0; shift -= 8)
      bytes += static_cast<char>(number >> shift);
  }
  // Its first eight bytes.
  static std::uint64_t number_at(std::string_view bytes) {
    std::uint64_t number = 0;
    for (const char c : bytes.substr(0, 8))
      number = number << 8 | static_cast<unsigned char>(c);
    return number;
  }

 private:
  static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  static void append_short(std::uint32_t number, std::string& bytes) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes += static_cast<char>(number >> shift);
  }
  static std::uint64_t ordered(std::int64_t slice) {
    return static_cast<std::uint64_t>(slice) ^ kSign;
  }

  std::string query_, entries_, blocks_, logs_;
};

}  // namespace holdfast::stream
