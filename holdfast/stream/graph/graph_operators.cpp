#include "graph_operators.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/graph/make_operator.hpp>

namespace holdfast::stream::graph {

GraphOperators::GraphOperators(const sql::Plan& plan, GraphSource& source, Sink& sink,
                               StateStore* store, const Retention& retention, LateRows* late_rows)
    : plan_(plan),
      source_(source),
      retention_(retention),
      late_rows_(late_rows),
      inputs_(inputs_of(plan)),
      progress_(store) {
  operators_.resize(plan.nodes.size());
  for (std::size_t node = 0; node < plan.nodes.size(); ++node)
    build(node, store);
  output_ = std::make_unique<OutputRows>(plan, sink);
  connect();
}

GraphOperators::~GraphOperators() = default;

void GraphOperators::build(std::size_t node, StateStore* store) {
  const auto& what = plan_.nodes[node];
  operators_[node] = make_operator(plan_, node, store, retention_, late_rows_);
  const bool moves_watermark = std::holds_alternative<sql::ProcessingTime>(what.what);
  if (moves_watermark) clocks_.insert(node);
  if (moves_watermark || std::holds_alternative<sql::DelayChanges>(what.what))
    ticking_.push_back(operators_[node].get());
}

void GraphOperators::connect() {
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    const auto& inputs = plan_.nodes[node].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      operators_[inputs[i]]->add_reader(*operators_[node], i);
  }
  operators_.back()->add_reader(*output_, 0);
}

bool GraphOperators::has_lookups() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [](const GraphInput& input) { return input.looked_up; });
}

// Some rows, so that a table without an end keeps no signal waiting. False: there are more to come.
Result<bool> GraphOperators::read_lookups() {
  constexpr int kAtOnce = 4096;
  for (auto& input : inputs_) {
    if (!input.looked_up || input.ended) continue;
    row_.resize(input.table->columns.size());
    auto& part = source_.part(input.part);
    for (int row = 0;; ++row) {
      if (row == kAtOnce) return false;
      HF_ASSIGN_OR_RETURN(const bool more, part.next(row_));
      if (!more && part.ended()) break;
      if (!more) return false;
      HF_RETURN_IF_ERROR(compute(*input.table, row_));
      HF_RETURN_IF_ERROR(scan(input).take(0, RowKind::kInsert, row_));
    }
    HF_RETURN_IF_ERROR(follow(input, kEndOfTime));
  }
  return true;
}

// What comes before the first row: tables that are looked up, and rows that stand in the text.
// False: it is not done yet.
Result<bool> GraphOperators::begin() {
  HF_ASSIGN_OR_RETURN(const bool read, read_lookups());
  if (!read) return false;
  for (auto& input : inputs_) {
    if (input.table != nullptr || input.ended) continue;
    for (const auto& node : plan_.nodes) {
      const auto* literals = std::get_if<sql::Literals>(&node.what);
      if (literals == nullptr || &node != &scan(input).node()) continue;
      for (const auto& row : literals->rows)
        HF_RETURN_IF_ERROR(scan(input).take(0, RowKind::kInsert, row));
    }
    HF_RETURN_IF_ERROR(follow(input, kEndOfTime));
  }
  return true;
}

Status GraphOperators::follow(GraphInput& input, std::int64_t watermark) {
  input.ended = watermark == kEndOfTime;
  input.watermark = watermark;
  return scan(input).advance(0, watermark);
}

// The next row of its table into row_. False: there is none, or none for now.
Result<bool> GraphOperators::ask(GraphInput& input) {
  auto& part = source_.part(input.part);
  row_.resize(input.table->columns.size());
  input.idle.ask();
  HF_ASSIGN_OR_RETURN(const bool more, part.next(row_));
  input.idle.answer(more);
  if (!more && part.ended()) HF_RETURN_IF_ERROR(follow(input, kEndOfTime));
  return more;
}

Result<bool> GraphOperators::take_row(GraphInput& input) {
  HF_ASSIGN_OR_RETURN(const bool more, ask(input));
  if (!more) return false;
  ++input.rows;
  const auto& table = *input.table;
  HF_RETURN_IF_ERROR(take_values(input, table));
  HF_ASSIGN_OR_RETURN(const auto watermark, watermark_behind(table, row_, input.watermark));
  if (watermark) HF_RETURN_IF_ERROR(follow(input, *watermark));
  return true;
}

// Of kSampled rows one is measured.
Status GraphOperators::take_values(GraphInput& input, const sql::Table& table) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kSampled = 64;
  const bool sampled = measures_ && rows_until_sample_-- == 0;
  if (!sampled) {
    HF_RETURN_IF_ERROR(compute(table, row_));
    return scan(input).take(0, RowKind::kInsert, row_);
  }
  rows_until_sample_ = kSampled - 1;
  timing_.weight = kSampled;
  const auto begun = Clock::now();
  Status taken = compute(table, row_);
  if (taken) taken = scan(input).take(0, RowKind::kInsert, row_);
  scan(input).add_seconds(std::chrono::duration<double>(Clock::now() - begun).count() *
                          timing_.weight);
  timing_.weight = 0;
  return taken;
}

