// program.hpp: an expression over the rows of one table, by arrays of values.
//
// What depends on one index column alone is computed once for each of its values, and looked up
// for each row: a condition on a dimension's attributes, or on a text of few values. Where that
// fails, because a row that no query may reach has no answer, it is computed row by row instead.
//
// Semantics  Those of sql::evaluate(), but for whole numbers that do not fit their type: these are
//            errors here, and wrap there.
// Errors     kInvalidOption, with line and column.
// Threads    A Program may be run by any number of threads, each with Scratch of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/vector.hpp>
#include <holdfast/sql/expression.hpp>

namespace holdfast::olap::mart {

// What a program reads of some rows.
class Input {
 public:
  virtual ~Input() = default;
  // Values of a column that has no slot.
  virtual Status values(std::uint32_t column, std::span<const std::uint32_t> rows,
                        Vector& to) const = 0;
  // Indexes of a slot; kUnsupported where there are none.
  virtual Status indexes(std::uint32_t slot, std::span<const std::uint32_t> rows,
                         std::vector<std::uint32_t>& to) const;
};

// What the columns of a table are to a program.
class Columns {
 public:
  virtual ~Columns() = default;
  // The index column that leads to the column's values; nothing: it has its values itself.
  virtual std::optional<std::uint32_t> slot(std::uint32_t column) const = 0;
  // The expression, all of whose columns have this slot, for each index of it.
  virtual Result<Vector> over(std::uint32_t slot, const sql::Expression& expression) const = 0;
};

// Columns that all have their values themselves.
class NoSlots : public Columns {
 public:
  std::optional<std::uint32_t> slot(std::uint32_t) const override { return std::nullopt; }
  Result<Vector> over(std::uint32_t slot, const sql::Expression& expression) const override;
};

class Program {
 public:
  // The expression must outlive the program.
  static Result<Program> compile(const sql::Expression& expression, const Columns& columns);

  const sql::Type& type() const { return expression_->type; }
  // Of what run() gives.
  Form form() const { return form_; }
  Status run(const Input& input, std::span<const std::uint32_t> rows, Vector& out) const;
  // Where all of it is looked up: the slot, and the value for each index.
  std::optional<std::uint32_t> slot() const { return slot_; }
  const std::shared_ptr<const Vector>& looked_up() const { return values_; }
  // From now on these are looked up in the slot, whole numbers.
  void look_up_numbers(Vector numbers);
  bool is_literal() const { return expression_->operation == sql::Operation::kLiteral; }

 private:
  explicit Program(const sql::Expression& expression)
      : expression_(&expression), form_(form_of(expression.type)) {}
  Status run_arguments(const Input& input, std::span<const std::uint32_t> rows,
                       std::vector<Vector>& arguments) const;
  Status run_lookup(const Input& input, std::span<const std::uint32_t> rows, Vector& out) const;
  Status run_junction(const Input& input, std::span<const std::uint32_t> rows, Vector& out) const;
  Status run_choice(const Input& input, std::span<const std::uint32_t> rows, Vector& out) const;

  const sql::Expression* expression_;
  Form form_;
  std::optional<std::uint32_t> slot_;
  std::shared_ptr<const Vector> values_;
  std::vector<Program> arguments_;
};

// As sql::folded(), but by programs: a number that does not fit its type does not become one that
// does. The expression stays, and is an error if a row needs it.
sql::ExpressionPointer folded_exactly(sql::ExpressionPointer expression);

}  // namespace holdfast::olap::mart
