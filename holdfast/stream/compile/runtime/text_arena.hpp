// text_arena.hpp: memory for texts that go together.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/interface.hpp>

namespace holdfast::query {

// Memory for texts. clear() frees it, but for the first of what there is.
class TextArena {
 public:
  TextArena();
  TextArena(TextArena&& other) noexcept;
  TextArena& operator=(TextArena&& other) noexcept;
  ~TextArena();
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
  // That were taken, with what was left at the end of blocks.
  std::uint64_t bytes() const { return bytes_ - left_; }
  void clear();

 private:
  static constexpr std::uint64_t kBlock = 64 * 1024;

  void grow(std::uint64_t size);

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::uint64_t left_ = 0, first_bytes_ = 0;
  std::uint64_t bytes_ = 0;  // Of all blocks.
};

#ifndef HOLDFAST_APART

HF_APART TextArena::TextArena() {}
HF_APART TextArena::TextArena(TextArena&& other) noexcept { *this = std::move(other); }
HF_APART TextArena& TextArena::operator=(TextArena&& other) noexcept {
  blocks_ = std::move(other.blocks_);
  next_ = std::exchange(other.next_, nullptr);
  left_ = std::exchange(other.left_, 0);
  first_bytes_ = std::exchange(other.first_bytes_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}
HF_APART TextArena::~TextArena() {}
HF_APART void TextArena::clear() {
  if (first_bytes_ != kBlock) blocks_.clear();
  if (!blocks_.empty()) blocks_.resize(1);
  next_ = blocks_.empty() ? nullptr : blocks_.front().get();
  bytes_ = left_ = blocks_.empty() ? 0 : kBlock;
}
HF_APART void TextArena::grow(std::uint64_t size) {
  left_ = size > kBlock ? size : kBlock;
  bytes_ += left_;
  if (blocks_.empty()) first_bytes_ = left_;
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
  next_ = blocks_.back().get();
}

#endif

}  // namespace holdfast::query
