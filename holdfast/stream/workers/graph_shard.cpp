#include "graph_shard.hpp"

#include <chrono>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream {
namespace {

std::vector<bool> others(const std::vector<bool>& has) {
  std::vector<bool> others = has;
  others.flip();
  return others;
}

}  // namespace

std::vector<ShardEdge> edges_of(const sql::Plan& plan, const ShardKeys& keys) {
  std::vector<ShardEdge> edges;
  const auto last = plan.nodes.size();
  for (std::size_t node = 0; node < last; ++node) {
    const auto& inputs = plan.nodes[node].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (keys.sharded[inputs[i]] && !keys.sharded[node]) edges.push_back({inputs[i], node, i});
    }
  }
  if (keys.sharded[last - 1]) edges.push_back({last - 1, last, 0});
  return edges;
}

// ---- Both ----

GraphHalf::GraphHalf(const sql::Plan& plan, const std::vector<bool>& has, StateStore* store,
                     const graph::Retention& retention) {
  operators_.resize(plan.nodes.size());
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    if (!has[node]) continue;
    operators_[node] = graph::make_operator(plan, node, store, retention, nullptr);
  }
}

void GraphHalf::measure() {
  measures_ = true;
  for (auto& one : operators_) {
    if (one != nullptr) one->measure(timing_);
  }
}

// ---- A shard ----

class GraphShard::Tap final : public graph::Operator {
 public:
  Tap(const sql::Node& from, std::uint32_t edge, const Now& now)
      : Operator(graph::Parts{from, {&from.columns}, nullptr, 0}), edge_(edge), now_(now) {}
  Status take(std::size_t, RowKind kind, const sql::Row& row) override {
    auto& crossed = add(true);
    crossed.kind = kind;
    crossed.row = row;
    return {};
  }
  Status advance(std::size_t, std::int64_t watermark) override {
    add(false).watermark = watermark;
    return {};
  }

 private:
  Crossed& add(bool is_row) {
    auto& crossed = now_.crossings->add();
    crossed.event = now_.event;
    crossed.edge = edge_;
    crossed.is_row = is_row;
    return crossed;
  }

  const std::uint32_t edge_;
  const Now& now_;
};

GraphShard::GraphShard(const sql::Plan& plan, const ShardKeys& keys, const GraphReader& reader,
                       StateStore* store, const graph::Retention& retention, std::uint32_t number)
    : GraphHalf(plan, keys.sharded, store, retention), reader_(reader), number_(number) {
  const auto edges = edges_of(plan, keys);
  for (std::uint32_t edge = 0; edge < edges.size(); ++edge)
    taps_.push_back(std::make_unique<Tap>(plan.nodes[edges[edge].from], edge, now_));
  std::size_t edge =
      0;  // In the order of GraphOperators: an operator gives its readers rows by it.
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    const auto& inputs = plan.nodes[node].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!keys.sharded[inputs[i]]) continue;
      if (keys.sharded[node])
        at(inputs[i]).add_reader(at(node), i);
      else
        at(inputs[i]).add_reader(*taps_[edge++], 0);
    }
  }
  if (edge < edges.size()) at(edges[edge].from).add_reader(*taps_[edge], 0);
  for (const auto& input : reader.inputs())
    scans_.push_back(operators_[input.node].get());
}

GraphShard::~GraphShard() = default;

Status GraphShard::take(GraphBatch& batch, Crossings& crossings, std::size_t& event) {
  now_.crossings = &crossings;
  for (event = 0; event < batch.events.size(); ++event) {
    const auto& one = batch.events[event];
    if (HF_MUTANT("ST157", one.is_row, true) && one.shard != number_) continue;
    now_.event = event;
    HF_RETURN_IF_ERROR(one.is_row ? take_row(one.input, batch.rows[one.row])
                                  : scans_[one.input]->advance(0, one.watermark));
  }
  return {};
}

// As GraphOperators: of kSampled rows one is measured.
Status GraphShard::take_row(std::uint32_t input, sql::Row& row) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kSampled = 64;
  if (!measures_ || rows_until_sample_-- != 0) return take_values(input, row);
  rows_until_sample_ = kSampled - 1;
  timing_.weight = kSampled;
  const auto begun = Clock::now();
  Status taken = take_values(input, row);
  scans_[input]->add_seconds(std::chrono::duration<double>(Clock::now() - begun).count() *
                             timing_.weight);
  timing_.weight = 0;
  return taken;
}

Status GraphShard::take_values(std::uint32_t input, sql::Row& row) {
  HF_RETURN_IF_ERROR(reader_.compute_rest(input, row));
  return scans_[input]->take(0, RowKind::kInsert, row);
}

// ---- The rest ----

GraphRest::GraphRest(const sql::Plan& plan, const ShardKeys& keys, StateStore* store,
                     const graph::Retention& retention, Sink& sink)
    : GraphHalf(plan, others(keys.sharded), store, retention), output_(plan, sink) {
  const auto last = plan.nodes.size();
  for (std::size_t node = 0; node < last; ++node) {
    const auto& inputs = plan.nodes[node].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (has(inputs[i])) at(inputs[i]).add_reader(at(node), i);
    }
  }
  if (has(last - 1)) at(last - 1).add_reader(output_, 0);
  for (const auto& edge : edges_of(plan, keys))
    ends_.push_back({edge.to == last ? &output_ : &at(edge.to), edge.input});
}

Status GraphRest::take(const Crossed& crossed) {
  const auto& [reader, input] = ends_[crossed.edge];
  return crossed.is_row ? reader->take(input, crossed.kind, crossed.row)
                        : reader->advance(input, crossed.watermark);
}

}  // namespace holdfast::stream
