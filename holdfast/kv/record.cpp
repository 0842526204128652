#include <holdfast/kv/record.hpp>

#include <holdfast/kv/format_v1.hpp>

namespace holdfast::kv {
struct TempSums { std::uint64_t fixed, whole; };
TempSums temp_sums(const std::byte* header_and_body, std::uint64_t front, Bytes value, std::uint64_t padded, std::uint64_t header_bytes, std::uint64_t seed, std::span<const std::uint32_t> patchable);
namespace {

v1::Sums sums_of(const RecordView& record, std::uint32_t header_bytes, const SumRule& rule) {
  const std::uint64_t front = record.record_bytes() - record.value_bytes();
  if (rule.version1) {
    return v1::sums_of(record.header(), {record.bytes() + header_bytes, front - header_bytes},
                       record.value_span(), rule.seed, rule.patchable);
  }
  const auto s = temp_sums(record.bytes(), front, record.value_span(), record.padded_bytes(), header_bytes, rule.seed, rule.patchable);
  return {s.fixed, s.whole};
}

}  // namespace

bool RecordView::is_whole(const SumRule& rule) const {
  const v1::Sums sums = sums_of(*this, header_bytes_, rule);
  // The field with the fixed checksum is in no sum, so it is compared: a crash may have lost just
  // it.
  return sums.whole == header().checksum &&
         (rule.patchable.empty() || stored_fixed() == sums.fixed);
}

bool RecordView::is_sound(const SumRule& rule) const {
  if (rule.patchable.empty()) return is_whole(rule);
  return sums_of(*this, header_bytes_, rule).fixed == stored_fixed();
}

}  // namespace holdfast::kv
