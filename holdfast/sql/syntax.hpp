// syntax.hpp: what a text says, before any name is looked up.
//
// Threads  Plain values. Trees are no deeper than kMaxDepth, so that whatever walks them may call
//          itself. A query in an expression counts as an operand of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/sql/position.hpp>
#include <holdfast/sql/type.hpp>

namespace holdfast::sql {

inline constexpr std::uint32_t kMaxDepth = 200;
inline constexpr std::size_t kMaxColumns = 1000;
inline constexpr std::size_t kMaxGroupingSets = 256;
inline constexpr std::size_t kMaxTables = 100;  // Of one FROM; branches of one UNION.

namespace syntax {

enum class Form : std::uint8_t {
  kName,    // name, or qualifier.name
  kNumber,  // text: as written
  kText,    // text
  kTrue,
  kFalse,
  kNull,
  kInterval,   // text; unit in `name`
  kDate,       // DATE '…'
  kTimestamp,  // TIMESTAMP '…'
  kUnary,      // name: - + NOT
  kBinary,     // name: + - * / % = <> < <= > >= AND OR ||
  kIs,         // name: NULL TRUE FALSE UNKNOWN; `negated`
  kDistinct,   // left IS DISTINCT FROM right; `negated`
  kIn,         // arguments: the value, then the list, or `query`; `negated`
  kExists,     // `query`
  kScalar,     // `query`: a value
  kBetween,    // value, low, high; `negated`
  kLike,       // value, pattern[, escape]; `negated`
  kCase,       // pairs of condition and answer, then ELSE if `has_else`
  kCast,       // to `type`; name: CAST or TRY_CAST
  kNested,     // name: ARRAY and MAP of the arguments; ITEM: value[index]
  kField,      // argument.name
  kCall,       // name; `distinct`, `star`; filter is the last argument if `has_filter`; `over`
};

struct Expression;
struct Query;
struct Over;
struct JsonClauses;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Expression {
  Form form = Form::kNull;
  Position at;
  std::string name;       // In capitals, except of kName and texts.
  std::string qualifier;  // Of kName: before the point.
  std::string text;
  Type type;
  const Zone* zone = nullptr;  // Of the session; null: UTC.
  std::vector<ExpressionPointer> arguments;
  std::shared_ptr<const Query> query;
  std::shared_ptr<const Over> over;
  std::shared_ptr<const JsonClauses> json;  // Of JSON_VALUE and so on.
  bool negated = false, has_else = false, distinct = false, star = false, has_filter = false;
  bool ignores_nulls = false;  // ARRAY_AGG(value IGNORE NULLS)
  std::uint32_t depth = 1;
};

enum class JsonAnswer : std::uint8_t {
  kUnsaid,
  kNull,
  kError,
  kDefault,
  kEmptyArray,
  kEmptyObject,
  kTrue,
  kFalse,
};
enum class JsonWrapper : std::uint8_t { kNone, kConditional, kAlways };

struct JsonCase {  // … ON EMPTY, … ON ERROR
  JsonAnswer answer = JsonAnswer::kUnsaid;
  ExpressionPointer value;  // Of DEFAULT.
  Position at;
};
struct JsonClauses {
  bool has_returning = false;
  Type returning;
  Position returning_at;
  JsonWrapper wrapper = JsonWrapper::kNone;
  JsonCase on_empty, on_error;
};

struct OrderItem {
  ExpressionPointer expression;
  bool descending = false;
  bool nulls_first = true;  // NULL is below all values, unless NULLS FIRST or LAST says otherwise.
};

// OVER (PARTITION BY … ORDER BY … ROWS BETWEEN … PRECEDING AND CURRENT ROW), or OVER name.
struct Over {
  Position at;
  std::string name;  // Of WINDOW name AS (…).
  std::vector<ExpressionPointer> partition_by;
  std::vector<OrderItem> order_by;
  bool has_frame = false, rows = false;  // ROWS or RANGE;
  ExpressionPointer preceding;           // null: UNBOUNDED.
};

struct Option {
  std::string key, value;
  Position at;
};

struct ColumnDefinition {
  std::string name;
  Position at;
  Type type;                   // Of a physical column.
  ExpressionPointer computed;  // name AS expression
};

struct CreateTable {
  std::string name;
  Position at;
  bool if_not_exists = false;
  std::vector<ColumnDefinition> columns;
  std::string watermark_column;  // Empty: none.
  Position watermark_at;
  ExpressionPointer watermark;
  std::vector<std::string> primary_key;  // NOT ENFORCED
  Position primary_key_at;
  std::vector<Option> options;
};

// TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL …)
struct WindowCall {
  std::string function;  // TUMBLE, HOP, CUMULATE, SESSION
  Position at;
  std::string time_column;
  std::vector<std::string> partition_by;  // Of SESSION.
  std::vector<ExpressionPointer> sizes;   // HOP: slide, size. The last may be the offset.
};

// A table, a view, a common table, or a query in parentheses; a window of it.
struct TableReference {
  std::string name, alias;           // `name` is empty if there is a `query`.
  std::vector<std::string> columns;  // alias (a, b)
  Position at;
  std::shared_ptr<const Query> query;
  ExpressionPointer unnest;      // UNNEST(array)
  bool with_ordinality = false;  // Of UNNEST.
  std::optional<WindowCall> window;
  ExpressionPointer as_of;  // FOR SYSTEM_TIME AS OF
};

enum class JoinKind : std::uint8_t { kInner, kLeft, kRight, kFull, kSemi, kAnti };

// Of the tables before it. A comma and CROSS JOIN are kInner without a condition.
struct Join {
  JoinKind kind = JoinKind::kInner;
  Position at;
  TableReference table;
  ExpressionPointer on;
  std::vector<std::string> using_columns;
};

struct SelectItem {
  ExpressionPointer expression;  // Null: *, or qualifier.*
  std::string alias, qualifier;
  Position at;
};

struct NamedOver {
  std::string name;
  std::shared_ptr<const Over> over;
};

struct Select {
  Position at;
  bool distinct = false;
  std::vector<SelectItem> items;
  std::optional<TableReference> from;
  std::vector<Join> joins;
  ExpressionPointer where;
  std::vector<ExpressionPointer> group_by;
  // GROUPING SETS, ROLLUP and CUBE: each set has some of `group_by`, by number. Empty: there is one
  // set, of all.
  std::vector<std::vector<std::uint32_t>> grouping_sets;
  ExpressionPointer having;
  std::vector<NamedOver> windows;
};

struct Values {
  Position at;
  std::vector<std::vector<ExpressionPointer>> rows;
};

struct CommonTable {
  std::string name;
  Position at;
  std::vector<std::string> columns;  // name (a, b) AS
  std::shared_ptr<const Query> query;
};

enum class SetOperation : std::uint8_t { kUnionAll, kUnion, kIntersect, kExcept };

// What stands between UNIONs, INTERSECTs and EXCEPTs.
using Term = std::variant<Select, Values, std::shared_ptr<const Query>>;

// WITH … term UNION ALL term EXCEPT term … ORDER BY … LIMIT … OFFSET …
struct Query {
  Position at;
  std::vector<CommonTable> with;
  std::vector<Term> terms;
  std::vector<SetOperation> between;  // Before term i + 1.
  std::vector<OrderItem> order_by;
  std::optional<std::uint64_t> limit, offset;
  std::uint32_t depth = 1;
};

struct QueryStatement {
  Position at;
  std::string into;                  // INSERT INTO this table; empty: to standard output.
  std::vector<std::string> columns;  // INSERT INTO t (a, b)
  std::shared_ptr<const Query> query;
};

struct CreateView {
  std::string name;
  Position at;
  bool if_not_exists = false;
  std::vector<std::string> columns;
  std::shared_ptr<const Query> query;
};

// CREATE FUNCTION name AS 'symbol' LANGUAGE CPP USING LIBRARY 'path'
struct CreateFunction {
  std::string name;
  Position at;
  bool if_not_exists = false;
  std::string symbol, library;
  Position symbol_at, library_at;
};

struct DropFunction {
  std::string name;
  Position at;
  bool if_exists = false;
};

struct SetOption {
  Option option;
};

using Statement =
    std::variant<CreateTable, CreateView, CreateFunction, DropFunction, QueryStatement, SetOption>;

}  // namespace syntax
}  // namespace holdfast::sql
