#include "columns.hpp"

#include <cstring>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/nested.hpp>

namespace holdfast::stream::foreign {

using sql::Kind;
using sql::Value;

namespace {

bool has_bounds(Kind kind) {
  return kind == Kind::kString || kind == Kind::kArray || kind == Kind::kMap;
}

// Bytes of a value, of those that have them one behind the other.
std::uint64_t width_of(Kind kind) { return kind == Kind::kDecimal ? 16 : 8; }

template <class T>
T load(std::string_view bytes, std::uint64_t number) {
  T value;
  std::memcpy(&value, bytes.data() + number * sizeof value, sizeof value);
  return value;
}

}  // namespace

bool ColumnReader::take(ByteReader& bytes, const sql::Type& type) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  type_ = type;
  count_ = bytes.number();
  offset_ = bytes.number();
  divisor_ = static_cast<std::int64_t>(bytes.number());
  valid_ = bytes.text();
  const auto end = offset_ + count_;
  if (!bytes.ok() || count_ > kMost || offset_ > 7 || divisor_ < 1) return false;
  if (!valid_.empty() && valid_.size() < (end + 7) / 8) return false;
  if (has_bounds(type.kind)) {
    bounds_ = bytes.text();
    if (bounds_.size() < 4 * (end + 1)) return false;
  }
  if (!type.is_nested()) {
    data_ = bytes.text();
    if (!bytes.ok()) return false;
    if (type.kind == Kind::kBoolean) return data_.size() >= (end + 7) / 8;
    return type.kind == Kind::kString || data_.size() >= width_of(type.kind) * end;
  }
  parts_.resize(type.nested->fields.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].take(bytes, type.nested->fields[i].type)) return false;
    if (type.kind == Kind::kRow && parts_[i].count() < count_) return false;
  }
  return type.kind != Kind::kMap || parts_[0].count() == parts_[1].count();
}

bool ColumnReader::bit(std::string_view bits, std::uint64_t number) const {
  const auto at = offset_ + number;
  return (static_cast<unsigned char>(bits[at / 8]) >> (at % 8) & 1) != 0;
}

bool ColumnReader::bounds(std::uint64_t number, std::uint64_t& begin, std::uint64_t& end) const {
  const std::int64_t first = load<std::int32_t>(bounds_, 0);
  const std::int64_t from = load<std::int32_t>(bounds_, offset_ + number) - first;
  const std::int64_t to = load<std::int32_t>(bounds_, offset_ + number + 1) - first;
  begin = static_cast<std::uint64_t>(from);
  end = static_cast<std::uint64_t>(to);
  const auto most = type_.kind == Kind::kString ? data_.size() : parts_[0].count();
  return from >= 0 && to >= from && end <= most;
}

bool ColumnReader::read(std::uint64_t number, Value& value) const {
  value.null = true;
  if (number >= count_) return false;
  if (!valid_.empty() && !bit(valid_, number)) return true;
  std::uint64_t begin = number, end = number + 1;
  if (has_bounds(type_.kind) && !bounds(number, begin, end)) return false;
  if (type_.is_nested()) return parts(begin, end, value);
  if (type_.kind != Kind::kString) return plain(number, value);
  const auto text = data_.substr(begin, end - begin);
  if (!is_valid_utf8(text)) return false;
  value = Value::of_text(std::string(text));
  return true;
}

bool ColumnReader::parts(std::uint64_t begin, std::uint64_t end, Value& value) const {
  Value part;
  if (type_.kind == Kind::kMap) {
    std::vector<Value> entries;
    for (auto i = begin; i < end; ++i) {
      for (const auto& half : parts_) {
        if (!half.read(i, part)) return false;
        if (&half == &parts_[0] && part.null) return false;
        entries.push_back(part);
      }
    }
    auto made = sql::map_of(entries, type_);
    if (!made) return false;
    value = *std::move(made);
    return true;
  }
  sql::NestedWriter writer(type_);
  for (auto i = begin; i < end; ++i) {
    for (const auto& one : parts_) {
      if (!one.read(i, part) || !writer.add(part)) return false;
    }
  }
  value = writer.take();
  return true;
}

