// fam_field.hpp: a value of 16 to 256 bytes that is replaced in place with one fence.
// Public header.
//
//   struct Account {                            // On the medium, the user's own.
//     FamField<Balance> balance;
//   };
//   account->balance.update(persist, next);     // Durable when it returns. One fence.
//   const Balance now = account->balance.read();
//   account->balance.recover(persist).value();  // Once after each crash, before any of these.
//
// Guarantee  After a crash and recover() the field holds the value of the last acknowledged update,
//            or of the one in flight.
// Invariants (1) Before an update starts, all blocks durably carry one version. Hence recover()
//                ends in a fence.
//            (2) At most one update of a field is not fenced. The only way to leave the fence to
//                later is FieldGroup, which fences before it touches a field again.
// Threads    One writer at a time and no reader beside it: the user's latch decides.
// Media      Line and byte granularity. Zeros are a valid field; nothing to create.
// Costs      8 bytes for each 31 bits: 16 -> 40 bytes, 64 -> 136, 256 -> 536. Aligned so that the
//            field begins on a line, 16 bytes are one line and one fence.
// Implements: van Renen et al., "Building Blocks for Persistent Memory" (VLDB Journal 2020),
// section 3.4.3 and appendix A. Deviations: the top bits are taken from the input (the printed
// listing loses them), every block keeps an old half of its own, and recovery persists.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <holdfast/base/result.hpp>
#include <holdfast/blocks/field/fam_kernels.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::blocks {

class FieldGroup;

namespace field_detail {

// Errors: kReadOnly, kUnsupported: a field's mapping that must not be stored to.
Status check_mapping(const Persist& persist);

// Rolls blocks that are one version ahead back. Stores only where needed; writes back all. Errors:
// kCorrupt (versions that no crash leaves).
Status fam_recover(const Persist& persist, std::uint64_t* blocks, std::size_t count);

}  // namespace field_detail

template <class T>
class FamField {
 public:
  using value_type = T;
  static_assert(
      std::is_trivially_copyable_v<T>,
      "FamField<T>: T is written as bytes, so it must be trivially copyable: no std::string");
  static_assert(
      sizeof(T) >= 16 && sizeof(T) <= 256,
      "FamField<T>: 16 to 256 bytes; a word of 8 is durable by one store, and longer values "
      "belong into pages or a log");
  static constexpr std::size_t kWords = (sizeof(T) + 3) / 4;
  static constexpr std::size_t kBlocks = field_detail::fam_blocks(kWords);

  T read() const {
    std::array<std::uint32_t, kWords> words;
    field_detail::default_fam_kernels().read(blocks_, words.data(), kWords);
    T value;
    std::memcpy(static_cast<void*>(&value), words.data(), sizeof value);
    return value;
  }

  void update(const Persist& persist, const T& value) {
    update_with(field_detail::default_fam_kernels(), persist, value);
  }
  // The same with kernels of a given width, for tests and benchmarks.
  void update_with(const field_detail::FamKernels& kernels, const Persist& persist,
                   const T& value) {
    HF_CHECK(persist.mapping() == Mapping::kWritable && "a field is stored to: see recover()");
    store(persist, value, kernels);
    persist.fence();
  }

  // One fence. Errors: kUnsupported (page media), kReadOnly, kCorrupt.
  Status recover(const Persist& persist) { return recover_all(persist, std::span(this, 1)); }
  // Several fields, one fence together.
  static Status recover_all(const Persist& persist, std::span<FamField> fields) {
    HF_RETURN_IF_ERROR(field_detail::check_mapping(persist));
    for (auto& field : fields)
      HF_RETURN_IF_ERROR(field_detail::fam_recover(persist, field.blocks_, kBlocks));
    persist.fence();
    return {};
  }

 private:
  friend class FieldGroup;
  // Stores and writes back; the caller fences.
  void store(const Persist& persist, const T& value, const field_detail::FamKernels& kernels) {
    std::array<std::uint32_t, kWords> words;
    if constexpr (sizeof(T) % 4 != 0) words.back() = 0;
    std::memcpy(words.data(), &value, sizeof value);
    persist.fill(blocks_, sizeof blocks_,
                 [&](void*) { kernels.update(blocks_, words.data(), kWords); });
    persist.write_back(blocks_, sizeof blocks_);
  }

  std::uint64_t blocks_[kBlocks];
};

}  // namespace holdfast::blocks
