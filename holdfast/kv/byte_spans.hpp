// byte_spans.hpp: several keys or values as bytes, whether they are texts or objects of one type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace holdfast::kv {

// Never of address null: what follows copies and compares also where there is nothing.
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data() == nullptr ? std::string_view("") : text));
}

// The same for what looks at no address where there is nothing.
inline std::span<const std::byte> raw_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteSpans {
 public:
  explicit ByteSpans(std::span<const std::string_view> texts)
      : first_(texts.data()), count_(texts.size()) {}
  // `count` objects of `bytes` each, side by side.
  ByteSpans(const void* objects, std::size_t bytes, std::size_t count)
      : first_(objects), object_bytes_(bytes), count_(count) {}

  std::size_t size() const { return count_; }
  ByteSpans first(std::size_t count) const {
    ByteSpans spans = *this;
    spans.count_ = count;
    return spans;
  }
  // Bytes of the largest of those from `first` on; 0: there is none.
  std::size_t largest(std::size_t first) const {
    std::size_t bytes = first < count_ ? object_bytes_ : 0;
    if (object_bytes_ != 0) return bytes;
    for (std::size_t i = first; i < count_; ++i)
      bytes = std::max(bytes, static_cast<const std::string_view*>(first_)[i].size());
    return bytes;
  }
  std::span<const std::byte> operator[](std::size_t i) const {
    const auto bytes = raw(i);
    return bytes.data() == nullptr ? bytes_of({}) : bytes;
  }
  // As raw_bytes().
  std::span<const std::byte> raw(std::size_t i) const {
    if (object_bytes_ != 0)
      return {static_cast<const std::byte*>(first_) + i * object_bytes_, object_bytes_};
    return raw_bytes(static_cast<const std::string_view*>(first_)[i]);
  }

 private:
  const void* first_;
  std::size_t object_bytes_ = 0;  // 0: texts.
  std::size_t count_;
};

}  // namespace holdfast::kv
