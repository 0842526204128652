// query.hpp: standing queries from C++, in the manner of Flink's Table API.
//
//   Queries queries;
//   queries.define("CREATE TABLE orders (…) WITH (…)").value();
//   queries.from("orders").where("price > 1").tumble("at", minutes(1)).group_by({"item"})
//       .select({"item", "SUM(price) AS total"}).for_each(print).value();
//
// Expressions are those of SQL, and a query becomes the plan that its SQL text becomes: sql() shows
// that text. What docs/stream.md says of queries holds here, too.
//
// Threads  One at a time. A query runs in the caller's thread, and returns when its input has ended
//          or `stop` was raised.
// Errors   Those of script.hpp: kInvalidOption, kUnsupported: line and column are those of sql(),
//          behind all definitions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/callback_sink.hpp>
#include <holdfast/stream/script.hpp>

namespace holdfast::stream {

// A query that is being put together. Each call returns another query; this one stays as it is.
class Query {
 public:
  // `definitions`: statements that come before the query; `functions`: what they may call.
  // `table`: a table, a view, or any table expression of SQL.
  Query(std::string definitions, OwnFunctions functions, std::string table)
      : definitions_(std::move(definitions)),
        functions_(std::move(functions)),
        table_(std::move(table)) {}

  // A condition on rows, before they are grouped. Of several all must be true.
  Query where(std::string_view condition) const;
  // Windows by event time. A group then has the rows of one window with equal keys.
  Query tumble(std::string_view time, std::chrono::milliseconds size) const;
  Query hop(std::string_view time, std::chrono::milliseconds slide,
            std::chrono::milliseconds size) const;
  // From the same begin: up to `step`, two of it, and so on to `size`.
  Query cumulate(std::string_view time, std::chrono::milliseconds step,
                 std::chrono::milliseconds size) const;
  // Of the rows of a group, until none has come for `gap`.
  Query session(std::string_view time, std::chrono::milliseconds gap) const;
  // Windows of so many rows of a group, as they come. The rows of one that is not full are not
  // shown.
  Query tumble_rows(std::int64_t size) const;
  // One begins each `slide` rows, at most `size`.
  Query hop_rows(std::int64_t slide, std::int64_t size) const;
  Query group_by(std::vector<std::string> keys) const;
  // A condition on groups. Of several all must be true.
  Query having(std::string_view condition) const;
  // Default: all columns.
  Query select(std::vector<std::string> columns) const;

  std::string sql() const;
  // Rows go to a function: callback_sink.hpp. The output of rows in `options` is not used.
  Status for_each(OnRow on_row, ScriptOptions options = {}) const;
  Status for_each(OnRow on_row, ScriptOptions options, const std::atomic<bool>& stop) const;
  // Rows go to a table that was defined.
  Status insert_into(std::string_view table, ScriptOptions options = {}) const;

 private:
  Status run(const std::string& statement, const ScriptOptions& options,
             const std::atomic<bool>& stop) const;

  // `call`: TUMBLE and so on; `sizes`: its last arguments.
  Query windowed(std::string_view call, std::string_view time, std::string sizes) const;

  std::string definitions_;
  OwnFunctions functions_;
  std::string table_;
  std::string window_, window_arguments_;  // The function, and what stands behind its table.
  std::string row_window_;                 // A call, which stands in GROUP BY.
  std::vector<std::string> where_, keys_, having_, columns_;
};

class Queries {
 public:
  // CREATE TABLE, CREATE VIEW, CREATE FUNCTION, SET; without a `;` behind it.
  Status define(std::string_view statement);
  // A function of this program, for expressions of what is defined from now on, and of queries:
  // define("NET", functions::scalar(net)).
  Status define(std::string_view name, const functions::Definition& function);
  Query from(std::string_view table) const {
    return {definitions_, functions_, std::string(table)};
  }

 private:
  std::string definitions_;
  OwnFunctions functions_;
};

}  // namespace holdfast::stream
