#include "script.hpp"

#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/changelog_sink.hpp>
#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {

Result<Script> Script::prepare(std::string_view text) {
  Script script;
  HF_ASSIGN_OR_RETURN(const auto statements, sql::parse(text));
  for (const auto& statement : statements) {
    if (const auto* table = std::get_if<sql::syntax::CreateTable>(&statement)) {
      HF_RETURN_IF_ERROR(script.catalog_->add(*table));
    } else if (const auto* view = std::get_if<sql::syntax::CreateView>(&statement)) {
      HF_RETURN_IF_ERROR(script.catalog_->add(*view));
    } else if (const auto* query = std::get_if<sql::syntax::QueryStatement>(&statement)) {
      HF_ASSIGN_OR_RETURN(auto plan, sql::plan_of(*query, *script.catalog_));
      script.plans_.push_back(std::move(plan));
    } else {
      HF_RETURN_IF_ERROR(script.set(std::get<sql::syntax::SetOption>(statement).option));
    }
  }
  return script;
}

Status Script::set(const sql::syntax::Option& option) {
  if (option.key == "execution.checkpointing.interval") {
    auto interval = duration_of(option.value, option.key);
    if (!interval) return sql::error_at(option.at, interval.error().detail);
    interval_ = *interval;
    return {};
  }
  if (option.key == "table.local-time-zone" && option.value == "UTC") return {};
  return sql::unsupported_at(option.at,
                             "SET '" + escape(option.key) + "' = '" + escape(option.value) + "'");
}

// What a query writes to. Refuses a sink that cannot take rows back where the query does so.
Result<std::unique_ptr<Sink>> Script::sink_of(std::size_t query,
                                              const ScriptOptions& options) const {
  const auto& plan = plans_[query];
  if (plan.updating && plan.sink == nullptr)
    return open_changelog_sink(plan.columns(), options.output, options.format);
  HF_ASSIGN_OR_RETURN(auto sink,
                      open_sink(plan.sink, plan.columns(), options.output, options.format));
  if (plan.updating && !sink->takes_changes()) {
    return Error{Errc::kUnsupported,
                 "query " + std::to_string(query + 1) +
                     ": its rows change while the input goes on, and table " +
                     escape(plan.sink->name) +
                     " takes new rows only; --final writes them as they are at the end"};
  }
  return sink;
}

Result<std::unique_ptr<Pipeline>> Script::pipeline_of(std::size_t query,
                                                      const ScriptOptions& options,
                                                      StateStore* state) const {
  const auto& plan = plans_[query];
  HF_ASSIGN_OR_RETURN(auto sink, sink_of(query, options));
  Sink& to = *sink;
  if (InterpretedOperators::can_run(plan, options.final_state)) {
    HF_ASSIGN_OR_RETURN(auto source, open_source(plan.source()));
    return std::make_unique<Pipeline>(plan, std::move(source), std::move(sink), state,
                                      std::make_unique<InterpretedOperators>(plan, to, state));
  }
  HF_ASSIGN_OR_RETURN(auto source, graph::GraphSource::open(plan));
  auto operators = std::make_unique<graph::GraphOperators>(plan, *source, to, state);
  return std::make_unique<Pipeline>(plan, std::move(source), std::move(sink), state,
                                    std::move(operators));
}

void Script::show_final_state() {
  for (auto& plan : plans_) {
    if (!plan.updating || InterpretedOperators::can_run(plan, true)) {
      plan.updating = false;
      continue;
    }
    const auto root = static_cast<std::uint32_t>(plan.nodes.size() - 1);
    auto columns = plan.columns();
    plan.nodes.push_back({sql::Materialize{}, std::move(columns), {root}, false});
    plan.updating = false;
  }
}

Status Script::run(const ScriptOptions& options, const std::atomic<bool>& stop) {
  if (options.final_state) show_final_state();
  for (std::size_t i = 0; i < plans_.size() && !stop.load(); ++i) {
    const auto& plan = plans_[i];
    std::unique_ptr<StateStore> state;
    if (options.open_state) {
      HF_ASSIGN_OR_RETURN(state, options.open_state(i + 1));
    }
    HF_ASSIGN_OR_RETURN(const auto pipeline, pipeline_of(i, options, state.get()));
    HF_RETURN_IF_ERROR(pipeline->resume());
    const auto& report = pipeline->report();
    if (!report.finished_before && InterpretedOperators::can_run(plan, options.final_state))
      pipeline->set_successor(compile::compiled_successor(
          plan, options.compile, options.compile_settings, [&](const Error& error) {
            if (options.not_compiled) options.not_compiled(i + 1, error);
          }));
    if (options.resumed && report.resumed_epoch != 0) options.resumed(i + 1, report);
    HF_RETURN_IF_ERROR(pipeline->run(options.checkpoint_interval, stop));
    if (options.report) options.report(i + 1, report);
  }
  return {};
}

}  // namespace holdfast::stream
