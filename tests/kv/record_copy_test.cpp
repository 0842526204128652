// A record that moves is the record that would have been written there; a damaged one stays damaged.
#include <holdfast/kv/record_copy.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include <holdfast/base/random.hpp>
#include <holdfast/memory/cpu.hpp>

#include "record_support.hpp"

namespace holdfast::kv {
namespace {

constexpr std::uint64_t kFromSeed = 0x123456789abcdef0, kSeed = 0x0fedcba987654321;
using Offsets = std::vector<std::uint32_t>;

struct alignas(64) Lines {
  std::byte bytes[8192];
};

class RecordCopy : public testing::Test {
 protected:
  // Moves `original` with ordinal 77; returns what copy_record_by() says.
  bool copy(const std::vector<std::byte>& original, std::size_t key_bytes, const Offsets& offsets,
            RecordIsa isa, const Persist& persist) {
    std::memcpy(from_->bytes, original.data(), original.size());
    std::memset(to_->bytes, 0xcd, sizeof to_->bytes);
    const RecordMove move{from_->bytes, to_->bytes + 64, kFromSeed, kSeed,
                          record_place_word(key_bytes, 1, 77)};
    return copy_record_by(isa, persist, move, PatchableWords(offsets));
  }
  bool is_clear_around(std::size_t bytes) const {
    for (std::size_t i = 0; i < 64; ++i) {
      if (to_->bytes[i] != std::byte{0xcd} || to_->bytes[64 + bytes + i] != std::byte{0xcd})
        return false;
    }
    return true;
  }
  template <class Check>
  void for_every_kernel(Check&& check) {
    const std::array<Persist, 4> persists = {Persist::none(), Persist::byte(),
                                             Persist(cpu().write_back, false),
                                             Persist(cpu().write_back, true)};
    for (const auto isa : {RecordIsa::kPortable, RecordIsa::kAvx2, RecordIsa::kAvx512}) {
      if (isa > record_isa()) continue;
      for (const Persist& persist : persists)
        check(isa, persist);
    }
  }

  const std::vector<Offsets> kSets = {{}, {0}, {8, 24}, {0, 256, 560}};
  const std::unique_ptr<Lines> from_ = std::make_unique<Lines>(), to_ = std::make_unique<Lines>();
};

TEST_F(RecordCopy, IsTheRecordAtItsNewPlace) {
  for (const Offsets& offsets : kSets) {
    for (const std::size_t key_bytes : {0, 1, 16, 70}) {
      for (const std::size_t value_bytes : {0, 7, 8, 200, 1'000, 5'000}) {
        TestRecord record{pattern(key_bytes, 7), pattern(value_bytes, 11)};
        auto original = model_record(record, kFromSeed, offsets);
        // Words that changed in place since: the first checksum is of what they were.
        const std::size_t value_at = round_up(32 + (offsets.empty() ? 0 : 8) + key_bytes, 8);
        for (const std::uint32_t offset : offsets) {
          if (offset + 8 > value_bytes) break;
          put_word(original, value_at + offset, 0xfeed + offset);
          put_word(record.value, offset, 0xfeed + offset);
        }
        record.ordinal = 77;
        const auto expected = model_record(record, kSeed, offsets);
        for_every_kernel([&](RecordIsa isa, const Persist& persist) {
          ASSERT_TRUE(copy(original, key_bytes, offsets, isa, persist)) << value_bytes;
          ASSERT_EQ(std::memcmp(to_->bytes + 64, expected.data(), expected.size()), 0)
              << "isa " << static_cast<int>(isa) << ", key " << key_bytes << ", value "
              << value_bytes << ", words " << offsets.size();
          ASSERT_TRUE(is_clear_around(expected.size()));
        });
      }
    }
  }
}

TEST_F(RecordCopy, OfADamagedRecordIsDamagedAndSaysSo) {
  Random random(3);
  for (const Offsets& offsets : kSets) {
    const PatchableWords words(offsets);
    const TestRecord record{pattern(16, 7), pattern(700, 11)};
    const auto sound = model_record(record, kFromSeed, offsets);
    const std::size_t value_at = offsets.empty() ? 48 : 56;
    for_every_kernel([&](RecordIsa isa, const Persist& persist) {
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t bit = random.below(sound.size() * 8), at = bit / 8;
        // Lengths are judged before; the first checksum and patchable words are in no fixed sum.
        if (at >= 16 && at < 32) continue;
        if (!offsets.empty() && at < 8) continue;
        bool patchable = false;
        for (const std::uint32_t offset : offsets)
          patchable |= at / 8 == (value_at + offset) / 8;
        if (patchable) continue;
        auto damaged = sound;
        damaged[at] ^= static_cast<std::byte>(1 << bit % 8);
        ASSERT_FALSE(copy(damaged, 16, offsets, isa, persist)) << at;
        ASSERT_FALSE(is_record_fixed(to_->bytes + 64, damaged.size(), kSeed, words)) << at;
        ASSERT_FALSE(is_record_whole(to_->bytes + 64, damaged.size(), kSeed, words)) << at;
      }
    });
  }
}

}  // namespace
}  // namespace holdfast::kv
