// bytes.hpp: keys and accumulators as the bytes that checkpoints hold. The interpreter writes and
// reads the same ones (sql/value.cpp, sql/aggregate.cpp), so that either goes on where the other
// was.
#pragma once

#include <string>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/values.hpp>

namespace holdfast::query {

void append_bytes(const void* from, std::size_t size, std::string& bytes);
template <class T>
void append_raw(const T& value, std::string& bytes) {
  append_bytes(&value, sizeof value, bytes);
}

template <class T>
bool take_raw(Text& bytes, T& value) {
  if (bytes.size < sizeof value) return false;
  std::memcpy(&value, bytes.data, sizeof value);
  bytes.data += sizeof value;
  bytes.size -= sizeof value;
  return true;
}

// One zero and one NaN: what is equal has equal bytes.
inline double canonical(double value) {
  return value != value ? __builtin_nan("") : value == 0 ? 0.0 : value;
}

// A byte that says whether it is there, then the value as it is: for state.
template <class T>
void append_exact_value(const Maybe<T>& value, std::string& bytes) {
  using Raw = std::conditional_t<std::is_same_v<T, Text>, std::uint32_t, T>;
  Raw raw;
  if constexpr (std::is_same_v<T, Text>)
    raw = static_cast<std::uint32_t>(value.value.size);
  else
    raw = value.value;
  char head[1 + sizeof raw] = {value.known ? '\1' : '\0'};
  std::memcpy(head + 1, &raw, sizeof raw);
  append_bytes(head, value.known ? sizeof head : 1, bytes);
  if constexpr (std::is_same_v<T, Text>) {
    if (value.known) append_bytes(value.value.data, value.value.size, bytes);
  }
}
// The same for keys.
template <class T>
void append_value(const Maybe<T>& value, std::string& bytes) {
  if constexpr (std::is_same_v<T, double>)
    append_exact_value(Maybe<double>{canonical(value.value), value.known}, bytes);
  else
    append_exact_value(value, bytes);
}

// A text points into `bytes`.
template <class T>
bool take_value(Text& bytes, Maybe<T>& value) {
  std::uint8_t known = 0;
  if (!take_raw(bytes, known) || known > 1) return false;
  value = {};
  if (known == 0) return true;
  value.known = true;
  if constexpr (std::is_same_v<T, Text>) {
    std::uint32_t size = 0;
    if (!take_raw(bytes, size) || bytes.size < size) return false;
    value.value = {bytes.data, size};
    bytes.data += size;
    bytes.size -= size;
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    std::uint8_t byte = 0;
    if (!take_raw(bytes, byte)) return false;
    value.value = byte != 0;
    return true;
  } else {
    return take_raw(bytes, value.value);
  }
}

// A value that stays: of a text its bytes.
template <class T>
class KeptValue {
 public:
  bool known() const { return known_; }
  Maybe<T> get() const {
    if constexpr (kText)
      return {Text{kept_.data(), kept_.size()}, known_};
    else
      return {kept_, known_};
  }
  void set(const Maybe<T>& value) {
    known_ = value.known;
    if (!known_) return;
    if constexpr (kText)
      kept_.assign(value.value.data, value.value.size);
    else
      kept_ = value.value;
  }
  void append(std::string& bytes) const { append_exact_value(get(), bytes); }
  bool take(Text& bytes) {
    Maybe<T> value;
    return take_value(bytes, value) && (set(value), true);
  }

 private:
  static constexpr bool kText = std::is_same_v<T, Text>;

  std::conditional_t<kText, std::string, T> kept_{};
  bool known_ = false;
};

// ---- Keys of the state, in the order of their bytes (graph/keys.hpp) ----

void append_ordered(std::int64_t value, std::string& bytes);
// Times, and numbers that count. False, and `value` as it was: there is none, or one that no run
// has written, and a sum with it might overflow.
bool take_ordered(Text& bytes, std::int64_t& value);
// Of a part that others follow.
void append_size(std::size_t size, std::string& bytes);
bool take_part(Text& bytes, Text& part);

#ifndef HOLDFAST_APART

HF_APART void append_bytes(const void* from, std::size_t size, std::string& bytes) {
  bytes.append(static_cast<const char*>(from), size);
}
HF_APART void append_ordered(std::int64_t value, std::string& bytes) {
  const auto swapped =
      __builtin_bswap64(static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63));
  append_raw(swapped, bytes);
}
HF_APART bool take_ordered(Text& bytes, std::int64_t& value) {
  std::uint64_t swapped = 0;
  if (!take_raw(bytes, swapped)) return false;
  const auto taken =
      static_cast<std::int64_t>(__builtin_bswap64(swapped) ^ (std::uint64_t{1} << 63));
  if (!sql::is_summable(taken)) return false;
  value = taken;
  return true;
}
HF_APART void append_size(std::size_t size, std::string& bytes) {
  append_raw(__builtin_bswap32(static_cast<std::uint32_t>(size)), bytes);
}
HF_APART bool take_part(Text& bytes, Text& part) {
  std::uint32_t size = 0;
  if (!take_raw(bytes, size)) return false;
  size = __builtin_bswap32(size);
  if (bytes.size < size) return false;
  part = {bytes.data, size};
  bytes.data += size;
  bytes.size -= size;
  return true;
}

#endif

}  // namespace holdfast::query
