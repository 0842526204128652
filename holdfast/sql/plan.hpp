// plan.hpp: what a query does, as a graph of nodes from its tables to its sink.
//
// Threads  Plain values. A plan points to tables of the catalog, which outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <holdfast/sql/aggregate.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/ranking.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

inline constexpr std::size_t kMaxNodes = 2000;

// Windows of `size_ms`, one every `slide_ms`; those of TUMBLE slide by their size. They begin at
// multiples of the slide since 1970, moved by the offset. The size is a multiple of the slide.
// Cumulating ones begin at multiples of the size, and end each slide until they have that size.
struct Window {
  std::int64_t size_ms = 0, slide_ms = 0, offset_ms = 0;
  std::uint32_t time_column = 0;
  bool cumulates = false;

  bool operator==(const Window&) const = default;
};

// Rows of a table, its computed columns among them; the watermark follows them.
struct Scan {
  const Table* table = nullptr;
  bool looked_up = false;  // It is the table of a kLookup: read before all others.
};
// These rows, once.
struct Literals {
  std::vector<Row> rows;
};
struct Filter {
  ExpressionPointer predicate;
};
struct Project {
  std::vector<ExpressionPointer> expressions;
};
// Each row once per window it is in, with window_start, window_end and window_time behind it.
struct AssignWindows {
  Window window;
};
// The same of sessions: rows of one key that are at most `gap_ms` apart. Rows come when their
// session has ended.
struct AssignSessions {
  std::uint32_t time_column = 0;
  std::int64_t gap_ms = 0;
  std::vector<ExpressionPointer> keys;
};
// Each row with the time of the clock in this column. From here on the watermark is that of the
// clock: it goes on where no row comes, and times of events mean nothing to what is above.
struct ProcessingTime {
  std::uint32_t column = 0;
};
// Rows as they are. The watermark of instants becomes one of the wall clock in this zone, as the
// time attribute above does.
struct WallClock {
  const Zone* zone = nullptr;
};
// Rows of one key: [keys, aggregates, window_start, window_end, window_time], the last three if
// there is a window. Windows are those of `window`, or have been assigned: then `by_columns`, and
// their bounds are two columns. Groups without a window change with each row.
struct Group {
  std::vector<ExpressionPointer> keys;
  std::vector<Aggregate> aggregates;
  bool windowed = false, by_columns = false;
  Window window;
  std::uint32_t start_column = 0, end_column = 0;
  // Rows that come so long behind the end of a window change what was shown of it. Else such rows
  // are late. Of windows by columns.
  std::int64_t lateness_ms = 0;
  // Windows of so many rows of one key, as they come; each `row_slide` rows one begins. A window is
  // shown when it has all its rows. `windowed` is false then. 0: there are none.
  std::int64_t row_size = 0, row_slide = 0;
};

// Changes of the groups of windows. A change of a window that has been shown waits for `delay_ms`
// by the clock, and what comes meanwhile goes out with it. It waits no longer than late rows change
// the window: `lateness_ms` behind its end.
struct DelayChanges {
  std::vector<ExpressionPointer> keys;  // Of the group, beside the bounds.
  std::uint32_t start_column = 0, end_column = 0;
  std::int64_t delay_ms = 0, lateness_ms = 0;
};

// Its result depends on the order of rows: it is not put together of parts.
bool depends_on_order(const Group& group);

enum class JoinForm : std::uint8_t {
  kRegular,   // Each row of one side with all there ever were of the other.
  kWindow,    // Rows of one window; they come when it has ended.
  kInterval,  // Rows whose times are near.
  kTemporal,  // Each left row with the newest right row of its key that is not younger than it.
  kLookup,    // Each left row with the rows that a table has now.
};
using JoinKind = syntax::JoinKind;

