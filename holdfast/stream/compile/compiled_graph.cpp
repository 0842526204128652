#include "compiled_graph.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/workers/part.hpp>

namespace holdfast::stream::compile {

CompiledGraph::CompiledGraph(const sql::Plan& plan, std::shared_ptr<const QuerySource> source,
                             std::shared_ptr<const Library> library, Sink& sink, StateStore* store,
                             const graph::GraphOperators& before)
    : plan_(plan),
      source_(std::move(source)),
      store_(store),
      library_(std::move(library)),
      host_(plan, *source_, &sink, store, before.retention(), before.late_rows()),
      graph_(library_->make_graph(host_)),
      reads_clock_(before.retention().ends() || before.follows_clock()),
      progress_(before.progress()) {}

Result<std::unique_ptr<CompiledGraph>> CompiledGraph::after(
    const graph::GraphOperators& before, const sql::Plan& plan,
    std::shared_ptr<const QuerySource> source, std::shared_ptr<const Library> library, Sink& sink,
    StateStore* store) {
  std::unique_ptr<CompiledGraph> made(
      new CompiledGraph(plan, std::move(source), std::move(library), sink, store, before));
  HF_RETURN_IF_ERROR(made->adopt(before));
  return made;
}

Status CompiledGraph::adopt(const graph::GraphOperators& before) {
  const auto tables = before.tables();
  tables_.resize(tables.size());
  inputs_.resize(tables.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    open_table(i, *tables[i].table, before.source());
    inputs_[i].watermark = tables[i].watermark;
    inputs_[i].rows = tables[i].rows;
    inputs_[i].ended = tables[i].ended;
    taken_before_.push_back(tables[i].rows);
  }
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node)
    graph_->adopt_clock(node, before.node(node).watermark());
  graph_->adopt(inputs_.data());
  host_.rows_out = before.counts().rows_out;
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    const auto& one = before.node(node);
    for (const auto slice : one.stored_slices())
      graph_->adopt_stored(slice);
    HF_RETURN_IF_ERROR(
        one.visit_state([&](std::int64_t slice, std::string_view key, std::string_view state,
                            std::uint64_t version, bool changed) -> Status {
          if (graph_->adopt_entry({slice, text_of(key), text_of(state), version, changed}))
            return {};
          return Error{Errc::kCorrupt, "an entry of the state is none of this query"};
        }));
    dropped_before_.push_back({one.late_rows, one.rows_without_time});
    rows_before_.push_back(one.rows_out);
  }
  return {};
}

void CompiledGraph::open_table(std::size_t number, const sql::Table& table,
                               graph::GraphSource& source) {
  auto& own = tables_[number];
  own.table = &table;
  own.layout = &source_->layouts[number];
  own.source = &source.part(number);
  own.records = dynamic_cast<RecordSource*>(own.source);
  own.row.resize(table.columns.size());
  own.record.resize(own.layout->bytes);
}

// The next records of a table. False: there are none now.
Result<bool> CompiledGraph::fill(std::size_t number) {
  auto& table = tables_[number];
  if (table.records == nullptr) return fill_from_row(number);
  table.block_begins = table.source->position();
  HF_ASSIGN_OR_RETURN(const auto records, table.records->next_records());
  table.block_rows = records.size() / table.layout->bytes;
  inputs_[number].records = records.data();
  inputs_[number].count = table.block_rows;
  return !records.empty();
}

Result<bool> CompiledGraph::fill_from_row(std::size_t number) {
  auto& table = tables_[number];
  table.idle.ask();
  HF_ASSIGN_OR_RETURN(const bool more, table.source->next(table.row));
  table.idle.answer(more);
  if (!more) return false;
  write_record(*table.table, *table.layout, table.row, table.record.data());
  inputs_[number].records = table.record.data();
  inputs_[number].count = 1;
  return true;
}

// No other table has a row: nobody waits for those that rest. False: none does.
bool CompiledGraph::wake() {
  bool woken = false;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (!std::exchange(tables_[i].rests, false)) continue;
    inputs_[i].waits = false;
    woken = true;
  }
  return woken;
}

