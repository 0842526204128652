#include <holdfast/olap/block.hpp>

#include <algorithm>
#include <bit>
#include <string>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>

namespace holdfast::olap {
namespace {

void pack(std::span<const std::uint32_t> values, std::uint32_t min, std::uint32_t width,
          std::byte* to) {
  std::uint64_t pending = 0;
  unsigned bits = 0;
  for (const auto value : values) {
    pending |= std::uint64_t{value - min} << bits;
    bits += width;
    if (bits >= 32) {
      const auto word = static_cast<std::uint32_t>(pending);
      std::memcpy(to, &word, sizeof word);
      to += sizeof word;
      pending >>= 32;
      bits -= 32;
    }
  }
  if (bits > 0) std::memcpy(to, &pending, (bits + 7) / 8);
}

std::uint32_t width_of(Column column, std::uint32_t min, std::uint32_t max) {
  if (min == max) return 0;
  return is_byte_column(column) ? 8 : static_cast<std::uint32_t>(std::bit_width(max - min));
}

}  // namespace

EncodedBlock encode_block(const FactRows& rows, std::size_t first, std::size_t count) {
  HF_CHECK(count > 0 && count <= kMaxBlockRows);
  EncodedBlock block;
  auto& info = block.info;
  info.rows = static_cast<std::uint32_t>(count);
  std::uint64_t bytes = 0;
  for (Column column = 0; column < kColumns; ++column) {
    const std::span values(rows.columns[column].data() + first, count);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    auto& of = info.columns[column];
    of.min = *least, of.max = *most;
    of.width = width_of(column, of.min, of.max);
    of.offset = static_cast<std::uint32_t>(bytes);
    HF_CHECK(!is_byte_column(column) || of.max <= 255);
    bytes += column_room(info.rows, of.width);
  }
  info.bytes = bytes;
  block.bytes.resize(bytes);
  for (Column column = 0; column < kColumns; ++column) {
    auto& of = info.columns[column];
    if (of.constant()) continue;
    const std::span values(rows.columns[column].data() + first, count);
    std::byte* to = block.bytes.data() + of.offset;
    if (is_byte_column(column))
      std::transform(values.begin(), values.end(), to,
                     [](std::uint32_t value) { return static_cast<std::byte>(value); });
    else
      pack(values, of.min, of.width, to);
    of.checksum = checksum64({to, column_bytes(info.rows, of.width)}, info.rows);
  }
  return block;
}

Status BlockInfo::check() const {
  const auto wrong = [](const std::string& what) {
    return Error{Errc::kCorrupt,
                 "star: the directory of blocks: " + what + "; load the tables into a new region"};
  };
  if (rows == 0 || rows > kMaxBlockRows) return wrong("rows=" + std::to_string(rows));
  std::uint64_t next = 0;
  for (Column column = 0; column < kColumns; ++column) {
    const auto& of = columns[column];
    if (of.min > of.max || of.width != width_of(column, of.min, of.max) || of.offset != next ||
        (is_byte_column(column) && of.max > 255))
      return wrong("column " + std::string(kColumnNames[column]) + " contradicts itself");
    next += column_room(rows, of.width);
  }
  if (next != bytes) return wrong("bytes=" + std::to_string(bytes));
  return {};
}

std::uint32_t value_at(const std::byte* block, const BlockInfo& info, Column column,
                       std::uint32_t row) {
  const auto& of = info.columns[column];
  if (of.constant()) return of.min;
  const std::byte* bytes = block + of.offset;
  if (is_byte_column(column)) return static_cast<std::uint32_t>(bytes[row]);
  return PackedView(bytes, of)[row];
}

}  // namespace holdfast::olap
