// claims.hpp: which ranges of a region are in use by an object of this process.
//
// Guarantee  While a Claim lives, no other claim of a range that overlaps its own is granted. In a
//            read-only region claims are shared: its objects write nothing.
// Cost       A claim is a look at all others under a mutex. Nothing on any other path.
// Threads    Any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/memory/extent.hpp>

namespace holdfast {

namespace memory_detail {

class Claims {
 public:
  // Errors: kBusy, naming both ranges and the owner that was there before.
  Result<std::uint64_t> add(const Extent& extent, std::string_view owner, bool shared);
  void remove(std::uint64_t number);

 private:
  struct Entry {
    std::uint64_t number;
    Extent extent;
    std::string owner;
    bool shared;
  };
  Mutex mutex_;
  std::vector<Entry> entries_;
  std::uint64_t next_number_ = 1;
};

}  // namespace memory_detail

// A range that is claimed until this is destroyed. Made by Region::claim(). It may outlive the
// Region.
class [[nodiscard]] Claim {
 public:
  Claim() = default;  // Of nothing.
  Claim(std::shared_ptr<memory_detail::Claims> claims, std::uint64_t number)
      : claims_(std::move(claims)), number_(number) {}
  Claim(Claim&& other) noexcept = default;
  Claim& operator=(Claim&& other) noexcept {
    release();
    claims_ = std::move(other.claims_);
    number_ = other.number_;
    return *this;
  }
  ~Claim() { release(); }

  void release() {
    if (const auto claims = std::move(claims_)) claims->remove(number_);
  }

 private:
  std::shared_ptr<memory_detail::Claims> claims_;
  std::uint64_t number_ = 0;
};

}  // namespace holdfast
