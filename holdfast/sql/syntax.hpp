// syntax.hpp: what a text says, before any name is looked up.
//
// Threads  Plain values. Trees are no deeper than kMaxDepth, so that whatever walks them may call
//          itself.
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
  kIn,         // arguments: the value, then the list; `negated`
  kBetween,    // value, low, high; `negated`
  kLike,       // value, pattern[, escape]; `negated`
  kCase,       // pairs of condition and answer, then ELSE if `has_else`
  kCast,       // to `type`; name: CAST or TRY_CAST
  kCall,       // name; `distinct`, `star`; filter is the last argument if `has_filter`
};

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Expression {
  Form form = Form::kNull;
  Position at;
  std::string name;       // In capitals, except of kName and texts.
  std::string qualifier;  // Of kName: before the point.
  std::string text;
  Type type;
  std::vector<ExpressionPointer> arguments;
  bool negated = false, has_else = false, distinct = false, star = false, has_filter = false;
  std::uint32_t depth = 1;
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
  std::vector<Option> options;
};

// TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL …)
struct WindowCall {
  std::string function;  // TUMBLE, HOP
  Position at;
  std::string time_column;
  std::vector<ExpressionPointer> sizes;  // HOP: slide, size. The last may be the offset.
};

struct TableReference {
  std::string name, alias;
  Position at;
  std::optional<WindowCall> window;
};

struct SelectItem {
  ExpressionPointer expression;  // Null: *
  std::string alias;
  Position at;
};

struct Select {
  Position at;
  std::vector<SelectItem> items;
  TableReference from;
  ExpressionPointer where;
  std::vector<ExpressionPointer> group_by;
  ExpressionPointer having;
};

struct Query {
  Position at;
  std::string into;                  // INSERT INTO this table; empty: to standard output.
  std::vector<std::string> columns;  // INSERT INTO t (a, b)
  Select select;
};

struct SetOption {
  Option option;
};

using Statement = std::variant<CreateTable, Query, SetOption>;

}  // namespace syntax
}  // namespace holdfast::sql
