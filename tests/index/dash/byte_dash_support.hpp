// byte_dash_support.hpp: a ByteDash as an index from numbers to numbers, for tests that others share.
// Keys and values have lengths of their own: from none to some hundred bytes.
#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/dash/byte_dash.hpp>

#include "../index_support.hpp"

namespace holdfast::index {

inline std::string text_of(std::uint64_t number, std::uint64_t most = 150) {
  std::string text = std::to_string(number);
  return text + ":" + std::string(number * 37 % most, 'x');
}
inline std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return text == text_of(number) ? number : ~std::uint64_t{0};
}

// Small: segments of 4 KiB, a Dash of two buckets to the segment.
inline ByteDashOptions small_byte_dash() {
  ByteDashOptions options;
  options.log_bytes = 36 * KiB;
  options.segment_bytes = 4 * KiB;
  options.lanes = 1;
  options.dash.buckets = 2, options.dash.stash_buckets = 1;
  options.dash.segments = 4, options.dash.max_depth = 4;
  return options;
}

struct NumberedOptions {
  ByteDashOptions bytes = small_byte_dash();
  static inline std::uint64_t mask = ~std::uint64_t{0};  // Of hashes, of all of a test's.
};

class NumberedBytes {
 public:
  explicit NumberedBytes(std::unique_ptr<ByteDash> index) : index_(std::move(index)) {
    index_->mask_hashes(NumberedOptions::mask);
  }
  static Result<std::unique_ptr<NumberedBytes>> create(Region& region, const Extent& extent,
                                                       const NumberedOptions& options) {
    HF_ASSIGN_OR_RETURN(auto made, ByteDash::create(region, extent, options.bytes));
    return std::make_unique<NumberedBytes>(std::move(made));
  }
  static Result<std::unique_ptr<NumberedBytes>> open(Region& region, const Extent& extent) {
    HF_ASSIGN_OR_RETURN(auto opened, ByteDash::open(region, extent));
    return std::make_unique<NumberedBytes>(std::move(opened));
  }
  Result<std::uint64_t> find(std::uint64_t key) const {
    HF_ASSIGN_OR_RETURN(const auto found, index_->find(text_of(key)));
    return number_of(found);
  }
  Status insert(std::uint64_t key, std::uint64_t value) {
    return index_->insert(text_of(key), text_of(value));
  }
  Status put(std::uint64_t key, std::uint64_t value) {
    return index_->put(text_of(key), text_of(value));
  }
  Status update(std::uint64_t key, std::uint64_t value) {
    return index_->update(text_of(key), text_of(value));
  }
  Status erase(std::uint64_t key) { return index_->erase(text_of(key)); }
  template <class Visit>
  Status each(Visit&& visit) const {
    return index_->for_each([&](std::string_view key, std::string_view value) {
      visit(number_of(key), number_of(value));
    });
  }
  ByteDash& bytes() { return *index_; }

 private:
  std::unique_ptr<ByteDash> index_;
};

}  // namespace holdfast::index
