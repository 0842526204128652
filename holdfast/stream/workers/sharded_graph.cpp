#include "sharded_graph.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream {

ShardedGraph::ShardedGraph(const sql::Plan& plan, ShardKeys keys, graph::GraphSource& source,
                           Sink& sink, StateStore* store, const Setting& setting,
                           std::unique_ptr<WorkerCrew> crew)
    : plan_(plan),
      keys_(std::move(keys)),
      owners_(plan, keys_),
      reader_(plan, keys_, source, setting.workers),
      store_(store),
      shared_(store == nullptr ? nullptr : std::make_unique<SharedStore>(*store)),
      rest_(plan, keys_, shared_.get(), setting.retention, sink),
      progress_(store),
      rounds_(
          reader_, std::move(crew), setting.round,
          [this](std::uint32_t shard, GraphBatch& batch, Crossings& crossings, std::size_t& event) {
            return shards_[shard]->take(batch, crossings, event);
          },
          [this](const Crossed& crossed) { return rest_.take(crossed); }) {
  for (std::uint32_t number = 0; number < setting.workers; ++number) {
    if (shared_ != nullptr)
      stores_.push_back(std::make_unique<ShardStore>(*shared_, owners_, number, setting.workers));
    StateStore* const own = shared_ != nullptr ? stores_.back().get() : nullptr;
    shards_.push_back(
        std::make_unique<GraphShard>(plan, keys_, reader_, own, setting.retention, number));
  }
}

ShardedGraph::~ShardedGraph() = default;

Result<std::unique_ptr<ShardedGraph>> ShardedGraph::start(const sql::Plan& plan, ShardKeys keys,
                                                          graph::GraphSource& source, Sink& sink,
                                                          StateStore* store,
                                                          const Setting& setting) {
  HF_ASSIGN_OR_RETURN(auto crew, WorkerCrew::start(setting.workers));
  return std::unique_ptr<ShardedGraph>(
      new ShardedGraph(plan, std::move(keys), source, sink, store, setting, std::move(crew)));
}

// The operators of a node: one, or one of each shard.
template <class Visit>
void ShardedGraph::for_each(std::size_t node, const Visit& visit) const {
  if (rest_.has(node)) return visit(rest_.at(node));
  for (const auto& shard : shards_)
    visit(std::as_const(*shard).at(node));
}

Result<Operators::Progress> ShardedGraph::take(Source&) {
  auto progress = rounds_.take();
  pass_requests_on();
  return progress;
}

// State that has no room wants a checkpoint.
void ShardedGraph::pass_requests_on() {
  if (store_ == nullptr) return;
  bool asked = shared_->take_request();
  for (const auto& store : stores_)
    asked = store->take_request() || asked;
  if (asked) store_->ask_for_checkpoint();
}

OperatorCounts ShardedGraph::counts() const {
  OperatorCounts counts;
  counts.watermark = kEndOfTime;
  for (const auto& input : reader_.inputs())
    counts.watermark = std::min(counts.watermark, input.watermark);
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    for_each(node, [&](const graph::Operator& one) {
      counts.late_rows += one.late_rows;
      counts.rows_without_time += one.rows_without_time;
    });
  }
  counts.rows_out = rest_.rows_out();
  return counts;
}

void ShardedGraph::watch() {
  rest_.measure();
  for (const auto& shard : shards_)
    shard->measure();
}

std::vector<OperatorProgress> ShardedGraph::operators() const {
  std::vector<OperatorProgress> all;
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    OperatorProgress progress;
    progress.node = node;
    progress.what = sql::text_of(plan_.nodes[node], plan_.nodes);
    std::uint64_t rows_out = 0;
    double seconds = 0;
    for_each(node, [&](const graph::Operator& one) {
      const auto size = one.state_size();
      rows_out += one.rows_out;
      progress.late_rows += one.late_rows;
      progress.rows_without_time += one.rows_without_time;
      progress.entries += size.entries;
      progress.state_bytes += size.bytes;
      progress.watermark_ms = one.watermark();
      seconds += std::max(0.0, one.seconds());
    });
    std::uint64_t rows_in = plan_.nodes[node].inputs.empty() ? rows_out : 0;
    for (const auto input : plan_.nodes[node].inputs)
      rows_in += *all[input].rows_out;
    progress.rows_in = rows_in;
    progress.rows_out = rows_out;
    progress.seconds = seconds;
    all.push_back(std::move(progress));
  }
  return all;
}

// ---- Checkpoints: those of one worker ----

Status ShardedGraph::put_state() {
  const auto& inputs = reader_.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    progress_.set_input(i, inputs[i].watermark, inputs[i].rows);
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    std::uint64_t late = 0, without_time = 0;
    for_each(node, [&](const graph::Operator& one) {
      late += one.late_rows;
      without_time += one.rows_without_time;
    });
    progress_.set_dropped(node, late, without_time);
    HF_RETURN_IF_ERROR(put_node(node));
  }
  return progress_.put_all();
}

// The numbers that tell rows of a key apart: the first shard writes one that none has passed.
Status ShardedGraph::put_node(std::size_t node) {
  if (rest_.has(node)) return rest_.at(node).put_state();
  std::int64_t next = 0;
  for (const auto& shard : shards_)
    next = std::max(next, shard->at(node).next_number());
  for (const auto& shard : shards_) {
    shard->at(node).raise_number(HF_MUTANT("ST156", next, 0));
    HF_RETURN_IF_ERROR(shard->at(node).put_state());
  }
  return {};
}

Status ShardedGraph::restore(const OperatorCounts&) {
  HF_RETURN_IF_ERROR(progress_.restore());
  auto& inputs = reader_.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].watermark = progress_.get('w', i, kNoWatermark);
    inputs[i].rows = static_cast<std::uint64_t>(progress_.get('r', i, 0));
    inputs[i].ended = inputs[i].watermark == kEndOfTime;
    for (const auto& shard : shards_)
      shard->at(inputs[i].node).set_watermark(0, inputs[i].watermark);
  }
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node)
    HF_RETURN_IF_ERROR(restore_node(node));
  return {};
}

// The first shard has the counters of all.
Status ShardedGraph::restore_node(std::size_t node) {
  const auto restore = [&](GraphHalf& half, bool counts) -> Status {
    auto& one = half.at(node);
    set_watermarks(half, node);
    if (counts) {
      one.late_rows = static_cast<std::uint64_t>(progress_.get('l', node, 0));
      one.rows_without_time = static_cast<std::uint64_t>(progress_.get('t', node, 0));
    }
    return one.restore();
  };
  if (rest_.has(node)) return restore(rest_, true);
  for (const auto& shard : shards_)
    HF_RETURN_IF_ERROR(restore(*shard, HF_MUTANT("ST159", shard == shards_.front(), true)));
  return {};
}

// Of what an operator of the rest reads, each shard knows the same.
void ShardedGraph::set_watermarks(GraphHalf& half, std::size_t node) const {
  const auto& inputs = plan_.nodes[node].inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const GraphHalf& there = half.has(inputs[i]) ? half : *shards_.front();
    const auto& from = there.at(inputs[i]);
    half.at(node).set_watermark(i, from.forwarded(from.watermark()));
  }
}

}  // namespace holdfast::stream
