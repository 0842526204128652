// expression_source.hpp: expressions as C++ over runtime/values.hpp.
//
// What has no C++ here is interpreted where it stands: the source calls the interpreter with the
// columns that the expression reads (Host::evaluate), so that nothing is ever refused.
//
// Threads  One at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/aggregate.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/expression.hpp>

namespace holdfast::stream::compile {

// What the source names by number.
struct QueryParts {
  struct Interpreted {
    const sql::Expression* expression = nullptr;  // Of the plan.
    std::vector<std::uint32_t> columns;           // In the order in which they are passed.
    std::vector<sql::Type> types;                 // Theirs.
    std::size_t width = 0;                        // Of the row that it reads.
    std::string text;                             // For people.
  };

  std::vector<Error> failures;
  std::vector<Interpreted> interpreted;
  std::vector<const sql::Expression*> calls;           // Of functions of users; of the plan.
  std::vector<const sql::Aggregate*> user_aggregates;  // Of the plan, too.
  bool makes_texts = false;         // Texts that no row owns; to be freed (MadeTexts).
  const sql::Zone* zone = nullptr;  // That is asked for; a text has one. Null: none.
};

// A computed column of the table that is the clock, where nobody reads it: it is not asked for.
bool is_idle_clock(const sql::Table& table, std::size_t column, bool read);

class ExpressionSource {
 public:
  // `columns`: how the source calls each column; `names`: how people do.
  ExpressionSource(std::vector<std::string> columns, std::vector<std::string> names,
                   QueryParts& parts)
      : columns_(std::move(columns)), names_(std::move(names)), parts_(parts) {}

  // An expression of type Maybe<cpp_type(type)>. `expression` outlives the parts.
  std::string of(const sql::Expression& expression);
  // Some row may end the query with an error, or the interpreter is called.
  static bool can_fail(const sql::Expression& expression);
  // It can neither fail nor make a text: it may stand where there is no Run.
  static bool is_plain(const sql::Expression& expression);
  // The arguments of a call of a function of a user: "Arguments<1>{{slot(…)}}".
  std::string slots(const std::vector<const sql::Expression*>& arguments);
  // For expressions that are to stand in one function: lines to begin it with. They make texts once
  // that several of the expressions make alike; of() uses these from now on.
  std::vector<std::string> share(const std::vector<const sql::Expression*>& all);

 private:
  struct Shared {
    const sql::Expression* expression;
    std::string name;
  };

  // Not as one that is shared.
  std::string of_itself(const sql::Expression& e);
  std::string arithmetic(const sql::Expression& e);
  std::string made_text(const sql::Expression& e);
  std::string junction(const sql::Expression& e);
  std::string choice(const sql::Expression& e, std::size_t from);
  // The expression as `to`, where that cannot fail.
  std::string converted(const sql::Expression& e, const sql::Type& to);
  std::string time_of(std::string text, const sql::Type& from, const sql::Type& to);
  std::string interpreted(const sql::Expression& e);
  std::string called(const sql::Expression& e);
  // operation(head…, a, b), where b is not asked for if a is NULL and b can fail.
  std::string of_two(const std::string& operation, const std::vector<std::string>& head,
                     const sql::Expression& e);
  std::vector<std::string> all(const sql::Expression& e);
  std::string failure(Error error);

  std::vector<std::string> columns_, names_;
  QueryParts& parts_;
  std::vector<Shared> shared_;
};

}  // namespace holdfast::stream::compile
