// record_support.hpp: a record of format 2 as the format says it, byte by byte; and fields to fill
// one. Judges the kernels, so it shares nothing with them but one round of AES and the constants.
#pragma once

#include <cstring>
#include <vector>

#include <holdfast/kv/record_kernel.hpp>

namespace holdfast::kv {

struct TestRecord {
  std::vector<std::byte> key;
  std::vector<std::byte> value;
  std::uint64_t sequence = 41;
  std::uint64_t kind = 1;
  std::uint32_t ordinal = 5;
  std::uint64_t flags = 0;
  std::uint64_t keyspace = 0;
  std::uint64_t expiry = 0;

  RecordParts parts() const {
    return {sequence,
            record_size_word(value.size(), flags, keyspace),
            record_place_word(key.size(), kind, ordinal),
            expiry,
            key.data(),
            value.data()};
  }
};

inline std::vector<std::byte> pattern(std::size_t count, unsigned step) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < count; ++i)
    bytes.push_back(static_cast<std::byte>(i * step + 3));
  return bytes;
}

inline std::uint64_t word_of(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}
inline void put_word(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof word);
}

inline AesBlock model_rounds(AesBlock state, std::span<const AesBlock> keys) {
  for (const AesBlock& key : keys)
    state = aes_round_portable(state, key);
  return state;
}

// Of a record in which checksums, place and patchable words are zero.
inline std::uint64_t model_line_sum(const std::vector<std::byte>& record) {
  std::array<AesBlock, 4> lanes{};
  for (std::size_t at = 0; at < record.size(); at += 16) {
    AesBlock& lane = lanes[at / 16 % 4];
    const AesBlock data{{word_of(record, at), word_of(record, at + 8)}};
    const std::size_t i = at / 16 % 4 * 2;
    const AesBlock first{{kSumConstants.first[i], kSumConstants.first[i + 1]}};
    const AesBlock round{{kSumConstants.round[i], kSumConstants.round[i + 1]}};
    lane = at < 64 ? data ^ first : aes_round_portable(lane, data);
    lane = aes_round_portable(lane, round);
  }
  const AesBlock even = aes_round_portable(lanes[0], lanes[2]);
  const AesBlock odd = aes_round_portable(lanes[1], lanes[3]);
  return model_rounds(aes_round_portable(even, odd), kSumConstants.fold).words[0];
}

// The padded record.
inline std::vector<std::byte> model_record(const TestRecord& of, std::uint64_t seed,
                                           std::span<const std::uint32_t> patchable) {
  std::vector<std::byte> record(32 + (patchable.empty() ? 0 : 8));
  put_word(record, 8, of.sequence);
  put_word(record, 16, of.value.size() | of.flags << 40 | of.keyspace << 48);
  if (of.flags & 1) {
    record.resize(record.size() + 8);
    put_word(record, record.size() - 8, of.expiry);
  }
  record.insert(record.end(), of.key.begin(), of.key.end());
  record.resize(round_up(record.size(), 8));
  const std::size_t value_at = record.size();
  record.insert(record.end(), of.value.begin(), of.value.end());
  record.resize(round_up(record.size(), 64));

  std::vector<std::byte> fixed = record;
  AesBlock words = kSumConstants.word[0];
  bool has_words = false;
  for (const std::uint32_t offset : patchable) {
    if (offset + 8u > of.value.size()) break;
    has_words = true;
    words = model_rounds(words ^ AesBlock{{word_of(of.value, offset), offset}},
                         std::span(kSumConstants.word).subspan(1, 2));
    put_word(fixed, value_at + offset, 0);
  }
  const std::uint64_t place = of.key.size() | of.kind << 24 | std::uint64_t{of.ordinal} << 32;
  const AesBlock place_sum = model_rounds(AesBlock{{place, 0}} ^ kSumConstants.place[0],
                                          std::span(kSumConstants.place).subspan(1));
  const std::uint64_t sum = model_line_sum(fixed) + place_sum.words[0] + seed;
  put_word(record, 24, place);
  if (!patchable.empty()) put_word(record, 32, sum);
  put_word(record, 0,
           has_words ? sum + aes_round_portable(words, kSumConstants.word[3]).words[0] : sum);
  return record;
}

}  // namespace holdfast::kv
