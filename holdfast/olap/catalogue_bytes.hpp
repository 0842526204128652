// catalogue_bytes.hpp: numbers and texts one behind the other, as catalogues and deltas have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/olap/block.hpp>

namespace holdfast::olap {

class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& to) : to_(to) {}
  template <class T>
  void number(T value) {
    bytes(&value, sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes(value.data(), value.size());
  }
  void bytes(const void* from, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(from);
    to_.insert(to_.end(), first, first + count);
  }

 private:
  std::vector<std::byte>& to_;
};

// Reads behind the end give zeros and are remembered.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> from) : from_(from) {}
  template <class T>
  T number() {
    T value{};
    bytes(&value, sizeof value);
    return value;
  }
  std::string text() {
    const auto size = count(1);
    std::string value(size, '\0');
    bytes(value.data(), size);
    return value;
  }
  // How many items follow, each at least `item_bytes` long: never more than there can be.
  std::size_t count(std::size_t item_bytes) {
    const auto value = number<std::uint32_t>();
    if (value <= from_.size() / item_bytes) return value;
    good_ = false;
    return 0;
  }
  void bytes(void* to, std::size_t count) {
    if (count > from_.size()) {
      good_ = false, from_ = {};
      return;
    }
    if (count > 0) std::memcpy(to, from_.data(), count);
    from_ = from_.subspan(count);
  }
  bool good() const { return good_; }
  bool done() const { return good_ && from_.empty(); }

 private:
  std::span<const std::byte> from_;
  bool good_ = true;
};

inline void write_block(ByteWriter& out, const BlockInfo& block) {
  out.number(block.offset);
  out.number(block.bytes);
  out.number(block.rows);
  for (const ColumnInfo& column : block.columns) {
    for (const auto number : {column.min, column.max, column.width, column.offset})
      out.number(number);
    out.number(column.checksum);
  }
}

inline constexpr std::size_t kBlockInfoBytes = 20 + kColumns * 24;

inline BlockInfo read_block(ByteReader& in) {
  BlockInfo block;
  block.offset = in.number<std::uint64_t>();
  block.bytes = in.number<std::uint64_t>();
  block.rows = in.number<std::uint32_t>();
  for (ColumnInfo& column : block.columns) {
    for (auto* number : {&column.min, &column.max, &column.width, &column.offset})
      *number = in.number<std::uint32_t>();
    column.checksum = in.number<std::uint64_t>();
  }
  return block;
}

}  // namespace holdfast::olap
