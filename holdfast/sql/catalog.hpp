// catalog.hpp: the tables that CREATE TABLE has made, and the functions of users.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/syntax.hpp>
#include <holdfast/sql/user_functions.hpp>

namespace holdfast::sql {

// What a column of times is to windows and joins.
enum class Role : std::uint8_t {
  kPlain,
  kTime,         // The watermark is of it: no row that comes later is older, but for late ones.
  kWindowStart,  // Bounds of the window that was assigned to the row.
  kWindowEnd,
  kWindowTime,  // window_end - 1 ms: as kTime.
  kProcessing,  // PROCTIME(): the time at which it is looked at.
};

struct Column {
  std::string name;
  Type type;
  Role role = Role::kPlain;

  bool is_time() const { return role == Role::kTime || role == Role::kWindowTime; }
};

struct Table {
  std::string name;
  Position at;
  std::vector<Column> columns;
  // By column: null for one that the connector reads; else computed of columns that it reads.
  std::vector<ExpressionPointer> computed;
  bool has_watermark = false;
  std::uint32_t time_column = 0;
  ExpressionPointer watermark;
  std::vector<std::uint32_t> primary_key;  // Columns; empty: none.
  std::vector<syntax::Option> options;

  // The value of an option; empty if it is not set.
  std::string_view option(std::string_view key) const;
};

// A query by a name.
struct View {
  std::vector<std::string> columns;  // Empty: those of the query.
  std::shared_ptr<const syntax::Query> query;
};

class Catalog {
 public:
  Status add(const syntax::CreateView& definition);
  // Null: there is none.
  const View* find_view(std::string_view name) const;
  // Errors: kInvalidOption (a name that is there, a watermark that is no timestamp, …).
  Status add(const syntax::CreateTable& definition);
  // Errors: kInvalidOption, with the nearest name.
  Result<const Table*> find(std::string_view name, Position at) const;
  UserFunctions& functions() { return functions_; }
  const UserFunctions& functions() const { return functions_; }

 private:
  Result<bool> is_new(const std::string& name, bool if_not_exists, Position at) const;

  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
  std::map<std::string, View, std::less<>> views_;
  UserFunctions functions_;
};

}  // namespace holdfast::sql
