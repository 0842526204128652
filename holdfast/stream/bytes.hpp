// bytes.hpp: numbers and texts one behind the other in a string, and back: what checkpoints are
// made of.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace holdfast::stream {

class ByteWriter {
 public:
  void number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Past the end it reads zeros and empty texts, and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof value) return ok_ = false, 0;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (!ok_ || rest_.size() < size) return ok_ = false, std::string_view();
    const auto value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace holdfast::stream
