#include <holdfast/olap/open_block.hpp>

#include <holdfast/base/mutant.hpp>

namespace holdfast::olap {
namespace {

enum class Verdict : std::uint8_t { kNone, kSome, kAll };

// Whether rows with values within the bounds pass.
Verdict judge(const ColumnInfo& bounds, std::span<const ByteRange> ranges) {
  for (const auto range : ranges) {
    if (range.from <= bounds.min && bounds.max <= range.to) return Verdict::kAll;
    if (range.from <= bounds.max && bounds.min <= HF_MUTANT("O05", range.to, range.from))
      return Verdict::kSome;
  }
  return Verdict::kNone;
}

}  // namespace

Result<bool> OpenBlock::open(std::size_t number) {
  number_ = number;
  info_ = &star_.catalogue().blocks[number];
  block_ = star_.block(number);
  filters_.clear();
  digits_.clear();
  late_columns_.clear();
  first_group_ = 0;
  for (const auto& predicate : query_.bytes) {
    const auto verdict = judge(info_->columns[predicate.column], predicate.ranges);
    if (verdict == Verdict::kNone) return false;
    if (verdict == Verdict::kAll) continue;
    HF_RETURN_IF_ERROR(use(predicate.column));
    filters_.push_back({bytes(predicate.column), predicate.ranges});
  }
  for (const auto& pairs : query_.pairs) {
    HF_RETURN_IF_ERROR(use_late(pairs.outer));
    HF_RETURN_IF_ERROR(use_late(pairs.inner));
  }
  for (const auto& digit : query_.digits) {
    HF_RETURN_IF_ERROR(use_late(digit.column));
    const auto& of = info_->columns[digit.column];
    if (of.constant())
      first_group_ += HF_MUTANT("O52", digit.add[of.min], 0);
    else
      digits_.push_back({bytes(digit.column), digit.add.data()});
  }
  HF_RETURN_IF_ERROR(open_sum());
  return true;
}

Status OpenBlock::use_late(Column column) {
  HF_RETURN_IF_ERROR(use(column));
  const std::byte* const late = bytes(column);
  if (late == nullptr) return {};
  for (const auto& filter : filters_) {
    if (filter.bytes == late) return {};
  }
  late_columns_.push_back({late, info_->columns[column].width});
  return {};
}

Status OpenBlock::open_sum() {
  const auto view = [&](Column column) {
    return PackedView(bytes(column), info_->columns[column]);
  };
  const auto first = query_.sum == Sum::kPriceTimesDiscount ? kExtendedPrice : kRevenue;
  HF_RETURN_IF_ERROR(use_late(first));
  measures_[0] = view(first);
  if (query_.sum == Sum::kProfit) {
    HF_RETURN_IF_ERROR(use_late(kSupplyCost));
    measures_[1] = view(kSupplyCost);
  }
  if (query_.sum == Sum::kPriceTimesDiscount) {
    HF_RETURN_IF_ERROR(use_late(kDiscount));
    discount_ = bytes(kDiscount);
    constant_discount_ = info_->columns[kDiscount].min;
  }
  return {};
}

bool OpenBlock::pairs_allow(std::uint32_t row) const {
  for (const auto& pairs : query_.pairs) {
    const auto at = value_at(block_, *info_, pairs.outer, row) * 256 +
                    value_at(block_, *info_, pairs.inner, row);
    if (!pairs.allowed[at]) return false;
  }
  return true;
}

}  // namespace holdfast::olap
