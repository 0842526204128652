// text_arena.hpp: memory for texts that go together.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/interface.hpp>

namespace holdfast::query {

// Memory for texts. clear() frees it.
class TextArena {
 public:
  char* take(std::uint64_t bytes) {
    if (bytes > left_) grow(bytes);
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }
  Text keep(Text text) {
    char* const place = take(text.size);
    if (text.size != 0) std::memcpy(place, text.data, text.size);
    return {place, text.size};
  }
  void clear() {
    blocks_.clear();
    next_ = nullptr;
    left_ = 0;
  }

 private:
  void grow(std::uint64_t size) {
    constexpr std::uint64_t kBlock = 64 * 1024;
    left_ = size > kBlock ? size : kBlock;
    blocks_.push_back(std::make_unique<char[]>(left_));
    next_ = blocks_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::uint64_t left_ = 0;
};

}  // namespace holdfast::query
