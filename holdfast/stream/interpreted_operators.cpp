#include "interpreted_operators.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/stream/workers/interpreted_part.hpp>

namespace holdfast::stream {

bool InterpretedOperators::can_run(const sql::Plan& plan, bool at_the_end) {
  if (!plan.is_chain() || !std::holds_alternative<sql::Project>(plan.nodes.back().what) ||
      plan.late_rows != nullptr)
    return false;
  std::size_t breakers = 0;
  for (std::size_t i = 1; i + 1 < plan.nodes.size(); ++i) {
    const auto& what = plan.nodes[i].what;
    if (std::holds_alternative<sql::Filter>(what)) continue;
    const auto* group = std::get_if<sql::Group>(&what);
    const auto* windows = std::get_if<sql::AssignWindows>(&what);
    if (group == nullptr && windows == nullptr) return false;
    if (group != nullptr && (sql::depends_on_order(*group) || group->row_size != 0)) return false;
    if (group != nullptr && (group->by_columns || (!group->windowed && !at_the_end))) return false;
    if (group != nullptr ? group->window.cumulates : windows->window.cumulates) return false;
    ++breakers;
  }
  return breakers <= 1;
}

Status InterpretedOperators::can_split(const sql::Plan& plan, bool at_the_end) {
  bool grouped = false;
  for (const auto& node : plan.nodes) {
    const auto* group = std::get_if<sql::Group>(&node.what);
    if (group == nullptr) continue;
    grouped = true;
    if (group->row_size != 0)
      return Error{Errc::kUnsupported, "its windows count rows in the order in which they come"};
    if (group->lateness_ms != 0) return Error{Errc::kUnsupported, "late rows change its windows"};
  }
  if (plan.late_rows != nullptr) return Error{Errc::kUnsupported, "its late rows go to a table"};
  if (!can_run(plan, at_the_end))
    return Error{Errc::kUnsupported, "it is more than one chain of conditions and one group"};
  return grouped ? Status() : Error{Errc::kUnsupported, "its rows are not grouped"};
}

InterpretedOperators::InterpretedOperators(const sql::Plan& plan, Sink& sink, StateStore* store)
    : plan_(plan), sink_(sink), given_(plan.nodes.size()), row_(plan.source().columns.size()) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (const auto* group = std::get_if<sql::Group>(&plan.nodes[i].what)) {
      group_ = std::make_unique<GroupOperator>(*group, store);
      group_node_ = i;
    }
  }
}

Status InterpretedOperators::restore(const OperatorCounts& counts) {
  watermark_ = counts.watermark;
  rows_without_time_ = group_ == nullptr ? counts.rows_without_time : 0;
  if (group_ == nullptr) return {};
  group_->set_counters(counts.late_rows, counts.rows_without_time);
  return group_->restore(counts.watermark);
}

OperatorCounts InterpretedOperators::counts() const {
  OperatorCounts counts{watermark_, 0, rows_without_time_, rows_out_};
  if (group_ != nullptr) {
    counts.late_rows = group_->late_rows();
    counts.rows_without_time += group_->rows_without_time();
  }
  return counts;
}

std::vector<OperatorProgress> InterpretedOperators::operators() const {
  std::vector<OperatorProgress> all;
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    OperatorProgress progress;
    progress.node = node;
    progress.what = sql::text_of(plan_.nodes[node], plan_.nodes);
    progress.rows_in = given_[node == 0 ? 0 : node - 1];
    progress.rows_out = node + 1 == plan_.nodes.size() ? rows_out_ : given_[node];
    progress.watermark_ms = watermark_;
    if (group_ != nullptr && node == group_node_) {
      progress.late_rows = group_->late_rows();
      progress.rows_without_time = group_->rows_without_time();
      progress.entries = group_->entries();
      progress.state_bytes = group_->bytes();
    } else if (std::holds_alternative<sql::AssignWindows>(plan_.nodes[node].what)) {
      progress.rows_without_time = rows_without_time_;
    }
    all.push_back(std::move(progress));
  }
  return all;
}

std::set<std::int64_t> InterpretedOperators::stored_slices() const {
  return group_ == nullptr ? std::set<std::int64_t>() : group_->stored_slices();
}

