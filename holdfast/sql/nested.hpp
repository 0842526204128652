// nested.hpp: values of ARRAY, ROW and MAP: one string of bytes, which is never changed.
//
// Format      an array: how many elements (32 bits), then each as append_bytes() of value.hpp
//             writes it. A row: its fields. A map: how many entries (32 bits), then keys and values
//             in the order of the keys' bytes, no key twice. Parts that are nested are so within.
//             A change of this format raises kNestedLayout.
// Invariants  (1) Equal values have equal bytes, so they are compared, hashed and grouped as texts
//             are. NULL equals NULL within.
//             (2) What take_bytes() lets in is of its type to the last byte. Readers rely on it.
// Bounds      A value has no more than kMaxNestedBytes, a type no more than kMaxTypeDepth levels,
//             so that what walks a value may call itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {

inline constexpr std::size_t kMaxNestedBytes = 16u << 20;
// The version of the format. It stands in the text of a plan, which a checkpoint keeps.
inline constexpr int kNestedLayout = 1;

// The parts of a value one behind the other: elements; fields; or key, value, key, value.
class NestedReader {
 public:
  NestedReader(std::string_view bytes, const Type& type);
  // Elements, fields or entries.
  std::uint32_t count() const { return count_; }
  // False: there is none left, or the bytes are none of the type.
  bool next(Value& part);
  // The same, of the part's bytes.
  bool next(std::string_view& part);
  bool is_done() const { return left_ == 0; }
  std::string_view rest() const { return bytes_; }
  const Type& part_type() const { return type_.nested->fields[at_].type; }

 private:
  const Type& type_;
  std::string_view bytes_;
  std::uint32_t count_ = 0;
  std::uint64_t left_ = 0;  // Parts.
  std::size_t at_ = 0;      // The field that the next part is.
};

// Puts an array or a row together. Parts are of their types.
class NestedWriter {
 public:
  explicit NestedWriter(const Type& type);
  // False: it is longer than kMaxNestedBytes now.
  bool add(const Value& part);
  bool add_bytes(std::string_view part);  // As append_bytes() wrote it.
  Value take();

 private:
  const Type& type_;
  std::string bytes_;
  std::uint32_t count_ = 0;
  std::size_t at_ = 0;
};

// One level below: all parts. Of a value that is not NULL.
std::vector<Value> parts_of(const Value& value, const Type& type);
// A map of keys and values in turn: of equal keys the last one. Nothing is NULL of the keys.
// nullopt: it is longer than kMaxNestedBytes.
std::optional<Value> map_of(const std::vector<Value>& keys_and_values, const Type& type);

bool is_nested_value(std::string_view bytes, const Type& type);
// [1, 2, NULL], (1, a), {a=1}: as Flink casts them to STRING.
std::string nested_text(const Value& value, const Type& type);

}  // namespace holdfast::sql
