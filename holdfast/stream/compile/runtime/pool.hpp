// pool.hpp: memory for many small things that come and go.
//
// Costs  take() and give() O(1). What is given back is for others of about its size; all of it goes
//        with the pool.
// Threads  One at a time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::query {

class Pool {
 public:
  // Aligned to 8, and to 16 where 16 divides `bytes`.
  void* take(std::size_t bytes) {
    const auto number = class_of(bytes);
    if (auto* const place = free_[number]; place != nullptr) {
      free_[number] = place->next;
      return place;
    }
    const auto size = size_of(number);
    if (size % 16 == 0 && left_ % 16 != 0) left_ -= 8, next_ += 8;
    if (size > left_) grow(size);
    auto* const place = next_;
    next_ += size;
    left_ -= size;
    return place;
  }
  // What take() gave for so many bytes.
  void give(void* place, std::size_t bytes) {
    const auto number = class_of(bytes);
    free_[number] = new (place) Free{free_[number]};
  }
  // With what is free.
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kGrain = 8, kSmall = 1024, kBlock = 64 * 1024;
  static constexpr std::size_t kSmallClasses = kSmall / kGrain;

  // Steps of 8 bytes, then powers of two.
  static std::size_t class_of(std::size_t bytes) {
    if (bytes <= kSmall) return bytes == 0 ? 0 : (bytes - 1) / kGrain;
    return kSmallClasses + static_cast<std::size_t>(std::bit_width(bytes - 1)) - 11;
  }
  static std::size_t size_of(std::size_t number) {
    if (number < kSmallClasses) return (number + 1) * kGrain;
    return std::size_t{2} * kSmall << (number - kSmallClasses);
  }
  [[gnu::noinline]] void grow(std::size_t size) {
    left_ = size > kBlock ? size : kBlock;
    bytes_ += left_;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    next_ = blocks_.back().get();
  }

  std::array<Free*, kSmallClasses + 64> free_{};  // By class.
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace holdfast::query
