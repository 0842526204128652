#include "interpreted_part.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/sql/evaluate.hpp>

namespace holdfast::stream {
namespace {

constexpr std::size_t kRows = 256;

class Rows final : public Batch {
 public:
  std::vector<sql::Row> values;
  std::vector<std::int64_t> watermarks;
};

}  // namespace

InterpretedPart::InterpretedPart(const sql::Plan& plan, std::size_t group_node,
                                 std::int64_t watermark, Give give)
    : plan_(plan),
      group_node_(group_node),
      group_(std::get<sql::Group>(plan.nodes[group_node].what), nullptr),
      watermark_(watermark) {
  group_.become_part(watermark, [give = std::move(give)](std::int64_t end, SliceMap slices) {
    if (!slices.empty()) give(end, std::make_unique<InterpretedParcel>(std::move(slices)));
  });
}

std::unique_ptr<Batch> InterpretedPart::make_batch() const {
  auto rows = std::make_unique<Rows>();
  rows->values.resize(kRows, sql::Row(plan_.source().columns.size()));
  rows->watermarks.resize(kRows);
  return rows;
}

void InterpretedPart::read(Source& source, Batch& batch) const {
  read_rows(source, static_cast<Rows&>(batch).values, batch);
}

Status InterpretedPart::prepare_row(sql::Row& row, std::int64_t& watermark) const {
  const auto& table = plan_.source();
  for (std::size_t i = 0; i < table.computed.size(); ++i) {
    if (table.computed[i] != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*table.computed[i], row, row[i]));
  }
  watermark = kNoWatermark;
  if (!table.has_watermark) return {};
  sql::Value value;
  HF_RETURN_IF_ERROR(sql::evaluate(*table.watermark, row, value));
  if (!value.null) watermark = static_cast<std::int64_t>(value.number);
  return {};
}

void InterpretedPart::prepare(Batch& batch, bool) {
  auto& rows = static_cast<Rows&>(batch);
  rows.highest = kNoWatermark;
  rows.unsound = {};
  for (rows.sound = 0; rows.sound < rows.rows; ++rows.sound) {
    auto& watermark = rows.watermarks[rows.sound];
    rows.unsound = prepare_row(rows.values[rows.sound], watermark);
    if (!rows.unsound) return;
    rows.highest = std::max(rows.highest, watermark);
  }
}

Status InterpretedPart::take(const Batch& batch, std::size_t& failed) {
  const auto& rows = static_cast<const Rows&>(batch);
  for (failed = 0; failed < rows.sound; ++failed) {
    HF_RETURN_IF_ERROR(take_row(rows.values[failed]));
    if (rows.watermarks[failed] > watermark_) HF_RETURN_IF_ERROR(advance(rows.watermarks[failed]));
  }
  return rows.unsound;
}

Status InterpretedPart::take_row(const sql::Row& row) {
  for (std::size_t node = 1; node < group_node_; ++node) {
    sql::Value value;
    HF_RETURN_IF_ERROR(
        sql::evaluate(*std::get<sql::Filter>(plan_.nodes[node].what).predicate, row, value));
    if (!value.is_true()) return {};
  }
  return group_.add(row);
}

Status InterpretedPart::advance(std::int64_t watermark) {
  if (watermark <= watermark_) return {};
  watermark_ = watermark;
  return group_.advance(watermark, [](sql::Row&) { return Status(); });
}

OperatorCounts InterpretedPart::counts() const {
  return {watermark_, group_.late_rows(), group_.rows_without_time(), 0};
}

}  // namespace holdfast::stream