Status InterpretedOperators::visit_entries(VisitEntry visit) const {
  return group_ == nullptr ? Status() : group_->visit_entries(visit);
}

std::unique_ptr<Part> InterpretedOperators::make_part(std::int64_t watermark,
                                                      Part::Give give) const {
  return std::make_unique<InterpretedPart>(plan_, group_node_, watermark, std::move(give));
}

void InterpretedOperators::absorb(Parcel& parcel) {
  group_->absorb(std::move(static_cast<InterpretedParcel&>(parcel).slices));
}

Result<Operators::Progress> InterpretedOperators::take(Source& source) {
  constexpr std::uint64_t kRows = 64;
  Progress progress;
  while (progress.rows < kRows) {
    HF_ASSIGN_OR_RETURN(const bool more, source.next(row_));
    progress.ended = !more && source.ended();
    if (!more) break;
    ++progress.rows;
    if (const Status taken = take_row(row_); !taken) {
      Error error = taken.error();
      error.detail += " (at " + source.place() + ")";
      return error;
    }
  }
  return progress;
}

// One row of the source: computed columns, the operators, then the watermark.
Status InterpretedOperators::take_row(sql::Row& row) {
  const auto& table = plan_.source();
  for (std::size_t i = 0; i < table.computed.size(); ++i) {
    if (table.computed[i] != nullptr)
      HF_RETURN_IF_ERROR(sql::evaluate(*table.computed[i], row, row[i]));
  }
  HF_RETURN_IF_ERROR(pass_on(1, row));
  return table.has_watermark ? follow_watermark(row) : Status();
}

Status InterpretedOperators::follow_watermark(const sql::Row& row) {
  sql::Value value;
  HF_RETURN_IF_ERROR(sql::evaluate(*plan_.source().watermark, row, value));
  if (value.null) return {};
  const auto watermark = static_cast<std::int64_t>(value.number);
  return watermark > watermark_ ? advance(watermark) : Status();
}

Status InterpretedOperators::advance(std::int64_t watermark) {
  watermark_ = std::max(watermark_, watermark);
  if (group_ == nullptr) return {};
  return group_->advance(watermark,
                         [this](sql::Row& row) { return pass_on(group_node_ + 1, row); });
}

Status InterpretedOperators::pass_on(std::size_t node, sql::Row& row) {
  for (; node < plan_.nodes.size(); ++node) {
    ++given_[node - 1];
    const auto& what = plan_.nodes[node].what;
    if (const auto* filter = std::get_if<sql::Filter>(&what)) {
      sql::Value value;
      HF_RETURN_IF_ERROR(sql::evaluate(*filter->predicate, row, value));
      if (!value.is_true()) return {};
    } else if (const auto* windows = std::get_if<sql::AssignWindows>(&what)) {
      return assign(*windows, node, row);
    } else if (std::holds_alternative<sql::Group>(what)) {
      return group_->add(row);
    } else if (const auto* project = std::get_if<sql::Project>(&what)) {
      sql::Row result(project->expressions.size());
      for (std::size_t i = 0; i < result.size(); ++i)
        HF_RETURN_IF_ERROR(sql::evaluate(*project->expressions[i], row, result[i]));
      ++rows_out_;  // A projection is the last node.
      return sink_.write(result);
    }
  }
  return {};
}

Status InterpretedOperators::assign(const sql::AssignWindows& windows, std::size_t node,
                                    const sql::Row& row) {
  const auto& window = windows.window;
  const sql::Value& time = row[window.time_column];
  if (time.null) return ++rows_without_time_, Status();
  const auto ms = static_cast<std::int64_t>(time.number) - window.offset_ms;
  const auto last_start =
      sql::floor_divide(ms, window.slide_ms) * window.slide_ms + window.offset_ms;
  for (auto start = last_start; start > last_start - window.size_ms; start -= window.slide_ms) {
    sql::Row copy = row;
    for (const auto bound : {start, start + window.size_ms, start + window.size_ms - 1})
      copy.push_back(sql::Value::of(bound));
    HF_RETURN_IF_ERROR(pass_on(node + 1, copy));
  }
  return {};
}

}  // namespace holdfast::stream
