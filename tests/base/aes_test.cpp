#include <holdfast/base/aes.hpp>

#include <gtest/gtest.h>

#include <holdfast/base/random.hpp>

namespace holdfast {
namespace {

AesBlock block(std::initializer_list<unsigned> bytes) {
  AesBlock result;
  unsigned at = 0;
  for (const unsigned byte : bytes) {
    result.words[at / 8] |= std::uint64_t{byte} << (at % 8 * 8);
    ++at;
  }
  return result;
}

// FIPS 197, appendix C.1.
const AesBlock kKey = block({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
const AesBlock kPlain = block({0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
                               0xbb, 0xcc, 0xdd, 0xee, 0xff});
const AesBlock kCipher = block({0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7,
                                0x80, 0x70, 0xb4, 0xc5, 0x5a});
const AesBlock kFirstKey = block({0xd6, 0xaa, 0x74, 0xfd, 0xd2, 0xaf, 0x72, 0xfa, 0xda, 0xa6, 0x78,
                                  0xf1, 0xd6, 0xab, 0x76, 0xfe});
const AesBlock kLastKey = block({0x13, 0x11, 0x1d, 0x7f, 0xe3, 0x94, 0x4a, 0x17, 0xf3, 0x07, 0xa7,
                                 0x8b, 0x4d, 0x2b, 0x30, 0xc5});
const AesBlock kAfterFirst = block({0x89, 0xd8, 0x10, 0xe8, 0x85, 0x5a, 0xce, 0x68, 0x2d, 0x18,
                                    0x43, 0xd8, 0xcb, 0x12, 0x8f, 0xe4});
const AesBlock kBeforeLast = block({0xbd, 0x6e, 0x7c, 0x3d, 0xf2, 0xb5, 0x77, 0x9e, 0x0b, 0x61,
                                    0x21, 0x6e, 0x8b, 0x10, 0xb6, 0x89});

TEST(Aes, RoundsGiveThePublishedValues) {
  EXPECT_EQ(aes_round_portable(kPlain ^ kKey, kFirstKey), kAfterFirst);
  EXPECT_EQ(aes_last_round_portable(kBeforeLast, kLastKey), kCipher);
}

TEST(Aes, KeysAndCipherGiveThePublishedValues) {
  const AesKeys keys = expand_aes_key(kKey);
  EXPECT_EQ(keys[0], kKey);
  EXPECT_EQ(keys[1], kFirstKey);
  EXPECT_EQ(keys[10], kLastKey);
  EXPECT_EQ(aes128_portable(keys, kPlain), kCipher);
}

[[gnu::target("aes")]] AesBlock by_instruction(const AesBlock& state, const AesBlock& key,
                                               bool is_last) {
  AesBlock result;
  _mm_store_si128(reinterpret_cast<__m128i*>(&result),
                  is_last ? aes_last_round(state.vector(), key.vector())
                          : aes_round(state.vector(), key.vector()));
  return result;
}

TEST(Aes, InstructionAndTablesAgree) {
  if (!cpu_has_aes()) GTEST_SKIP() << "this CPU has no AES instructions";
  Random random(1);
  AesBlock state;
  for (int i = 0; i < 20'000; ++i) {
    const AesBlock key{{random.next(), random.next()}};
    const AesBlock next = aes_round_portable(state, key);
    ASSERT_EQ(by_instruction(state, key, false), next) << i;
    ASSERT_EQ(by_instruction(state, key, true), aes_last_round_portable(state, key)) << i;
    state = next;
  }
}

}  // namespace
}  // namespace holdfast
