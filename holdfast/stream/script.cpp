#include "script.hpp"

#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {

Result<Script> Script::prepare(std::string_view text) {
  Script script;
  HF_ASSIGN_OR_RETURN(const auto statements, sql::parse(text));
  for (const auto& statement : statements) {
    if (const auto* table = std::get_if<sql::syntax::CreateTable>(&statement)) {
      HF_RETURN_IF_ERROR(script.catalog_->add(*table));
    } else if (const auto* query = std::get_if<sql::syntax::Query>(&statement)) {
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

Status Script::run(const ScriptOptions& options, const std::atomic<bool>& stop) const {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (!plans_[i].updating || options.final_state) continue;
    return Error{Errc::kUnsupported,
                 "query " + std::to_string(i + 1) +
                     " has groups without a window: its rows change while the input goes on, "
                     "and a changelog is not supported; --final shows them at the end"};
  }
  for (std::size_t i = 0; i < plans_.size() && !stop.load(); ++i) {
    const auto& plan = plans_[i];
    HF_ASSIGN_OR_RETURN(auto source, open_source(plan.source()));
    HF_ASSIGN_OR_RETURN(auto sink,
                        open_sink(plan.sink, plan.columns(), options.output, options.format));
    std::unique_ptr<StateStore> state;
    if (options.open_state) {
      HF_ASSIGN_OR_RETURN(state, options.open_state(i + 1));
    }
    Pipeline pipeline(plan, std::move(source), std::move(sink), state.get());
    HF_RETURN_IF_ERROR(pipeline.resume());
    if (!pipeline.report().finished_before)
      pipeline.set_successor(compile::compiled_successor(
          plan, options.compile, options.compile_settings, [&](const Error& error) {
            if (options.not_compiled) options.not_compiled(i + 1, error);
          }));
    if (options.resumed && pipeline.report().resumed_epoch != 0)
      options.resumed(i + 1, pipeline.report());
    HF_RETURN_IF_ERROR(pipeline.run(options.checkpoint_interval, stop));
    if (options.report) options.report(i + 1, pipeline.report());
  }
  return {};
}

}  // namespace holdfast::stream
