// line_set.hpp: which cache lines of a page were changed. One bit per line, up to 64 KiB of page.
//
// Marking costs two shifts; the runs of neighbouring lines come out in ascending order, so that
// they are copied in one piece.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include <holdfast/base/check.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::blocks {

class LineSet {
 public:
  static constexpr std::uint32_t kMaxLines = 64 * KiB / kCacheLineBytes;

  // Every line that holds a byte of [offset, offset + bytes) of the page.
  void mark(std::uint64_t offset_bytes, std::uint64_t bytes) {
    if (bytes == 0) return;
    const auto first = offset_bytes / kCacheLineBytes;
    const auto last = (offset_bytes + bytes - 1) / kCacheLineBytes;
    HF_DCHECK(last < kMaxLines);
    for (auto line = first; line <= last; ++line)
      words_[line / 64] |= std::uint64_t{1} << line % 64;
  }
  void mark_lines(std::uint32_t first, std::uint32_t count) {
    mark(std::uint64_t{first} * kCacheLineBytes, std::uint64_t{count} * kCacheLineBytes);
  }
  void merge(const LineSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] |= other.words_[i];
  }
  void clear() { words_ = {}; }

  bool contains(std::uint32_t line) const { return (words_[line / 64] >> line % 64 & 1) != 0; }
  bool empty() const { return words_ == decltype(words_){}; }
  std::uint32_t count() const {
    std::uint32_t lines = 0;
    for (const auto word : words_)
      lines += static_cast<std::uint32_t>(std::popcount(word));
    return lines;
  }
  // One more than the highest marked line; 0 if none is.
  std::uint32_t end() const {
    for (auto i = words_.size(); i > 0; --i) {
      if (words_[i - 1] != 0)
        return static_cast<std::uint32_t>(i * 64) -
               static_cast<std::uint32_t>(std::countl_zero(words_[i - 1]));
    }
    return 0;
  }

  // f(first line, lines) for each longest run of marked lines, ascending.
  template <class F>
  void for_each_run(F&& f) const {
    std::uint32_t first = 0, lines = 0;  // The run being gathered.
    for (std::uint32_t i = 0; i < words_.size(); ++i) {
      auto word = words_[i];
      while (word != 0) {
        const auto skip = static_cast<std::uint32_t>(std::countr_zero(word));
        const auto ones = static_cast<std::uint32_t>(std::countr_one(word >> skip));
        const auto begin = i * 64 + skip;
        if (lines != 0 && first + lines == begin) {
          lines += ones;
        } else {
          if (lines != 0) f(first, lines);
          first = begin, lines = ones;
        }
        const auto end = skip + ones;
        word = end == 64 ? 0 : word >> end << end;
      }
    }
    if (lines != 0) f(first, lines);
  }

  bool operator==(const LineSet&) const = default;

 private:
  std::array<std::uint64_t, kMaxLines / 64> words_{};
};

}  // namespace holdfast::blocks
