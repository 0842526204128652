// pool.hpp: memory for many small things that come and go.
//
// Costs  take() and give() O(1). What is given back is for others of about its size; all of it goes
//        with the pool.
// Threads  One at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/apart.hpp>

namespace holdfast::query {

class Pool {
 public:
  Pool();
  Pool(Pool&& other) noexcept;
  Pool& operator=(Pool&& other) noexcept;
  ~Pool();

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
  void grow(std::size_t size);

  Free* free_[kSmallClasses + 64] = {};  // By class.
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::uint64_t bytes_ = 0;
};

#ifndef HOLDFAST_APART

HF_APART Pool::Pool() {}
HF_APART Pool::Pool(Pool&& other) noexcept { *this = std::move(other); }
HF_APART Pool& Pool::operator=(Pool&& other) noexcept {
  blocks_ = std::exchange(other.blocks_, {});
  for (std::size_t i = 0; i < std::size(free_); ++i)
    free_[i] = std::exchange(other.free_[i], nullptr);
  next_ = std::exchange(other.next_, nullptr);
  left_ = std::exchange(other.left_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}
HF_APART Pool::~Pool() {}
HF_APART void Pool::grow(std::size_t size) {
  left_ = size > kBlock ? size : kBlock;
  bytes_ += left_;
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
  next_ = blocks_.back().get();
}

#endif

}  // namespace holdfast::query