// Pairs of a left and a right row: [left, right]; kSemi, kAnti: [left]. The rows have equal keys,
// none of which is NULL, and hold the condition, which reads [left, right] (null: none).
struct Join {
  JoinKind kind = JoinKind::kInner;
  JoinForm form = JoinForm::kRegular;
  std::vector<ExpressionPointer> left_keys, right_keys;
  ExpressionPointer condition;
  // kInterval: low_ms <= left time - right time <= high_ms. kTemporal: the columns of the times.
  // kWindow: those of window_end.
  std::uint32_t left_time = 0, right_time = 0;
  std::int64_t low_ms = 0, high_ms = 0;
};
// Each row once for each element of an array, or entry of a map, with it behind it: an element that
// is a row as its fields, an entry as key and value, then its number from 1 if `numbered`. Rows
// whose array is NULL or empty go, or are shown once beside NULLs if `keeps_all`.
struct Unnest {
  ExpressionPointer array;
  bool keeps_all = false, numbered = false;
};
// The rows of all inputs.
struct Union {};

struct OrderKey {
  ExpressionPointer value;
  bool descending = false, nulls_first = true;
};
// Of each partition, in this order, the rows `first` to `last` (counted from 1), with their number
// behind them if `numbered`. `by_columns`: the partition is a window; rows come when it has ended.
struct Rank {
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  std::vector<ExpressionPointer> partition;
  std::vector<OrderKey> order;
  std::uint64_t first = 1, last = kAll;
  bool numbered = true, by_columns = false;
  bool latest = false;  // Of equal rows the one that came last is first.
  // The earliest by event time, when the watermark has come to it: nothing corrects it.
  bool earliest = false;
  Ranking ranking = Ranking::kRowNumber;
  std::uint32_t end_column = 0;
};
// Each row with aggregates of those before it in the order of their times, and of itself: [row,
// aggregates]. Frames are of rows or of milliseconds; kUnbounded: all.
struct OverAggregate {
  static constexpr std::int64_t kUnbounded = -1;
  std::vector<ExpressionPointer> partition;
  std::uint32_t time_column = 0;
  bool rows = false;
  bool as_they_come = false;            // In this order; then `rows`, and without a time_column.
  std::int64_t preceding = kUnbounded;  // Rows before the current one, or milliseconds.
  std::vector<Aggregate> aggregates;
};
// Rows in this order when the input has ended, `limit` of them behind the first `offset`; or as
// they come, if `at_once`.
struct Sort {
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  std::vector<OrderKey> keys;
  std::uint64_t offset = 0, limit = kAll;
  bool at_once = false;
};
// What is left of a changelog when the input has ended.
struct Materialize {};

using Operator = std::variant<Scan, Literals, Filter, Project, AssignWindows, AssignSessions,
                              ProcessingTime, WallClock, Group, DelayChanges, Join, Unnest, Union,
                              Rank, OverAggregate, Sort, Materialize>;

struct Node {
  Operator what;
  std::vector<Column> columns;        // Of its output.
  std::vector<std::uint32_t> inputs;  // Numbers of nodes before it.
  bool updating = false;              // Its rows change while the input goes on.
};

// What rows do that come behind the end of their window: so long they change what was shown of it,
// and changes wait so long for others. 0: they are late; changes go out at once.
struct Lateness {
  std::int64_t allowed_ms = 0, delay_ms = 0;
};

struct Plan {
  std::vector<Node> nodes;           // Inputs come before what reads them. The last is the root.
  const Table* sink = nullptr;       // Null: standard output.
  bool updating = false;             // Of the root.
  const Table* late_rows = nullptr;  // Takes what operators drop as late; null: nobody does.

  // A scan, and each node reads the one before it.
  bool is_chain() const;
  const Table& source() const { return *std::get<Scan>(nodes.front().what).table; }
  const std::vector<Column>& columns() const { return nodes.back().columns; }
};

// For people, the sink first. Equal texts are equal plans: a checkpoint keeps it.
std::string text_of(const Plan& plan);
// One node that reads some of `nodes`.
std::string text_of(const Node& node, const std::vector<Node>& nodes);
// `names`: of the columns of all its inputs.
std::string text_of(const Node& node, const std::vector<Node>& nodes,
                    const std::vector<std::string>& names);
std::vector<std::string> names_of(const std::vector<Column>& columns);

}  // namespace holdfast::sql
