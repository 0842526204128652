#include "compiled_shards.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream::compile {
namespace {

// Of what all shards number alike only the interpreter keeps the highest (Operator::next_number).
bool numbers_rows(const sql::Node& node) {
  const auto* join = std::get_if<sql::Join>(&node.what);
  const auto* rank = std::get_if<sql::Rank>(&node.what);
  return (join != nullptr && join->form == sql::JoinForm::kWindow) ||
         (rank != nullptr && rank->by_columns);
}

}  // namespace

Status can_compile_shards(const sql::Plan& plan, const ShardKeys& keys, const StateStore* store) {
  const auto unsupported = [](const char* why) { return Error{Errc::kUnsupported, why}; };
  if (std::find(keys.sharded.begin(), keys.sharded.end(), false) != keys.sharded.end())
    return unsupported(
        "some of its operators have no such keys, and only the interpreter has these once "
        "(--compile never)");
  std::uint64_t bytes = 0;
  if (store != nullptr && store->finds_groups(bytes) &&
      std::any_of(plan.nodes.begin(), plan.nodes.end(), numbers_rows))
    return unsupported("compiled, it wants --state dram for shards");
  return {};
}

// ---- A shard ----

class CompiledShards::Shard {
  // What a shard gives out is noted with what caused it.
  class Host final : public CompiledHost {
   public:
    Host(const sql::Plan& plan, const QuerySource& source, StateStore* store,
         const graph::Retention& retention)
        : CompiledHost(plan, source, nullptr, store, retention),
          columns_(plan.columns()),
          layout_(source.result) {}

    bool write(const query::Change* changes, const std::byte* records, std::size_t count) override {
      for (std::size_t i = 0; i < count; ++i) {
        auto& crossed = crossings->add();
        crossed.event = event;
        crossed.is_row = true;
        crossed.kind = static_cast<RowKind>(changes[i]);
        crossed.row.resize(columns_.size());
        read_record(columns_, layout_, records + i * layout_.bytes, crossed.row);
      }
      return bool(status());
    }

    Crossings* crossings = nullptr;
    std::size_t event = 0;

   private:
    const std::vector<sql::Column>& columns_;
    const RecordLayout& layout_;
  };

 public:
  Shard(const sql::Plan& plan, const QuerySource& source, const Library& library,
        const std::vector<graph::GraphInput>& inputs, StateStore* store,
        const graph::Retention& retention, std::uint32_t number)
      : number_(number),
        source_(source),
        host_(plan, source, store, retention),
        graph_(library.make_graph(host_)),
        tables_(inputs),
        inputs_(inputs.size()) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      records_.emplace_back(source.layouts[i].bytes);
  }

  query::Graph& graph() { return *graph_; }
  const query::Graph& graph() const { return *graph_; }
  Status status() const { return host_.status(); }
  void adopt(const std::vector<graph::GraphInput>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs_[i].watermark = inputs[i].watermark;
      inputs_[i].rows = inputs[i].rows;
      inputs_[i].ended = inputs[i].ended;
      inputs_[i].waits = true;
    }
    graph_->adopt(inputs_.data());
  }

  Status take(GraphBatch& batch, Crossings& crossings, std::size_t& event) {
    host_.crossings = &crossings;
    host_.look_at_clock();
    for (event = 0; event < batch.events.size(); ++event) {
      const auto& one = batch.events[event];
      if (one.is_row && one.shard != number_) continue;
      host_.event = event;
      const bool taken =
          one.is_row ? take_row(one.input, batch.rows[one.row]) : advance(one.input, one.watermark);
      if (!taken) return host_.status();
    }
    return {};
  }

 private:
  // The watermark behind the row comes to all shards by itself.
  bool take_row(std::size_t number, const sql::Row& row) {
    auto& input = inputs_[number];
    write_record(*tables_[number].table, source_.layouts[number], row, records_[number].data());
    input.records = records_[number].data();
    input.count = 1;
    input.waits = false;
    const auto watermark = std::exchange(input.watermark, kEndOfTime);
    std::size_t next = 0;
    const bool taken = graph_->take(inputs_.data(), 1, next);
    input.watermark = watermark;
    input.waits = true;
    return taken;
  }
  bool advance(std::size_t number, std::int64_t watermark) {
    return watermark == kEndOfTime ? graph_->end(inputs_.data(), number)
                                   : graph_->advance(inputs_.data(), number, watermark);
  }

  const std::uint32_t number_;
  const QuerySource& source_;
  Host host_;
  std::unique_ptr<query::Graph> graph_;
  const std::vector<graph::GraphInput> tables_;
  std::vector<query::GraphInput> inputs_;
  std::vector<std::vector<std::byte>> records_;  // Of each input, one.
};

// ---- All of them ----

CompiledShards::CompiledShards(const sql::Plan& plan, Shards shards,
                               std::shared_ptr<const QuerySource> source,
                               std::shared_ptr<const Library> library, Sink& sink,
                               StateStore* store, const graph::GraphOperators& before,
                               std::unique_ptr<WorkerCrew> crew)
    : plan_(plan),
      keys_(std::move(shards.keys)),
      owners_(plan, keys_),
      source_(std::move(source)),
      library_(std::move(library)),
      reader_(plan, keys_, before.source(), shards.workers),
      store_(store),
      shared_(store == nullptr ? nullptr : std::make_unique<SharedStore>(*store)),
      progress_(before.progress()),
      rows_out_(before.counts().rows_out),
      rounds_(
          reader_, std::move(crew), ShardRounds::kRound,
          [this](std::uint32_t shard, GraphBatch& batch, Crossings& crossings, std::size_t& event) {
            return shards_[shard]->take(batch, crossings, event);
          },
          [this, &sink](const Crossed& crossed) {
            ++rows_out_;
            return sink.write_change(crossed.kind, crossed.row);
          }) {
  for (std::uint32_t number = 0; number < shards.workers; ++number) {
    if (shared_ != nullptr)
      stores_.push_back(std::make_unique<ShardStore>(*shared_, owners_, number, shards.workers));
    StateStore* const own = shared_ != nullptr ? stores_.back().get() : nullptr;
    shards_.push_back(std::make_unique<Shard>(plan, *source_, *library_, reader_.inputs(), own,
                                              before.retention(), number));
  }
}

