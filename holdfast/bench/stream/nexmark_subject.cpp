#include <holdfast/bench/stream/nexmark_subject.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/bench/engine/interruption.hpp>
#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/pipeline.hpp>

namespace holdfast::bench::stream {
namespace {

namespace hs = holdfast::stream;

std::unique_ptr<hs::Pipeline> pipeline_of(const NexmarkQuery& query, Answer& answer,
                                          hs::StateStore* state) {
  const auto source_of = [&](const sql::Table& table) {
    return std::make_unique<MemorySource>(query.events().table(table.name), table);
  };
  const auto& plan = query.plan();
  std::unique_ptr<hs::Sink> sink = std::make_unique<SummingSink>(plan.columns(), answer);
  std::unique_ptr<hs::Source> source;
  std::unique_ptr<hs::Operators> operators;
  if (hs::InterpretedOperators::can_run(plan, false)) {
    source = source_of(plan.source());
    operators = std::make_unique<hs::InterpretedOperators>(plan, *sink, state);
  } else {
    std::vector<hs::graph::GraphSource::Part> parts;
    for (const auto& node : plan.nodes) {
      if (const auto* scan = std::get_if<sql::Scan>(&node.what))
        parts.push_back({source_of(*scan->table), scan->looked_up});
    }
    auto tables = std::make_unique<hs::graph::GraphSource>(std::move(parts));
    operators = std::make_unique<hs::graph::GraphOperators>(plan, *tables, *sink, state);
    source = std::move(tables);
  }
  return std::make_unique<hs::Pipeline>(plan, std::move(source), std::move(sink), state,
                                        std::move(operators));
}

class NexmarkRuns : public Subject {
 public:
  explicit NexmarkRuns(const NexmarkQuery& query) : query_(query) {}

  Status run(PhaseThread& thread) override {
    thread.begin();
    do {
      HF_RETURN_IF_ERROR(run_once(answers_.emplace_back()));
      thread.operations += query_.rows();
    } while (!only_once() && thread.more(0));
    thread.end();
    return {};
  }
  Status after(const Phase&) override {
    const auto answers = std::exchange(answers_, {});
    for (const auto& answer : answers) {
      if (interrupted() || query_.agrees(answer)) continue;
      return Error{Errc::kCorrupt,
                   "wrong: " + answer.text() + "; interpreted " + query_.answer().text()};
    }
    return {};
  }

 protected:
  virtual Status run_once(Answer& answer) = 0;
  virtual bool only_once() const { return false; }

  const NexmarkQuery& query_;

 private:
  std::vector<Answer> answers_;
};

class HandWrittenLoop final : public NexmarkRuns {
 public:
  HandWrittenLoop(const NexmarkQuery& query, NexmarkLoop& loop) : NexmarkRuns(query), loop_(loop) {}

 protected:
  Status run_once(Answer& answer) override {
    answer.sums.resize(query_.plan().columns().size());
    return loop_(query_.events(), answer), Status();
  }

 private:
  NexmarkLoop& loop_;
};

class NexmarkSubject final : public RunsQuery<NexmarkRuns> {
 public:
  using RunsQuery::RunsQuery;

 protected:
  bool only_once() const override { return has_checkpoints(); }
  Status run_once(Answer& answer) override {
    return run_all(*pipeline_of(query_, answer, state()));
  }
};

}  // namespace

NexmarkQuery::NexmarkQuery(unsigned number, const NexmarkEvents& events, hs::Script script)
    : number_(number), events_(events), script_(std::move(script)) {
  for (const auto& node : plan().nodes) {
    if (const auto* scan = std::get_if<sql::Scan>(&node.what))
      rows_ += events_.table(scan->table->name).rows();
  }
}

bool NexmarkQuery::agrees(const Answer& other) const {
  constexpr std::size_t kCounts = 1;
  const auto& nodes = plan().nodes;
  const bool by_the_clock = std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return std::holds_alternative<sql::ProcessingTime>(node.what);
  });
  if (!by_the_clock) return other == answer_;
  return other.sums.size() == answer_.sums.size() &&
         other.sums.at(kCounts) == answer_.sums.at(kCounts);
}

Result<std::unique_ptr<NexmarkQuery>> NexmarkQuery::make(unsigned number,
                                                         const NexmarkEvents& events,
                                                         std::uint64_t count, std::uint64_t seed) {
  HF_ASSIGN_OR_RETURN(auto script, hs::Script::prepare(nexmark_sql(number, count, seed)));
  std::unique_ptr<NexmarkQuery> query(new NexmarkQuery(number, events, std::move(script)));
  const auto interpreted = pipeline_of(*query, query->answer_, nullptr);
  HF_RETURN_IF_ERROR(interpreted->resume());
  HF_RETURN_IF_ERROR(interpreted->run(std::chrono::milliseconds(0), interrupted()));
  return query;
}

std::unique_ptr<Subject> nexmark_subject(const NexmarkQuery& query, const QuerySetting& setting) {
  return std::make_unique<NexmarkSubject>(query, setting);
}

std::unique_ptr<Subject> nexmark_floor(const NexmarkQuery& query, NexmarkLoop& loop) {
  return std::make_unique<HandWrittenLoop>(query, loop);
}

}  // namespace holdfast::bench::stream