void GraphOperators::watch() {
  measures_ = true;
  for (auto& one : operators_)
    one->measure(timing_);
}

std::vector<OperatorProgress> GraphOperators::operators() const {
  std::vector<OperatorProgress> all;
  for (std::size_t node = 0; node < operators_.size(); ++node) {
    const auto& one = *operators_[node];
    const auto size = one.state_size();
    OperatorProgress progress{node,
                              sql::text_of(plan_.nodes[node], plan_.nodes),
                              {},
                              one.rows_out,
                              one.late_rows,
                              one.rows_without_time,
                              size.entries,
                              size.bytes,
                              one.watermark(),
                              {}};
    std::uint64_t rows_in = plan_.nodes[node].inputs.empty() ? one.rows_out : 0;
    for (const auto input : plan_.nodes[node].inputs)
      rows_in += operators_[input]->rows_out;
    progress.rows_in = rows_in;
    if (measures_) progress.seconds = std::max(0.0, one.seconds());
    all.push_back(std::move(progress));
  }
  return all;
}

// Rows of inputs that do not wait, until there are `most`. Those without one wait then.
Status GraphOperators::take_rows(std::vector<bool>& waits, std::uint64_t most,
                                 std::uint64_t& rows) {
  while (rows < most) {
    GraphInput* const input = next_input(inputs_, waits);
    if (input == nullptr) return {};
    auto taken = take_row(*input);
    if (!taken) {
      Error error = taken.error();
      error.detail +=
          " (table " + escape(input->table->name) + ", " + source_.part(input->part).place() + ")";
      return error;
    }
    rows += *taken ? 1 : 0;
    if (!*taken && !input->ended) waits[static_cast<std::size_t>(input - inputs_.data())] = true;
  }
  return {};
}

Result<Operators::Progress> GraphOperators::take(Source&) {
  constexpr std::uint64_t kRows = 64;
  if (!begun_) {
    HF_ASSIGN_OR_RETURN(begun_, begin());
    if (!begun_) return Progress{};
  }
  for (auto* const one : ticking_)
    HF_RETURN_IF_ERROR(one->tick());
  Progress progress;
  const auto now = Idle::Clock::now();
  std::vector<bool> rests(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    rests[i] = inputs_[i].idle.rests(now);
  auto waits = rests;
  HF_RETURN_IF_ERROR(take_rows(waits, kRows, progress.rows));
  if (progress.rows == 0) {  // Then nobody waits for those that rest.
    rests.flip();
    HF_RETURN_IF_ERROR(take_rows(rests, kRows, progress.rows));
  }
  progress.ended = std::all_of(inputs_.begin(), inputs_.end(),
                               [](const GraphInput& input) { return input.ended; });
  return progress;
}

OperatorCounts GraphOperators::counts() const {
  OperatorCounts counts;
  counts.watermark = kEndOfTime;
  for (const auto& input : inputs_)
    counts.watermark = std::min(counts.watermark, input.watermark);
  for (const auto& one : operators_) {
    counts.late_rows += one->late_rows;
    counts.rows_without_time += one->rows_without_time;
  }
  counts.rows_out = output_->rows_out;
  return counts;
}

std::vector<GraphOperators::TableProgress> GraphOperators::tables() const {
  std::vector<TableProgress> all;
  for (const auto& input : inputs_)
    all.push_back({input.table, input.watermark, input.rows, input.ended});
  return all;
}

// ---- Checkpoints ----
Status GraphOperators::put_state() {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    progress_.set_input(i, inputs_[i].watermark, inputs_[i].rows);
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    if (clocks_.contains(i)) progress_.set_clock(i, operators_[i]->watermark());
    progress_.set_dropped(i, operators_[i]->late_rows, operators_[i]->rows_without_time);
    HF_RETURN_IF_ERROR(operators_[i]->put_state());
  }
  return progress_.put_all();
}

Status GraphOperators::restore(const OperatorCounts&) {
  HF_RETURN_IF_ERROR(progress_.restore());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    auto& input = inputs_[i];
    if (input.looked_up) continue;  // It is read again.
    input.watermark = progress_.get('w', i, kNoWatermark);
    input.rows = static_cast<std::uint64_t>(progress_.get('r', i, 0));
    input.ended = input.watermark == kEndOfTime;
    scan(input).set_watermark(0, input.watermark);
  }
  for (std::size_t node = 0; node < operators_.size(); ++node) {
    auto& one = *operators_[node];
    const auto& inputs = plan_.nodes[node].inputs;
    if (clocks_.contains(node)) one.set_watermark(0, progress_.get('c', node, kNoWatermark));
    for (std::size_t i = 0; i < inputs.size() && !clocks_.contains(node); ++i)
      one.set_watermark(i, operators_[inputs[i]]->forwarded(operators_[inputs[i]]->watermark()));
    one.late_rows = static_cast<std::uint64_t>(progress_.get('l', node, 0));
    one.rows_without_time = static_cast<std::uint64_t>(progress_.get('t', node, 0));
    HF_RETURN_IF_ERROR(one.restore());
  }
  return {};
}

}  // namespace holdfast::stream::graph