CompiledShards::~CompiledShards() = default;

Result<std::unique_ptr<CompiledShards>> CompiledShards::after(
    const graph::GraphOperators& before, const sql::Plan& plan, Shards shards,
    std::shared_ptr<const QuerySource> source, std::shared_ptr<const Library> library, Sink& sink,
    StateStore* store) {
  HF_ASSIGN_OR_RETURN(auto crew, WorkerCrew::start(shards.workers));
  std::unique_ptr<CompiledShards> made(new CompiledShards(plan, std::move(shards),
                                                          std::move(source), std::move(library),
                                                          sink, store, before, std::move(crew)));
  HF_RETURN_IF_ERROR(made->adopt(before));
  return made;
}

Status CompiledShards::adopt(const graph::GraphOperators& before) {
  const auto tables = before.tables();
  auto& inputs = reader_.inputs();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    inputs[i].watermark = tables[i].watermark;
    inputs[i].rows = tables[i].rows;
    inputs[i].ended = tables[i].ended;
    taken_before_.push_back(tables[i].rows);
  }
  for (const auto& shard : shards_)
    shard->adopt(inputs);
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    const auto& one = before.node(node);
    for (const auto slice : one.stored_slices()) {
      for (const auto& shard : shards_)
        shard->graph().adopt_stored(slice);
    }
    HF_RETURN_IF_ERROR(
        one.visit_state([&](std::int64_t slice, std::string_view key, std::string_view state,
                            std::uint64_t version, bool changed) {
          return adopt_entry({slice, text_of(key), text_of(state), version, changed});
        }));
    before_.push_back({one.late_rows, one.rows_without_time, one.rows_out});
  }
  return {};
}

Status CompiledShards::adopt_entry(const query::GraphEntry& entry) {
  const bool of_all = owners_.is_of_all(entry.slice);
  std::uint32_t owner = 0;
  if (!of_all) {
    HF_ASSIGN_OR_RETURN(const auto values,
                        owners_.layout_of(entry.slice).values_in({entry.key.data, entry.key.size}));
    owner = shard_of(values, rounds_.shards());
  }
  for (std::uint32_t i = 0; i < shards_.size(); ++i) {
    if (!of_all && i != owner) continue;
    if (!shards_[i]->graph().adopt_entry(entry))
      return Error{Errc::kCorrupt, "an entry of the state is none of this query"};
  }
  return {};
}

Result<Operators::Progress> CompiledShards::take(Source&) {
  auto progress = rounds_.take();
  for (const auto& store : stores_) {
    if (store->take_request()) store_->ask_for_checkpoint();
  }
  return progress;
}

Status CompiledShards::put_state() {
  const auto& inputs = reader_.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    progress_.set_input(i, inputs[i].watermark, inputs[i].rows);
  if (store_ == nullptr) return {};
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node)
    progress_.set_dropped(node, late_rows(node), rows_without_time(node));
  for (const auto& shard : shards_) {
    if (!shard->graph().put_state()) return shard->status();
  }
  return progress_.put_all();
}

std::uint64_t CompiledShards::late_rows(std::size_t node) const {
  auto rows = before_[node].late;
  for (const auto& shard : shards_)
    rows += std::as_const(*shard).graph().late_rows(node);
  return rows;
}

std::uint64_t CompiledShards::rows_without_time(std::size_t node) const {
  auto rows = before_[node].without_time;
  for (const auto& shard : shards_)
    rows += std::as_const(*shard).graph().rows_without_time(node);
  return rows;
}

std::vector<OperatorProgress> CompiledShards::operators() const {
  std::vector<OperatorProgress> all;
  std::size_t table = 0;
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    const auto& inputs = plan_.nodes[node].inputs;
    OperatorProgress progress;
    progress.node = node;
    progress.what = sql::text_of(plan_.nodes[node], plan_.nodes);
    std::uint64_t rows_in = 0, rows_out = before_[node].rows_out;
    progress.watermark_ms = kEndOfTime;
    for (const auto input : inputs) {
      rows_in += *all[input].rows_out;
      progress.watermark_ms = std::min(progress.watermark_ms, all[input].watermark_ms);
    }
    if (inputs.empty()) {
      const auto& input = reader_.inputs()[table];
      progress.watermark_ms = input.watermark;
      rows_in = before_[node].rows_out + input.rows - taken_before_[table++];
    }
    bool counted = true;
    for (const auto& shard : shards_) {
      std::uint64_t rows = 0;
      counted = std::as_const(*shard).graph().rows_out(node, rows);
      rows_out += rows;
    }
    progress.rows_in = rows_in;
    progress.rows_out = counted ? rows_out : rows_in;
    progress.late_rows = late_rows(node);
    progress.rows_without_time = rows_without_time(node);
    all.push_back(std::move(progress));
  }
  return all;
}

OperatorCounts CompiledShards::counts() const {
  OperatorCounts counts;
  counts.watermark = kEndOfTime;
  for (const auto& input : reader_.inputs())
    counts.watermark = std::min(counts.watermark, input.watermark);
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    counts.late_rows += late_rows(node);
    counts.rows_without_time += rows_without_time(node);
  }
  counts.rows_out = rows_out_;
  return counts;
}

}  // namespace holdfast::stream::compile
