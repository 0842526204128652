// query.hpp: standing queries from C++, in the manner of Flink's Table API.
//
//   Queries queries;
//   queries.define("CREATE TABLE orders (…) WITH (…)").value();
//   queries.define("CREATE TABLE items (…) WITH (…)").value();
//   queries.from("orders").where("price > 1").tumble("at", minutes(1)).group_by({"item"})
//       .select({"item", "SUM(price) AS total"}).for_each(print).value();
//   queries.from("orders").join(queries.from("items"), "orders.item = items.id")
//       .select({"items.name", "orders.price"}).insert_into("named").value();
//
// A query is one SELECT of SQL, and its plan is that of the text which sql() shows. Expressions are
// those of SQL. docs/guide_queries.md is the guide.
//
// Order    Up to select(), distinct(), order_by(), limit() and the like, calls add to the SELECT,
//          in any order. What is called behind them reads its rows, as a query in parentheses.
//          A join reads what both sides are by then.
// Names    A query has the name of its table until as() gives it another. Of a join, a union and
//          any other table expression there is no name: as() gives one.
// Threads  One at a time. A query runs in the caller's thread, and returns when its input has ended
//          or `stop` was raised.
// Errors   Those of script.hpp: kInvalidOption, kUnsupported. They come where the query is run or
//          explained. Line and column are those of sql(), behind the line of INSERT INTO if there
//          is one, or of the definitions. The message ends with that line. A part that is no whole
//          by itself (an open parenthesis, a `;`) is named with its call or the word before it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/callback_sink.hpp>
#include <holdfast/stream/script.hpp>

namespace holdfast::stream {

// What a Queries has defined up to some moment: the last of it, and what came before.
struct Definitions {
  std::string statement;                      // With `;` and a line end. Empty:
  OwnFunctions functions;                     // it is these functions of the program.
  std::shared_ptr<const Definitions> before;  // Null: there is nothing.

  // Whether these are `other` or came later.
  bool follow(const Definitions& other) const;
  // All of it, the first one first.
  std::string all_statements() const;
  OwnFunctions all_functions() const;

 private:
  std::vector<const Definitions*> all() const;
};

inline const std::atomic<bool> kNeverStop{false};

// A query that is being put together. Each call returns another query; this one stays as it is.
class Query {
 public:
  // `table`: a table, a view, or any table expression of SQL.
  Query(std::shared_ptr<const Definitions> definitions, std::string_view table);

  // Another name, by which conditions and columns tell it from others: "o.item".
  Query as(std::string_view name) const;
  // A condition on rows, before they are grouped. Of several all must be true.
  Query where(std::string_view condition) const;

  // Windows by event time, or of PROCTIME(). Each row comes once for each window it is in, with
  // window_start, window_end and window_time. After group_by() a group has the rows of one window.
  Query tumble(std::string_view time, std::chrono::milliseconds size) const;
  Query hop(std::string_view time, std::chrono::milliseconds slide,
            std::chrono::milliseconds size) const;
  // From the same begin: up to `step`, two of it, and so on to `size`.
  Query cumulate(std::string_view time, std::chrono::milliseconds step,
                 std::chrono::milliseconds size) const;
  // Of the rows of a group, until none has come for `gap`.
  Query session(std::string_view time, std::chrono::milliseconds gap) const;
  // Windows of so many rows of a group, as they come, with group_by() or without. The rows of one
  // that is not full are not shown.
  Query tumble_rows(std::int64_t size) const;
  // One begins each `slide` rows, at most `size`.
  Query hop_rows(std::int64_t slide, std::int64_t size) const;

  // Without keys: all rows, or all of a window. A key may be ROLLUP(a, b) and so on.
  Query group_by(const std::vector<std::string>& keys) const;
  // A condition on groups. Of several all must be true.
  Query having(std::string_view condition) const;
  // A window for OVER: over("w", "PARTITION BY item ORDER BY at"), then "SUM(price) OVER w".
  Query over(std::string_view name, std::string_view window) const;
  // Default: all columns.
  Query select(const std::vector<std::string>& columns) const;
  // Equal rows once.
  Query distinct() const;
  // Keys with DESC, NULLS LAST and so on.
  Query order_by(const std::vector<std::string>& keys) const;
  Query limit(std::uint64_t rows, std::uint64_t offset = 0) const;

