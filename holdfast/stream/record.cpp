#include "record.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::stream {
namespace {

// Of the columns that `has`.
template <class Has>
std::optional<RecordLayout> layout_of(const std::vector<sql::Column>& columns, const Has& has) {
  if (columns.size() > RecordLayout::kColumnsMax) return std::nullopt;
  RecordLayout layout;
  layout.bytes = 8;
  std::uint32_t strictest = 8;
  layout.offsets.resize(columns.size());
  const auto up_to = [](std::uint32_t bytes, std::uint32_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!has(i)) continue;
    const auto width = record_width(columns[i].type);
    strictest = std::max(strictest, width);
    layout.offsets[i] = up_to(layout.bytes, width);
    layout.bytes = layout.offsets[i] + width;
  }
  layout.bytes = up_to(layout.bytes, strictest);
  return layout;
}

template <class T>
T read_as(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

sql::Int128 read_number(const std::byte* place, std::uint32_t width) {
  switch (width) {
    case 1: return read_as<std::int8_t>(place);
    case 2: return read_as<std::int16_t>(place);
    case 4: return read_as<std::int32_t>(place);
    case 8: return read_as<std::int64_t>(place);
    default: return read_as<sql::Int128>(place);
  }
}

}  // namespace

std::uint32_t record_width(const sql::Type& type) {
  switch (type.kind) {
    case sql::Kind::kBoolean:
    case sql::Kind::kTinyInt: return 1;
    case sql::Kind::kSmallInt: return 2;
    case sql::Kind::kInt:
    case sql::Kind::kDate: return 4;
    case sql::Kind::kDecimal:
    case sql::Kind::kString:
    case sql::Kind::kArray:
    case sql::Kind::kRow:
    case sql::Kind::kMap: return 16;
    default: return 8;
  }
}

std::optional<RecordLayout> RecordLayout::of(const sql::Table& table) {
  return layout_of(table.columns,
                   [&](std::size_t column) { return table.computed[column] == nullptr; });
}

std::optional<RecordLayout> RecordLayout::of(const std::vector<sql::Column>& columns) {
  return layout_of(columns, [](std::size_t) { return true; });
}

void write_record(const sql::Table& table, const RecordLayout& layout, const sql::Row& row,
                  std::byte* out) {
  std::memset(out, 0, layout.bytes);  // What is NULL is 0, and no text.
  std::uint64_t nulls = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (table.computed[i] != nullptr) continue;
    const sql::Value& value = row[i];
    if (value.null) {
      nulls |= std::uint64_t{1} << i;
      continue;
    }
    const auto& type = table.columns[i].type;
    std::byte* const place = out + layout.offsets[i];
    if (type.is_bytes()) {
      const RecordText text{value.text.data(), value.text.size()};
      std::memcpy(place, &text, sizeof text);
    } else if (type.is_real()) {
      std::memcpy(place, &value.real, sizeof value.real);
    } else {
      std::memcpy(place, &value.number, record_width(type));  // The low bytes come first.
    }
  }
  std::memcpy(out, &nulls, sizeof nulls);
}

void read_record(const std::vector<sql::Column>& columns, const RecordLayout& layout,
                 const std::byte* record, sql::Row& row) {
  const auto nulls = read_as<std::uint64_t>(record);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto& value = row[i];
    value.null = (nulls >> i & 1) != 0;
    if (value.null) continue;
    const auto& type = columns[i].type;
    const auto* const place = record + layout.offsets[i];
    if (type.is_bytes()) {
      const auto text = read_as<RecordText>(place);
      value.text.assign(text.data, text.bytes);
    } else if (type.is_real()) {
      value.real = read_as<double>(place);
    } else {
      value.number = read_number(place, record_width(type));
    }
  }
}

}  // namespace holdfast::stream
