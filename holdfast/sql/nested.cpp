#include "nested.hpp"

#include <cstring>
#include <map>
#include <utility>

namespace holdfast::sql {
namespace {

constexpr std::size_t kCountBytes = sizeof(std::uint32_t);

bool has_count(Kind kind) { return kind != Kind::kRow; }

}  // namespace

NestedReader::NestedReader(std::string_view bytes, const Type& type) : type_(type), bytes_(bytes) {
  if (!has_count(type.kind)) {
    count_ = static_cast<std::uint32_t>(type.nested->fields.size());
    left_ = count_;
    return;
  }
  if (bytes_.size() < kCountBytes) return;
  std::memcpy(&count_, bytes_.data(), kCountBytes);
  bytes_.remove_prefix(kCountBytes);
  left_ = std::uint64_t{count_} * type.nested->fields.size();
}

bool NestedReader::next(Value& part) {
  if (left_ == 0 || !take_bytes(bytes_, part_type(), part)) return false;
  --left_;
  at_ = at_ + 1 == type_.nested->fields.size() ? 0 : at_ + 1;
  return true;
}

bool NestedReader::next(std::string_view& part) {
  const std::string_view before = bytes_;
  Value value;
  if (!next(value)) return false;
  part = before.substr(0, before.size() - bytes_.size());
  return true;
}

NestedWriter::NestedWriter(const Type& type) : type_(type) {
  if (has_count(type.kind)) bytes_.resize(kCountBytes);
}

bool NestedWriter::add(const Value& part) {
  append_bytes(part, type_.nested->fields[at_].type, bytes_);
  at_ = at_ + 1 == type_.nested->fields.size() ? 0 : at_ + 1;
  count_ += at_ == 0 ? 1 : 0;
  return bytes_.size() <= kMaxNestedBytes;
}

bool NestedWriter::add_bytes(std::string_view part) {
  bytes_ += part;
  at_ = at_ + 1 == type_.nested->fields.size() ? 0 : at_ + 1;
  count_ += at_ == 0 ? 1 : 0;
  return bytes_.size() <= kMaxNestedBytes;
}

Value NestedWriter::take() {
  if (has_count(type_.kind)) std::memcpy(bytes_.data(), &count_, kCountBytes);
  return Value::of_text(std::move(bytes_));
}

std::vector<Value> parts_of(const Value& value, const Type& type) {
  NestedReader reader(value.text, type);
  std::vector<Value> parts;
  Value part;
  while (reader.next(part))
    parts.push_back(std::move(part));
  return parts;
}

std::optional<Value> map_of(const std::vector<Value>& keys_and_values, const Type& type) {
  std::map<std::string, const Value*> entries;
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    std::string key;
    append_bytes(keys_and_values[i], type.nested->fields[0].type, key);
    entries[std::move(key)] = &keys_and_values[i + 1];
  }
  NestedWriter writer(type);
  for (const auto& [key, value] : entries) {
    writer.add_bytes(key);
    if (!writer.add(*value)) return std::nullopt;
  }
  return writer.take();
}

bool is_nested_value(std::string_view bytes, const Type& type) {
  if (has_count(type.kind) && bytes.size() < kCountBytes) return false;
  NestedReader reader(bytes, type);
  Value part;
  std::string_view part_bytes, key;
  for (std::uint64_t i = 0; !reader.is_done(); ++i) {
    if (!reader.next(part_bytes)) return false;
    if (type.kind != Kind::kMap || i % 2 == 1) continue;
    if (part_bytes.front() == '\0' || (i != 0 && part_bytes <= key)) return false;
    key = part_bytes;
  }
  return reader.rest().empty();
}

std::string nested_text(const Value& value, const Type& type) {
  NestedReader reader(value.text, type);
  std::string text = type.kind == Kind::kArray ? "[" : type.kind == Kind::kRow ? "(" : "{";
  Value part;
  for (bool first = true, key = true; !reader.is_done(); key = !key) {
    const Type& part_type = reader.part_type();
    if (!reader.next(part)) break;
    if (!std::exchange(first, false)) text += type.kind == Kind::kMap && !key ? "=" : ", ";
    text += part.null ? "NULL" : text_of(part, part_type);
  }
  return text + (type.kind == Kind::kArray ? "]" : type.kind == Kind::kRow ? ")" : "}");
}

}  // namespace holdfast::sql
