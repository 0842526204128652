// far_key.hpp: bytes that are too long to lie in a page of the ordered index, in an allocation of
// their own.
//
// Threads    The thread that holds the page that points here.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

namespace holdfast::index::ordered {

struct FarKey {
  std::uint32_t length;

  // Null if the system has no memory.
  static FarKey* make(std::string_view bytes) {
    void* at = ::operator new(sizeof(FarKey) + bytes.size(), std::nothrow);
    if (at == nullptr) return nullptr;
    auto* key = new (at) FarKey{static_cast<std::uint32_t>(bytes.size())};
    std::memcpy(key + 1, bytes.data(), bytes.size());
    return key;
  }
  static void drop(FarKey* key) { ::operator delete(key); }

  std::string_view view() const { return {reinterpret_cast<const char*>(this + 1), length}; }
  std::uint64_t bytes() const { return sizeof(FarKey) + length; }
};

// The end of a leaf's range: short ones lie here, longer ones far. Owned by hand, since a leaf is
// copied as bytes when it is split: release() or a copy that is kept, never both.
class Fence {
 public:
  static constexpr std::uint32_t kNear = 20;

  // False if the system has no memory.
  bool assign(std::string_view bytes) {
    length_ = static_cast<std::uint32_t>(bytes.size());
    if (length_ <= kNear) {
      if (length_ != 0) std::memcpy(near_, bytes.data(), length_);
      return true;
    }
    FarKey* far = FarKey::make(bytes);
    if (far == nullptr) {
      length_ = 0;
      return false;
    }
    std::memcpy(near_, &far, sizeof far);
    return true;
  }
  void release() {
    if (length_ > kNear) FarKey::drop(far());
    length_ = 0;
  }
  std::string_view view() const {
    return length_ <= kNear ? std::string_view(near_, length_) : far()->view();
  }

 private:
  FarKey* far() const {
    FarKey* key;
    std::memcpy(&key, near_, sizeof key);
    return key;
  }

  std::uint32_t length_ = 0;
  char near_[kNear] = {};
};

}  // namespace holdfast::index::ordered
