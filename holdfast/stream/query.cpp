#include "query.hpp"

#include <utility>

namespace holdfast::stream {
namespace {

// Milliseconds as an interval: '75.250' SECOND(n, 3) has all there can be.
std::string interval(std::chrono::milliseconds time) {
  const auto ms = time.count();
  const auto rest = std::to_string(1'000 + ms % 1'000).substr(1);
  return "INTERVAL '" + std::to_string(ms / 1'000) + "." + rest + "' SECOND";
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const auto& part : parts)
    text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

}  // namespace

Query Query::where(std::string_view condition) const {
  Query query = *this;
  query.where_.push_back("(" + std::string(condition) + ")");
  return query;
}

Query Query::having(std::string_view condition) const {
  Query query = *this;
  query.having_.push_back("(" + std::string(condition) + ")");
  return query;
}

Query Query::windowed(std::string_view call, std::string_view time, std::string sizes) const {
  Query query = *this;
  query.window_ = call;
  query.window_arguments_ = ", DESCRIPTOR(" + std::string(time) + "), " + std::move(sizes);
  return query;
}

Query Query::tumble(std::string_view time, std::chrono::milliseconds size) const {
  return windowed("TUMBLE", time, interval(size));
}

Query Query::hop(std::string_view time, std::chrono::milliseconds slide,
                 std::chrono::milliseconds size) const {
  return windowed("HOP", time, interval(slide) + ", " + interval(size));
}

Query Query::cumulate(std::string_view time, std::chrono::milliseconds step,
                      std::chrono::milliseconds size) const {
  return windowed("CUMULATE", time, interval(step) + ", " + interval(size));
}

Query Query::session(std::string_view time, std::chrono::milliseconds gap) const {
  return windowed("SESSION", time, interval(gap));
}

Query Query::tumble_rows(std::int64_t size) const {
  Query query = *this;
  query.row_window_ = "TUMBLE_ROWS(" + std::to_string(size) + ")";
  return query;
}

Query Query::hop_rows(std::int64_t slide, std::int64_t size) const {
  Query query = *this;
  query.row_window_ = "HOP_ROWS(" + std::to_string(slide) + ", " + std::to_string(size) + ")";
  return query;
}

Query Query::group_by(std::vector<std::string> keys) const {
  Query query = *this;
  query.keys_ = std::move(keys);
  return query;
}

Query Query::select(std::vector<std::string> columns) const {
  Query query = *this;
  query.columns_ = std::move(columns);
  return query;
}

std::string Query::sql() const {
  std::string text = "SELECT " + (columns_.empty() ? "*" : joined(columns_, ", "));
  const std::string partitions =
      window_ == "SESSION" && !keys_.empty() ? " PARTITION BY " + joined(keys_, ", ") : "";
  text += "\nFROM " + (window_.empty() ? table_
                                       : "TABLE(" + window_ + "(TABLE " + table_ + partitions +
                                             window_arguments_ + "))");
  if (!where_.empty()) text += "\nWHERE " + joined(where_, " AND ");
  auto keys = keys_;
  if (!window_.empty()) keys.insert(keys.begin(), {"window_start", "window_end"});
  if (!row_window_.empty()) keys.insert(keys.begin(), row_window_);
  if (!keys.empty()) text += "\nGROUP BY " + joined(keys, ", ");
  if (!having_.empty()) text += "\nHAVING " + joined(having_, " AND ");
  return text;
}

Status Query::run(const std::string& statement, const ScriptOptions& options,
                  const std::atomic<bool>& stop) const {
  HF_ASSIGN_OR_RETURN(auto script, Script::prepare(definitions_ + statement, functions_));
  return script.run(options, stop);
}

Status Query::for_each(OnRow on_row, ScriptOptions options, const std::atomic<bool>& stop) const {
  options.on_row = std::move(on_row);
  return run(sql(), options, stop);
}

Status Query::for_each(OnRow on_row, ScriptOptions options) const {
  const std::atomic<bool> stop{false};
  return for_each(std::move(on_row), std::move(options), stop);
}

Status Query::insert_into(std::string_view table, ScriptOptions options) const {
  const std::atomic<bool> stop{false};
  return run("INSERT INTO " + std::string(table) + "\n" + sql(), options, stop);
}

Status Queries::define(std::string_view statement) {
  auto definitions = definitions_ + std::string(statement) + ";\n";
  HF_ASSIGN_OR_RETURN(const auto script, Script::prepare(definitions, functions_));
  if (!script.plans().empty())
    return Error{
        Errc::kInvalidOption,
        "a definition is CREATE TABLE, CREATE VIEW, CREATE FUNCTION or SET; this one has a query"};
  definitions_ = std::move(definitions);
  return {};
}

Status Queries::define(std::string_view name, const functions::Definition& function) {
  auto all = functions_;
  all.emplace_back(name, function);
  HF_RETURN_IF_ERROR(Script::prepare(definitions_, all));
  functions_ = std::move(all);
  return {};
}

}  // namespace holdfast::stream
