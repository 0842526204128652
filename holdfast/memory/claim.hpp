// claim.hpp: a range of a region that is in use by an object of this process.
//
// Guarantee  While a Claim lives, no other claim of a range that overlaps its own is granted. In a
//            read-only region claims are shared: its objects write nothing.
// Cost       A claim is a look at all others under a mutex. Nothing on any other path.
// Threads    Any.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast {

namespace memory_detail {
class Claims;
}

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

  void release();

 private:
  std::shared_ptr<memory_detail::Claims> claims_;
  std::uint64_t number_ = 0;
};

}  // namespace holdfast
