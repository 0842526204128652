// state_keys.hpp: the keys by which a store that has an order keeps the state of a query.
//
//   query (4 bytes), 'e', slice (8), the group's key, epoch (8)   an entry
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
    for (int shift = 24; shift >= 0; shift -= 8)
      query_ += static_cast<char>(query >> shift);
    entries_ = query_ + 'e';
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

  // The shortest key of an entry.
  std::size_t least_bytes() const { return entries_.size() + kSliceBytes + kEpochBytes; }
  // Of an entry's key, which is no shorter.
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
  static std::uint64_t ordered(std::int64_t slice) {
    return static_cast<std::uint64_t>(slice) ^ kSign;
  }

  std::string query_, entries_;
};

}  // namespace holdfast::stream