Result<Operators::Progress> CompiledGraph::take(Source&) {
  constexpr std::uint64_t kRows = 64, kRecords = 4096;
  const auto rows = [this] {
    std::uint64_t all = 0;
    for (const auto& input : inputs_)
      all += input.rows;
    return all;
  };
  const auto before = rows();
  const bool in_blocks = std::all_of(tables_.begin(), tables_.end(),
                                     [](const Table& table) { return table.records != nullptr; });
  const std::uint64_t most = in_blocks ? kRecords : kRows;
  if (reads_clock_) {
    host_.look_at_clock();
    if (!graph_->tick()) return host_.status().error();
  }
  const auto now = graph::Idle::Clock::now();
  for (std::size_t i = 0; i < tables_.size(); ++i)
    inputs_[i].waits = tables_[i].rests = tables_[i].idle.rests(now);
  for (;;) {
    std::size_t next = 0;
    if (reads_clock_) host_.look_at_clock();
    if (!graph_->take(inputs_.data(), most - (rows() - before), next))
      return at_place(next, host_.status().error());
    if (next == inputs_.size() && rows() == before && wake()) continue;
    // They have ended, or wait; or it is time to look at the clock, with no row that was read and
    // not taken.
    if (next == inputs_.size() || rows() - before >= most) break;
    if (inputs_[next].count != 0) continue;
    auto filled = fill(next);
    if (!filled) return at_place(next, filled.error());
    if (*filled) continue;
    inputs_[next].waits = true;
    if (!tables_[next].source->ended()) continue;
    if (!graph_->end(inputs_.data(), next)) return at_place(next, host_.status().error());
  }
  const bool ended = std::all_of(inputs_.begin(), inputs_.end(),
                                 [](const query::GraphInput& input) { return input.ended; });
  return Progress{rows() - before, ended};
}

Error CompiledGraph::at_place(std::size_t number, Error error) {
  auto& table = tables_[number];
  if (table.records != nullptr && table.block_rows != 0)
    go_behind(*table.source, table.block_begins, table.block_rows - inputs_[number].count,
              table.row.size());
  error.detail += " (table " + escape(table.table->name) + ", " + table.source->place() + ")";
  return error;
}

Status CompiledGraph::put_state() {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    auto& input = inputs_[i];
    if (tables_[i].records != nullptr && input.count != 0)
      tables_[i].records->give_back(std::exchange(input.count, 0));
    progress_.set_input(i, input.watermark, input.rows);
  }
  if (store_ == nullptr) return {};
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    progress_.set_dropped(node, late_rows(node), rows_without_time(node));
    std::int64_t watermark = 0;
    if (graph_->clock_watermark(node, watermark)) progress_.set_clock(node, watermark);
  }
  if (!graph_->put_state()) return host_.status();
  return progress_.put_all();
}

std::vector<OperatorProgress> CompiledGraph::operators() const {
  std::vector<OperatorProgress> all;
  std::size_t table = 0;
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    const auto& inputs = plan_.nodes[node].inputs;
    OperatorProgress progress;
    progress.node = node;
    progress.what = sql::text_of(plan_.nodes[node], plan_.nodes);
    std::uint64_t rows_in = 0, rows_out = 0;
    progress.watermark_ms = kEndOfTime;
    for (const auto input : inputs) {
      rows_in += *all[input].rows_out;
      progress.watermark_ms = std::min(progress.watermark_ms, all[input].watermark_ms);
    }
    if (inputs.empty()) {
      progress.watermark_ms = inputs_[table].watermark;
      rows_in = rows_before_[node] + inputs_[table].rows - taken_before_[table];
      ++table;
    }
    progress.rows_in = rows_in;
    const bool counted = graph_->rows_out(node, rows_out);
    progress.rows_out = counted ? rows_before_[node] + rows_out : rows_in;
    progress.late_rows = late_rows(node);
    progress.rows_without_time = rows_without_time(node);
    all.push_back(std::move(progress));
  }
  return all;
}

OperatorCounts CompiledGraph::counts() const {
  OperatorCounts counts;
  counts.watermark = kEndOfTime;
  for (const auto& input : inputs_)
    counts.watermark = std::min(counts.watermark, input.watermark);
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    counts.late_rows += late_rows(node);
    counts.rows_without_time += rows_without_time(node);
  }
  counts.rows_out = host_.rows_out;
  return counts;
}

}  // namespace holdfast::stream::compile
