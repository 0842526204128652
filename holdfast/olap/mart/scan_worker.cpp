#include <holdfast/olap/mart/scan_worker.hpp>

#include <algorithm>
#include <numeric>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/row_order.hpp>

namespace holdfast::olap::mart {
namespace {

// Rows that a worker must keep of a plan without groups. One at least, so that there is a bound.
std::uint64_t rows_kept(const StarPlan& plan) {
  return plan.order.empty() ? StarPlan::kAll : std::max<std::uint64_t>(plan.first_rows(), 1);
}

enum class Verdict : std::uint8_t { kNone, kSome, kAll };

// Whether rows of a block pass, by the bounds of the column.
Verdict judge(const SlotFilter& filter, const IndexView& view, const ColumnInfo& bounds) {
  if (bounds.only_null()) return filter.passes[0] != 0 ? Verdict::kAll : Verdict::kNone;
  // The least code of a value is 0, or 1 where 0 is NULL.
  const auto first = view.base + (view.null_is_zero ? 1 : 0);
  const auto last = first + static_cast<std::uint32_t>(static_cast<std::uint64_t>(bounds.max) -
                                                       static_cast<std::uint64_t>(bounds.min));
  auto all = last - first + 1, passing = filter.passing(first, last);
  if (view.null_is_zero) ++all, passing += filter.passes[0];
  if (passing == 0) return HF_MUTANT("O28", Verdict::kNone, Verdict::kAll);
  return passing == all ? Verdict::kAll : Verdict::kSome;
}

}  // namespace

ScanWorker::ScanWorker(const StarPlan& plan, const PreparedPlan& prepared,
                       const IndexKernels& kernels)
    : plan_(plan),
      prepared_(prepared),
      kernels_(kernels),
      rows_buffer_(kChunkRows + 16),
      rows_kept_(rows_kept(plan)) {
  if (plan.grouped) groups_ = std::make_unique<Groups>(plan, prepared);
}

Result<bool> ScanWorker::open_filters(std::size_t number) {
  open_.clear();
  const auto& columns = prepared_.columns;
  const auto& info = columns.version().catalogue().tables[columns.table()].blocks[number];
  for (const auto& filter : prepared_.slots) {
    const auto view = columns.view(filter.slot, number);
    const auto verdict = judge(filter, view, info.columns[filter.slot]);
    if (verdict == Verdict::kNone) return false;
    if (verdict == Verdict::kSome) open_.emplace_back(&filter, view);
  }
  for (const auto& [filter, view] : open_)
    HF_RETURN_IF_ERROR(columns.version().use(columns.table(), number, filter->slot));
  return true;
}

Result<std::span<const std::uint32_t>> ScanWorker::passing(const Input& input, std::uint32_t first,
                                                           std::uint32_t count) {
  auto* rows = rows_buffer_.data();
  if (open_.empty()) {
    std::iota(rows, rows + count, first);
  } else {
    const auto& [filter, view] = open_.front();
    count = kernels_.select(view, filter->passes.data(), first, count, rows);
    for (std::size_t i = 1; i < open_.size(); ++i)
      count = refine(open_[i].second, open_[i].first->passes.data(), rows, count);
  }
  Vector truth;
  for (const auto& program : prepared_.filters) {
    if (count == 0) break;
    HF_RETURN_IF_ERROR(program.run(input, {rows, count}, truth));
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      rows[kept] = rows[i];
      kept += !truth.is_null(i) && truth.numbers[i] != 0;
    }
    count = kept;
  }
  return std::span<const std::uint32_t>(rows, count);
}

Status ScanWorker::add_block(std::size_t number, std::uint64_t most) {
  const auto& columns = prepared_.columns;
  const auto rows = columns.version().catalogue().tables[columns.table()].blocks[number].rows;
  counts_.rows += rows;
  ++counts_.blocks;
  HF_ASSIGN_OR_RETURN(const bool open, open_filters(number));
  if (!open) return {};
  ++counts_.read;
  const BlockInput input(columns, number);
  const auto before = collected();
  for (std::uint32_t first = 0; first < rows; first += kChunkRows) {
    HF_ASSIGN_OR_RETURN(const auto those,
                        passing(input, first, std::min(kChunkRows, rows - first)));
    counts_.passed += those.size();
    if (those.empty()) continue;
    if (!plan_.grouped) {
      HF_RETURN_IF_ERROR(collect(input, number, those));
      if (collected() - before >= HF_MUTANT("O43", most, 1)) return {};
      continue;
    }
    HF_RETURN_IF_ERROR(groups_->add(input, those));
  }
  return {};
}

bool ScanWorker::comes_before(const Placed& a, const Placed& b) const {
  const auto items = plan_.items.size();
  const int order = compare_rows(plan_.order, std::span(a.second).subspan(items),
                                 std::span(b.second).subspan(items));
  return order != 0 ? order < 0 : HF_MUTANT("O54", a.first < b.first, false);
}

void ScanWorker::drop_behind_limit() {
  const auto last = rows_.begin() + static_cast<std::ptrdiff_t>(rows_kept_ - 1);
  std::nth_element(rows_.begin(), last, rows_.end(),
                   [this](const auto& a, const auto& b) { return comes_before(a, b); });
  bound_ = *last;
  rows_.erase(last + 1, rows_.end());
}

// All outputs of all rows are computed, so that an error does not hang on which rows came before.
Status ScanWorker::collect(const Input& input, std::size_t block,
                           std::span<const std::uint32_t> rows) {
  outputs_.resize(prepared_.outputs.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    HF_RETURN_IF_ERROR(prepared_.outputs[i].run(input, rows, outputs_[i]));
  const auto items = plan_.items.size();
  Placed one;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    one.first = std::uint64_t{block} * kBlockRows + rows[i];
    one.second.resize(outputs_.size());
    const auto make = [&](std::size_t from, std::size_t to) {
      for (auto at = from; at < to; ++at)
        one.second[at] = outputs_[at].value(prepared_.outputs[at].type(), i);
    };
    make(items, outputs_.size());
    if (bound_ && HF_MUTANT("O55", !comes_before(one, *bound_), true)) continue;
    make(0, items);
    rows_.push_back(std::move(one));
  }
  // Seldom, so that a row costs a few comparisons.
  if (rows_.size() / 2 >= std::max<std::uint64_t>(rows_kept_, kChunkRows)) drop_behind_limit();
  return {};
}

void ScanWorker::merge(ScanWorker& other) {
  std::move(other.rows_.begin(), other.rows_.end(), std::back_inserter(rows_));
  other.rows_.clear();
}

std::vector<sql::Row> ScanWorker::take_rows() {
  std::sort(rows_.begin(), rows_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<sql::Row> rows;
  for (auto& [place, row] : rows_)
    rows.push_back(std::move(row));
  return rows;
}

}  // namespace holdfast::olap::mart
