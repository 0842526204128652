// Any bytes as failure-atomic fields and as their redo log: refused with a reason, or values that
// can be read, recovered again without a change, and replaced.
//
// Input: two bytes of flags. Then bytes that lie where the fields are, as many as the second flag
// says, over zeros or, if the first flag's lowest bit is set, over good fields by xor. Then records
// for the redo log (a byte of length each), whole in themselves, so that replay meets places and
// sizes that lie; with the first flag's second bit, places in the region or just behind it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <holdfast/base/check.hpp>
#include <holdfast/blocks/field/cow_field.hpp>
#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/blocks/field/log_field.hpp>

#include "fuzz_region.hpp"

namespace {

using namespace holdfast;          // NOLINT: a fuzz target of one file.
using namespace holdfast::blocks;  // NOLINT

constexpr std::uint64_t kLogAt = 8 * KiB, kBytes = kLogAt + 12 * KiB;

template <std::size_t N>
struct Bytes {
  std::uint8_t bytes[N];
  bool operator==(const Bytes&) const = default;
};

struct Place {
  alignas(kCacheLineBytes) FamField<Bytes<16>> fam16;
  alignas(kCacheLineBytes) FamField<Bytes<101>> fam101;
  alignas(kCacheLineBytes) FamField<Bytes<256>> fam256;
  alignas(kCacheLineBytes) CowField<Bytes<16>> cow16;
  alignas(kCacheLineBytes) CowField<Bytes<256>> cow256;
  alignas(kCacheLineBytes) LogField<Bytes<64>> logged;
};
static_assert(sizeof(Place) <= kLogAt);

Region& region() { return fuzz_region<kBytes>(); }

template <class Field>
void exercise(Field& field) {
  const auto& persist = region().persist();
  std::vector<std::byte> before(sizeof field);
  std::memcpy(before.data(), &field, sizeof field);
  if (const auto status = field.recover(persist); !status) {
    HF_CHECK(status.code() == Errc::kCorrupt && !status.error().detail.empty());
    HF_CHECK(std::memcmp(before.data(), &field, sizeof field) == 0);
    return;
  }
  const auto value = field.read();
  HF_CHECK(field.recover(persist).has_value());
  HF_CHECK(field.read() == value);
  auto next = value;
  for (auto& byte : next.bytes)
    byte = static_cast<std::uint8_t>(byte * 7 + 1);
  field.update(persist, next);
  HF_CHECK(field.read() == next);
  HF_CHECK(field.recover(persist).has_value());
  HF_CHECK(field.read() == next);
}

void exercise_log(std::span<const std::uint8_t> input, bool near) {
  const Extent extent{kLogAt, kBytes - kLogAt};
  LogOptions options;
  options.segment_bytes = 4 * KiB;
  options.lanes = 1;
  auto log = Log::create(region(), extent, options).value();
  auto& field = reinterpret_cast<Place*>(region().data())->logged;
  FieldLog redo(region(), log);
  Bytes<64> value{};
  value.bytes[0] = 1;
  HF_CHECK(field.update(redo, value).has_value());
  while (!input.empty()) {
    const auto length = std::min<std::size_t>(input[0], input.size() - 1);
    std::vector<std::uint8_t> record(input.begin() + 1, input.begin() + 1 + length);
    std::uint64_t place = 0;
    if (near && length >= sizeof place) {
      std::memcpy(&place, record.data(), sizeof place);
      place %= kBytes + 512;
      std::memcpy(record.data(), &place, sizeof place);
    }
    if (!log.append(std::as_bytes(std::span(record)))) break;
    input = input.subspan(1 + length);
  }
  const auto status = redo.recover();
  HF_CHECK(status.has_value() || status.code() == Errc::kCorrupt);
  if (!status) return;
  // The log itself is untouched, replaying it again changes nothing, and it can be used.
  {
    const Log gone = std::move(log);
  }
  auto reopened = Log::open(region(), extent);
  HF_CHECK(reopened.has_value());
  const std::vector<std::byte> fields(region().data(), region().data() + kLogAt);
  FieldLog again(region(), *reopened);
  HF_CHECK(again.recover().has_value());
  HF_CHECK(std::memcmp(fields.data(), region().data(), kLogAt) == 0);
  value.bytes[63] = 2;
  HF_CHECK(field.update(again, value).has_value());
  HF_CHECK(field.read() == value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const bool over_good = (data[0] & 1) != 0;
  std::span<const std::uint8_t> input(data + 2, size - 2);
  const auto of_fields = input.first(std::min<std::size_t>(input.size(), std::size_t{data[1]} * 8));
  auto* const memory = reinterpret_cast<std::uint8_t*>(region().data());
  std::memset(memory, 0, kBytes);
  auto& place = *reinterpret_cast<Place*>(memory);
  if (over_good) {
    const auto& persist = region().persist();
    place.fam16.update(persist, {});
    place.fam101.update(persist, {});
    place.fam256.update(persist, {});
    place.cow16.update(persist, {});
    place.cow256.update(persist, {});
  }
  for (std::size_t i = 0; i < std::min(of_fields.size(), sizeof(Place)); ++i)
    memory[i] ^= of_fields[i];
  exercise(place.fam16);
  exercise(place.fam101);
  exercise(place.fam256);
  exercise(place.cow16);
  exercise(place.cow256);
  exercise_log(input.subspan(of_fields.size()), (data[0] & 2) != 0);
  return 0;
}
