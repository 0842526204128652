// catalog.hpp: the tables that CREATE TABLE has made.
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

namespace holdfast::sql {

struct Column {
  std::string name;
  Type type;
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
  std::vector<syntax::Option> options;

  // Of an option; empty if it is not there.
  std::string_view option(std::string_view key) const;
};

class Catalog {
 public:
  // Errors: kInvalidOption (a name that is there, a watermark that is no timestamp, …).
  Status add(const syntax::CreateTable& definition);
  // Errors: kInvalidOption, with the nearest name.
  Result<const Table*> find(std::string_view name, Position at) const;

 private:
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
};

}  // namespace holdfast::sql
