#include <holdfast/olap/mart/column_block.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/format.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/olap/block.hpp>

namespace holdfast::olap::mart {
namespace {

// Of a column's bytes with their slack.
std::uint64_t room(const ColumnInfo& info, std::uint32_t rows) {
  return info.width == 0 ? 0 : round_up(info.bytes(rows) + kSlackBytes, kCacheLineBytes);
}

std::uint32_t width_of(const ColumnInfo& info) {
  if (info.only_null()) return 0;
  const auto codes = static_cast<std::uint64_t>(info.max) - static_cast<std::uint64_t>(info.min) +
                     info.has_null;  // The largest code.
  if (codes == 0) return 0;
  return codes <= 0xff ? 8 : codes <= 0xffff ? 16 : codes <= 0xffffffff ? 32 : 64;
}

ColumnInfo bounds_of(const Words& words, std::size_t first, std::size_t count) {
  ColumnInfo info;
  info.min = 1, info.max = 0;
  for (std::size_t row = first; row < first + count; ++row) {
    if (words.is_null(row)) {
      info.has_null = 1;
      continue;
    }
    const auto value = words.values[row];
    if (info.only_null())
      info.min = info.max = value;
    else
      info.min = std::min(info.min, value), info.max = std::max(info.max, value);
  }
  info.width = width_of(info);
  return info;
}

template <class Code>
void put_codes(const ColumnInfo& info, const Words& words, std::size_t first, std::size_t count,
               std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto above = static_cast<std::uint64_t>(words.values[first + i]) -
                       static_cast<std::uint64_t>(info.min) + info.has_null;
    const auto code = static_cast<Code>(words.is_null(first + i) ? 0 : above);
    std::memcpy(to + i * sizeof code, &code, sizeof code);
  }
}

template <class Code>
void take_codes(const std::byte* from, const ColumnInfo& info, std::uint32_t count, Words& to) {
  for (std::uint32_t i = 0; i < count; ++i) {
    Code code;
    std::memcpy(&code, from + i * sizeof code, sizeof code);
    if (info.has_null != 0 && HF_MUTANT("O20", code == 0, false))
      to.add_null();
    else
      to.add(
          static_cast<std::int64_t>(static_cast<std::uint64_t>(info.min) + code - info.has_null));
  }
}

}  // namespace

EncodedBlock encode_block(const Table& table, std::span<const Words> columns, std::size_t first,
                          std::size_t count) {
  HF_CHECK(count > 0 && count <= kBlockRows && columns.size() == table.columns.size());
  EncodedBlock block;
  auto& info = block.info;
  info.rows = static_cast<std::uint32_t>(count);
  for (const auto& words : columns) {
    auto& of = info.columns.emplace_back(bounds_of(words, first, count));
    of.offset = info.bytes;
    info.bytes += room(of, info.rows);
  }
  block.bytes.resize(info.bytes);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto& of = info.columns[i];
    HF_CHECK(!table.columns[i].is_index() || (of.has_null == 0 && of.min >= 0));
    if (of.width == 0) continue;
    std::byte* to = block.bytes.data() + of.offset;
    switch (of.width) {
      case 8: put_codes<std::uint8_t>(of, columns[i], first, count, to); break;
      case 16: put_codes<std::uint16_t>(of, columns[i], first, count, to); break;
      case 32: put_codes<std::uint32_t>(of, columns[i], first, count, to); break;
      default: put_codes<std::uint64_t>(of, columns[i], first, count, to); break;
    }
    of.checksum = checksum64({to, of.bytes(info.rows)}, info.rows);
  }
  return block;
}

Status BlockInfo::check(const Table& table) const {
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::kCorrupt, "star: the directory of blocks of table " + escape(table.name) +
                                     ": " + what + "; load the tables into a new region"};
  };
  if (rows == 0 || rows > kBlockRows) return wrong("rows=" + std::to_string(rows));
  if (columns.size() != table.columns.size()) return wrong("a block has other columns");
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& of = columns[i];
    const bool whole = !of.only_null() || (of.min == 1 && of.max == 0 && of.has_null == 1);
    const bool index = !table.columns[i].is_index() || (of.has_null == 0 && of.min >= 0);
    if (!whole || !index || of.has_null > 1 || of.width != width_of(of) || of.offset != next)
      return wrong("column " + escape(table.columns[i].name) + " contradicts itself");
    next += room(of, rows);
  }
  if (next != bytes) return wrong("bytes=" + std::to_string(bytes));
  return {};
}

void decode(const std::byte* block, const ColumnInfo& info, std::uint32_t first,
            std::uint32_t count, Words& to) {
  if (info.only_null()) {
    for (std::uint32_t i = 0; i < count; ++i)
      to.add_null();
    return;
  }
  if (info.width == 0) {
    for (std::uint32_t i = 0; i < count; ++i)
      to.add(info.min);
    return;
  }
  const std::byte* from = block + info.offset + std::uint64_t{first} * info.width / 8;
  switch (info.width) {
    case 8: take_codes<std::uint8_t>(from, info, count, to); break;
    case 16: take_codes<std::uint16_t>(from, info, count, to); break;
    case 32: take_codes<std::uint32_t>(from, info, count, to); break;
    default: take_codes<std::uint64_t>(from, info, count, to); break;
  }
}

}  // namespace holdfast::olap::mart
