#include "record.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::stream {

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
  if (table.columns.size() > kColumnsMax) return std::nullopt;
  RecordLayout layout;
  layout.bytes = 8;
  std::uint32_t strictest = 8;
  layout.offsets.resize(table.columns.size());
  const auto up_to = [](std::uint32_t bytes, std::uint32_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.computed[i] != nullptr) continue;
    const auto width = record_width(table.columns[i].type);
    strictest = std::max(strictest, width);
    layout.offsets[i] = up_to(layout.bytes, width);
    layout.bytes = layout.offsets[i] + width;
  }
  layout.bytes = up_to(layout.bytes, strictest);
  return layout;
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

}  // namespace holdfast::stream
