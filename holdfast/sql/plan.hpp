// plan.hpp: what a query does, as a chain of nodes from its table to its sink.
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

namespace holdfast::sql {

// Windows of `size_ms`, one every `slide_ms`; those of TUMBLE slide by their size. They begin at
// multiples of the slide since 1970, moved by the offset. The size is a multiple of the slide.
struct Window {
  std::int64_t size_ms = 0, slide_ms = 0, offset_ms = 0;
  std::uint32_t time_column = 0;

  bool operator==(const Window&) const = default;
};

// Rows of a table, its computed columns among them; the watermark follows them.
struct Scan {
  const Table* table = nullptr;
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
// Rows of one key: [keys, aggregates, window_start, window_end, window_time], the last three if
// there is a window. Without one the rows come when the input ends.
struct Group {
  std::vector<ExpressionPointer> keys;
  std::vector<Aggregate> aggregates;
  bool windowed = false;
  Window window;
};

struct Node {
  std::variant<Scan, Filter, Project, AssignWindows, Group> what;
  std::vector<Column> columns;  // Of its output.
};

struct Plan {
  std::vector<Node> nodes;      // The first is a Scan; each reads the one before it.
  const Table* sink = nullptr;  // Null: standard output.
  bool updating = false;        // Its rows change while the input goes on.

  const Table& source() const { return *std::get<Scan>(nodes.front().what).table; }
  const std::vector<Column>& columns() const { return nodes.back().columns; }
};

// For people, the sink first. Equal texts are equal plans: a checkpoint keeps it.
std::string text_of(const Plan& plan);

}  // namespace holdfast::sql
