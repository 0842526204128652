// key_batch.hpp: the keys of a part of a leaf, copied out: what a scan works on without a latch.
//
// Threads    One at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::index::ordered {

class KeyBatch {
 public:
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t at) const {
    const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
    return std::string_view(bytes_).substr(begin, ends_[at] - begin);
  }

  // The keys of this batch are all that the index held in a range that ends here: reading forward
  // goes on at resume(), backward below it. False from more(): nothing lies there.
  bool more() const { return more_; }
  const std::string& resume() const { return resume_; }
  // Where the leaf lay that goes on, to ask for its memory and for nothing else.
  const void* next_leaf() const { return more_ ? next_leaf_ : nullptr; }

  // For the index.
  void clear() { used_ = 0, ends_.clear(), more_ = false; }
  // Before keys are appended from resume() on.
  void go_on() { more_ = false; }
  // The first ones go. O(those that stay).
  void drop(std::size_t count) {
    const std::size_t bytes = count == 0 ? 0 : ends_[count - 1];
    std::memmove(bytes_.data(), bytes_.data() + bytes, used_ -= bytes);
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t& end : ends_)
      end -= bytes;
  }
  void append(std::string_view key) {
    std::memcpy(room_for(key.size()), key.data(), key.size());
    added(key.size());
  }
  // Where the next key is to be written: of so many bytes, and kSlack that may be written behind.
  static constexpr std::size_t kSlack = 32;
  char* room_for(std::size_t bytes) {
    const std::size_t needed = used_ + bytes + kSlack;
    if (needed > bytes_.size()) [[unlikely]]
      bytes_.resize(std::max(2 * bytes_.size(), needed));
    return bytes_.data() + used_;
  }
  // It was written there.
  void added(std::size_t bytes) { ends_.push_back(used_ += bytes); }
  void set_resume(std::string_view key, const void* next_leaf = nullptr) {
    resume_ = key, more_ = true, next_leaf_ = next_leaf;
  }

 private:
  std::string bytes_;  // Of them the first used_.
  std::size_t used_ = 0;
  std::vector<std::size_t> ends_;
  std::string resume_;
  const void* next_leaf_ = nullptr;
  bool more_ = false;
};

}  // namespace holdfast::index::ordered
