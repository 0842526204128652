#include <holdfast/olap/mart/program.hpp>

#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/operations.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::olap::mart {
namespace {

using sql::Expression;
using sql::Operation;

// The slot of all columns of the expression, if they have one in common.
std::optional<std::uint32_t> common_slot(const Expression& e, const Columns& columns) {
  std::optional<std::uint32_t> common;
  for (const auto column : sql::columns_of(e)) {
    const auto slot = columns.slot(column);
    if (!slot || (common && *common != *slot)) return std::nullopt;
    common = slot;
  }
  return common;
}

void fill(const sql::Value& value, Form form, std::size_t size, Vector& out) {
  out.reset(form, size);
  if (value.null) return out.null.assign(size, 1);
  switch (form) {
    case Form::kNumbers: return out.numbers.assign(size, static_cast<std::int64_t>(value.number));
    case Form::kWide: return out.wide.assign(size, value.number);
    case Form::kReals: return out.reals.assign(size, value.real);
    case Form::kTexts: return out.texts.assign(size, value.text);
  }
}

template <class T>
void look_up(const std::vector<T>& values, const std::vector<std::uint32_t>& indexes,
             std::vector<T>& to) {
  for (std::size_t i = 0; i < indexes.size(); ++i)
    to[i] = values[indexes[i]];
}

class NoRows : public Input {
 public:
  Status values(std::uint32_t, std::span<const std::uint32_t>, Vector&) const override {
    return Error{Errc::kUnsupported, "star: no row"};
  }
};

}  // namespace

Status Input::indexes(std::uint32_t, std::span<const std::uint32_t>,
                      std::vector<std::uint32_t>&) const {
  return Error{Errc::kUnsupported, "star: no slot"};
}

Result<Vector> NoSlots::over(std::uint32_t, const Expression&) const {
  return Error{Errc::kUnsupported, "star: no slot"};
}

Result<Program> Program::compile(const Expression& e, const Columns& columns) {
  Program program(e);
  if (e.operation == Operation::kLiteral) return program;
  if (const auto slot = common_slot(e, columns)) {
    auto values = columns.over(*slot, e);
    const bool column = e.operation == Operation::kColumn;
    if (!values && (column || values.code() != Errc::kInvalidOption))
      return std::move(values).error();
    if (values) {
      program.slot_ = slot;
      program.values_ = std::make_shared<const Vector>(*std::move(values));
      return program;
    }
  }
  for (const auto& argument : e.arguments) {
    HF_ASSIGN_OR_RETURN(auto part, compile(*argument, columns));
    program.arguments_.push_back(std::move(part));
  }
  return program;
}

Status Program::run_lookup(const Input& input, std::span<const std::uint32_t> rows,
                           Vector& out) const {
  std::vector<std::uint32_t> indexes;
  HF_RETURN_IF_ERROR(input.indexes(*slot_, rows, indexes));
  out.reset(form_, rows.size());
  switch (form_) {
    case Form::kNumbers: look_up(values_->numbers, indexes, out.numbers); break;
    case Form::kWide: look_up(values_->wide, indexes, out.wide); break;
    case Form::kReals: look_up(values_->reals, indexes, out.reals); break;
    case Form::kTexts:
      look_up(values_->texts, indexes, out.texts);
      out.keep(values_);
      break;
  }
  if (values_->null.empty()) return {};
  out.null.resize(rows.size());
  look_up(values_->null, indexes, out.null);
  return {};
}

void Program::look_up_numbers(Vector numbers) {
  form_ = Form::kNumbers;
  values_ = std::make_shared<const Vector>(std::move(numbers));
}

// AND stops at false, OR at true, for each row: what stands behind is not computed then.
Status Program::run_junction(const Input& input, std::span<const std::uint32_t> rows,
                             Vector& out) const {
  const bool decisive = expression_->operation == Operation::kOr;
  out.reset(Form::kNumbers, rows.size());
  std::vector<std::uint32_t> open(rows.begin(), rows.end());
  std::vector<std::uint32_t> places(rows.size());
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    places[i] = i;
    out.numbers[i] = decisive ? 0 : 1;
  }
  Vector values;
  for (const auto& argument : arguments_) {
    HF_RETURN_IF_ERROR(argument.run(input, open, values));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto place = places[i];
      if (values.is_null(i)) {
        out.set_null(place);
      } else if ((values.numbers[i] != 0) == decisive) {
        out.numbers[place] = decisive ? 1 : 0;
        if (HF_MUTANT("O47", !out.null.empty(), false)) out.null[place] = 0;
        continue;
      }
      open[kept] = open[i];
      places[kept++] = place;
    }
    open.resize(kept), places.resize(kept);
  }
  return {};
}

// An answer is computed for the rows that it is for.
Status Program::run_choice(const Input& input, std::span<const std::uint32_t> rows,
                           Vector& out) const {
  const auto form = form_of(type());
  out.reset(form, rows.size());
  std::vector<std::uint32_t> open(rows.begin(), rows.end()), places(rows.size());
  for (std::uint32_t i = 0; i < places.size(); ++i)
    places[i] = i;
  Vector truth, answers;
  const auto answer = [&](const Program& branch, const std::vector<std::uint32_t>& those,
                          const std::vector<std::uint32_t>& at) -> Status {
    HF_RETURN_IF_ERROR(branch.run(input, those, answers));
    for (std::size_t i = 0; i < those.size(); ++i)
      out.copy(form, at[i], answers, i);
    return {};
  };
  for (std::size_t branch = 0; branch + 1 < arguments_.size(); branch += 2) {
    HF_RETURN_IF_ERROR(arguments_[branch].run(input, open, truth));
    std::vector<std::uint32_t> those, at, left, left_at;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const bool holds = !truth.is_null(i) && truth.numbers[i] != 0;
      (holds ? those : left).push_back(open[i]);
      (holds ? at : left_at).push_back(places[i]);
    }
    HF_RETURN_IF_ERROR(answer(arguments_[branch + 1], those, at));
    open = std::move(left), places = std::move(left_at);
  }
  return answer(arguments_.back(), open, places);
}

Status Program::run_arguments(const Input& input, std::span<const std::uint32_t> rows,
                              std::vector<Vector>& arguments) const {
  arguments.resize(arguments_.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    HF_RETURN_IF_ERROR(arguments_[i].run(input, rows, arguments[i]));
  return {};
}

Status Program::run(const Input& input, std::span<const std::uint32_t> rows, Vector& out) const {
  if (slot_) return run_lookup(input, rows, out);
  switch (expression_->operation) {
    case Operation::kLiteral:
      return fill(expression_->literal, form_of(type()), rows.size(), out), Status();
    case Operation::kColumn: return input.values(expression_->column, rows, out);
    case Operation::kAnd:
    case Operation::kOr: return run_junction(input, rows, out);
    case Operation::kCase: return run_choice(input, rows, out);
    default: break;
  }
  std::vector<Vector> arguments;
  HF_RETURN_IF_ERROR(run_arguments(input, rows, arguments));
  return run_operation(*expression_, arguments, rows.size(), out);
}

sql::ExpressionPointer folded_exactly(sql::ExpressionPointer expression) {
  return sql::folded(std::move(expression), [](const Expression& e) -> Result<sql::Value> {
    HF_ASSIGN_OR_RETURN(const auto program, Program::compile(e, NoSlots()));
    const std::uint32_t row = 0;
    Vector value;
    HF_RETURN_IF_ERROR(program.run(NoRows(), {&row, 1}, value));
    return value.value(e.type, 0);
  });
}

}  // namespace holdfast::olap::mart