  // Each row beside each row of `other`; where() may choose.
  Query join(const Query& other) const;
  // `on`: a condition, or USING (column, …). It says which join it is: of windows, of near times,
  // of changing rows (docs/stream.md).
  Query join(const Query& other, std::string_view on) const;
  Query left_outer_join(const Query& other, std::string_view on) const;
  Query right_outer_join(const Query& other, std::string_view on) const;
  Query full_outer_join(const Query& other, std::string_view on) const;
  // Rows for which `other` has a row, or has none. `on` is not USING.
  Query semi_join(const Query& other, std::string_view on) const;
  Query anti_join(const Query& other, std::string_view on) const;
  // The right side of join() or left_outer_join(): what it is at this time of the row on the left.
  // Of a PROCTIME() a look-up: what it is now.
  Query as_of(std::string_view time) const;

  // Of rows with as many columns.
  Query union_all(const Query& other) const;
  Query union_distinct(const Query& other) const;
  Query intersect(const Query& other) const;
  Query minus(const Query& other) const;

  std::string sql() const;
  // The plan, as `holdfast stream explain` shows it first.
  Result<std::string> explain() const;
  // Rows go to a function: callback_sink.hpp. The output of rows in `options` is not used.
  Status for_each(OnRow on_row, ScriptOptions options = {},
                  const std::atomic<bool>& stop = kNeverStop) const;
  // Rows go to a table that was defined: "t", or "t (a, b)" for some of its columns.
  Status insert_into(std::string_view table, const ScriptOptions& options = {},
                     const std::atomic<bool>& stop = kNeverStop) const;

  // For what runs several: INSERT INTO and sql(), and the definitions that it was made with.
  Result<std::string> insert_sql(std::string_view table) const;
  const std::shared_ptr<const Definitions>& definitions() const { return definitions_; }

 private:
  // kTable: the name of a table, or a query in parentheses. kText: any other table expression.
  // kJoin: several of them. kUnion: queries, which are no table yet.
  enum class Source : std::uint8_t { kTable, kText, kJoin, kUnion };

  explicit Query(std::shared_ptr<const Definitions> definitions)
      : definitions_(std::move(definitions)) {}
  bool is_selected() const;  // Calls that follow read its rows.
  bool is_table() const;     // It has a FROM and nothing else.
  Query as_table() const;    // SELECT … FROM (this query)
  Query open() const { return is_selected() ? as_table() : *this; }
  std::string from() const;
  // What stands beside UNION.
  std::string term() const;
  // `call`: TUMBLE and so on; `sizes`: its last arguments.
  Query windowed(std::string_view call, std::string_view time, const std::string& sizes) const;
  Query joined(std::string_view words, const Query& other, std::string_view on) const;
  Query matched(std::string_view words, const Query& other, std::string_view on) const;
  Query combined(std::string_view words, const Query& other) const;
  // A part as it stands in the SQL. One that is no whole by itself makes the query fail.
  std::string part(std::string_view call, std::string_view text);
  std::vector<std::string> parts(std::string_view call, const std::vector<std::string>& texts);
  // Errors and definitions of another query that becomes a part of this one.
  void take_over(std::string_view call, const Query& other);

  std::shared_ptr<const Definitions> definitions_;
  Status status_;
  Source source_ = Source::kTable;
  std::string table_, name_;               // `name_` is empty where it has none.
  std::string window_, window_arguments_;  // The function, and what stands behind its table.
  std::string as_of_;
  std::string row_window_;  // A call, which stands in GROUP BY.
  std::vector<std::string> where_;
  std::optional<std::vector<std::string>> keys_;
  std::vector<std::string> having_, overs_, columns_;
  bool distinct_ = false;
  std::string order_, limit_;
};

// A query, and the table that its rows go to.
struct Insert {
  std::string table;
  Query query;
};
// All of them side by side, each with its own state. If one fails, the others stop with a
// checkpoint.
Status insert_all(const std::vector<Insert>& inserts, const ScriptOptions& options = {},
                  const std::atomic<bool>& stop = kNeverStop);

class Queries {
 public:
  // CREATE TABLE, CREATE VIEW, CREATE FUNCTION, SET; without a `;` behind it. It holds for queries
  // that come from here from now on.
  Status define(std::string_view statement);
  // A function of this program, for expressions of what is defined from now on, and of queries:
  // define("NET", functions::scalar(net)).
  Status define(std::string_view name, const functions::Definition& function);
  // A view: a query by a name, for from() and for expressions with IN, EXISTS and so on.
  Status define(std::string_view name, const Query& query);
  Query from(std::string_view table) const { return {definitions_, table}; }

 private:
  std::shared_ptr<const Definitions> definitions_ = std::make_shared<Definitions>();
};

}  // namespace holdfast::stream
