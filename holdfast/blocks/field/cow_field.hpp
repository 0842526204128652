// cow_field.hpp: a value in two copies: an update writes the other copy, then turns a selector.
// Public header.
//
// Guarantee  After a crash and recover() the field holds the value of the last acknowledged update,
//            or of the one in flight.
// Invariant  The copy is durable before the selector turns to it: two fences. Both use ordinary
//            stores; streaming stores have no order between selector and data.
// Threads    One writer at a time and no reader beside it.
// Media      Line and byte granularity. Zeros are a valid field that holds zeros.
// Costs      2 n + 8 bytes; two fences, two lines for 16 bytes where it begins on a line.
// Implements: van Renen et al., section 3.4.1.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <holdfast/base/result.hpp>
#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::blocks {

template <class T>
class CowField {
 public:
  using value_type = T;
  static_assert(
      std::is_trivially_copyable_v<T>,
      "CowField<T>: T is written as bytes, so it must be trivially copyable: no std::string");

  T read() const {
    T value;
    std::memcpy(static_cast<void*>(&value), copies_[selector_ & 1], sizeof value);
    return value;
  }

  void update(const Persist& persist, const T& value) {
    HF_CHECK(persist.mapping() == Mapping::kWritable && "a field is stored to: see recover()");
    const auto other = (selector_ & 1) ^ 1;
    persist.copy(copies_[other], &value, sizeof value);
    persist.persist(copies_[other], sizeof value);
    persist.store(&selector_, other);
    persist.persist(&selector_, sizeof selector_);
  }

  // Makes durable what a killed process may have left in the cache. One fence. Errors: kUnsupported
  // (page media), kReadOnly, kCorrupt.
  Status recover(const Persist& persist) {
    HF_RETURN_IF_ERROR(field_detail::check_mapping(persist));
    if (selector_ > 1) return Error{Errc::kCorrupt, "field: its selector is neither 0 nor 1"};
    persist.persist(this, sizeof *this);
    return {};
  }

 private:
  std::uint64_t selector_;
  alignas(8) std::byte copies_[2][(sizeof(T) + 7) / 8 * 8];
};

}  // namespace holdfast::blocks
