#include <holdfast/kv/record.hpp>

#include <holdfast/kv/format_v1.hpp>

namespace holdfast::kv {
namespace {

v1::Sums sums_of_version1(const RecordView& record, std::uint32_t header_bytes,
                          const SumRule& rule) {
  const std::uint64_t front = record.record_bytes() - record.value_bytes();
  return v1::sums_of(record.header(), {record.bytes() + header_bytes, front - header_bytes},
                     record.value_span(), rule.seed, rule.words.offsets());
}

}  // namespace

bool RecordView::is_whole(const SumRule& rule) const {
  if (!rule.version1) return is_record_whole(at_, padded_bytes(), rule.seed, rule.words);
  const v1::Sums sums = sums_of_version1(*this, header_bytes_, rule);
  // The field with the fixed checksum is in no sum, so it is compared: a crash may have lost just
  // it.
  return sums.whole == header().checksum && (rule.words.empty() || stored_fixed() == sums.fixed);
}

bool RecordView::is_sound(const SumRule& rule) const {
  if (rule.words.empty()) return is_whole(rule);
  if (!rule.version1) return is_record_fixed(at_, padded_bytes(), rule.seed, rule.words);
  return sums_of_version1(*this, header_bytes_, rule).fixed == stored_fixed();
}

}  // namespace holdfast::kv