bool ColumnReader::whole(std::uint64_t number, Value& value) const {
  const auto read = load<std::int64_t>(data_, offset_ + number);
  if (type_.kind == Kind::kTimestamp) {
    const auto ms = sql::floor_divide(read, divisor_);
    if (ms < sql::kMinTimestampMs || ms > sql::kMaxTimestampMs) return false;
    value = Value::of(ms);
    return true;
  }
  if (type_.kind == Kind::kDate) {
    const auto ms = static_cast<sql::Int128>(read) * sql::kDayMs;
    if (ms < sql::kMinTimestampMs || ms > sql::kMaxTimestampMs) return false;
  } else if (!sql::in_range(read, type_.kind)) {
    return false;
  }
  value = Value::of(read);
  return true;
}

bool ColumnReader::plain(std::uint64_t number, Value& value) const {
  switch (type_.kind) {
    case Kind::kBoolean: value = Value::of(bit(data_, number) ? 1 : 0); return true;
    case Kind::kFloat:
    case Kind::kDouble: value = Value::of_real(load<double>(data_, offset_ + number)); return true;
    case Kind::kDecimal: {
      const auto read = load<sql::Int128>(data_, offset_ + number);
      if (!sql::fits(read, type_.precision)) return false;
      value = Value::of(read);
      return true;
    }
    default: return whole(number, value);
  }
}

ColumnWriter::ColumnWriter(const sql::Type& type) : type_(type) {
  if (!type.is_nested()) return;
  for (const auto& field : type.nested->fields)
    parts_.emplace_back(field.type);
}

void ColumnWriter::add_bit(std::uint64_t number, bool set, std::string& bits) {
  if (number % 8 == 0) bits += '\0';
  if (set)
    bits.back() = static_cast<char>(static_cast<unsigned char>(bits.back()) | 1u << number % 8);
}

void ColumnWriter::add_bound(std::uint64_t bound) {
  const auto number = static_cast<std::int32_t>(bound);
  if (bounds_.empty()) bounds_.append(sizeof number, '\0');
  bounds_.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void ColumnWriter::add_parts(const Value& value) {
  if (type_.kind == Kind::kRow) {
    const auto fields =
        value.null ? std::vector<Value>(parts_.size()) : sql::parts_of(value, type_);
    for (std::size_t i = 0; i < parts_.size(); ++i)
      parts_[i].add(fields[i]);
    return;
  }
  if (!value.null) {
    std::size_t at = 0;
    for (const auto& part : sql::parts_of(value, type_)) {
      parts_[at].add(part);
      at = at + 1 == parts_.size() ? 0 : at + 1;
      if (at == 0) ++elements_;
    }
  }
  add_bound(elements_);
}

void ColumnWriter::add(const Value& value) {
  add_bit(count_, !value.null, valid_);
  if (type_.is_nested()) {
    add_parts(value);
  } else if (type_.kind == Kind::kString) {
    if (!value.null) data_ += value.text;
    add_bound(data_.size());
  } else if (type_.kind == Kind::kBoolean) {
    add_bit(count_, value.is_true(), data_);
  } else if (value.null) {
    data_.append(width_of(type_.kind), '\0');
  } else if (type_.is_real()) {
    data_.append(reinterpret_cast<const char*>(&value.real), sizeof value.real);
  } else {
    // Little-endian: the low bytes come first.
    data_.append(reinterpret_cast<const char*>(&value.number), width_of(type_.kind));
  }
  ++count_;
}

void ColumnWriter::end(std::string& bytes) {
  ByteWriter node;
  node.number(count_);
  node.number(0);
  node.number(1);
  node.text(valid_);
  if (has_bounds(type_.kind)) {
    if (bounds_.empty()) bounds_.append(sizeof(std::int32_t), '\0');
    node.text(bounds_);
  }
  if (!type_.is_nested()) node.text(data_);
  bytes += node.take();
  for (auto& part : parts_)
    part.end(bytes);
  count_ = elements_ = 0;
  valid_.clear(), bounds_.clear(), data_.clear();
}

}  // namespace holdfast::stream::foreign
