#include "catalog.hpp"

#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::sql {
namespace {

Status add_columns(const syntax::CreateTable& definition, const UserFunctions& functions,
                   Table& table) {
  Scope physical;
  physical.functions = &functions;
  for (const auto& column : definition.columns) {
    for (const auto& other : table.columns) {
      if (other.name == column.name)
        return error_at(column.at, "there are two columns " + escape(column.name));
    }
    table.columns.push_back({column.name, column.type});
    // A computed column has no place in this scope: others cannot be computed of it.
    physical.add({column.computed ? "$" : column.name, column.type}, definition.name);
  }
  table.computed.resize(table.columns.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (definition.columns[i].computed == nullptr) continue;
    HF_ASSIGN_OR_RETURN(auto bound, bind(*definition.columns[i].computed, physical));
    if (bound->type.kind == Kind::kNull || bound->type.kind == Kind::kInterval)
      return error_at(definition.columns[i].at, "a column cannot be " + name_of(bound->type));
    table.columns[i].type = bound->type;
    if (bound->operation == Operation::kProcessingTime) table.columns[i].role = Role::kProcessing;
    table.computed[i] = folded(std::move(bound));
  }
  return {};
}

Status add_watermark(const syntax::CreateTable& definition, const UserFunctions& functions,
                     Table& table) {
  if (definition.watermark == nullptr) return {};
  Scope scope;
  scope.functions = &functions;
  for (const auto& column : table.columns)
    scope.add(column, table.name);
  HF_ASSIGN_OR_RETURN(table.time_column,
                      find_column(scope, definition.watermark_column, definition.watermark_at));
  const Type& type = table.columns[table.time_column].type;
  if (type.kind != Kind::kTimestamp)
    return error_at(definition.watermark_at, "the watermark is of a TIMESTAMP(3), " +
                                                 escape(definition.watermark_column) + " is " +
                                                 name_of(type));
  HF_ASSIGN_OR_RETURN(auto bound, bind(*definition.watermark, scope));
  if (bound->type.kind != Kind::kTimestamp)
    return error_at(definition.watermark->at,
                    "a watermark is a TIMESTAMP(3), this is " + name_of(bound->type));
  if (bound->type != type)
    return error_at(definition.watermark->at, escape(definition.watermark_column) + " is a " +
                                                  name_of(type) + ", its watermark a " +
                                                  name_of(bound->type));
  table.watermark = folded(std::move(bound));
  table.has_watermark = true;
  table.columns[table.time_column].role = Role::kTime;
  return {};
}

Status add_primary_key(const syntax::CreateTable& definition, Table& table) {
  Scope scope;
  for (const auto& column : table.columns)
    scope.add(column, table.name);
  for (const auto& name : definition.primary_key) {
    HF_ASSIGN_OR_RETURN(const auto column, find_column(scope, name, definition.primary_key_at));
    table.primary_key.push_back(column);
  }
  return {};
}

}  // namespace

std::string_view Table::option(std::string_view key) const {
  for (const auto& option : options) {
    if (option.key == key) return option.value;
  }
  return {};
}

Result<bool> Catalog::is_new(const std::string& name, bool if_not_exists, Position at) const {
  if (!tables_.contains(name) && !views_.contains(name)) return true;
  if (if_not_exists) return false;
  return error_at(at, "the table " + escape(name) + " is there already");
}

Status Catalog::add(const syntax::CreateView& definition) {
  HF_ASSIGN_OR_RETURN(const bool is_new_name,
                      is_new(definition.name, definition.if_not_exists, definition.at));
  if (is_new_name) views_.emplace(definition.name, View{definition.columns, definition.query});
  return {};
}

const View* Catalog::find_view(std::string_view name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? nullptr : &found->second;
}

Status Catalog::add(const syntax::CreateTable& definition) {
  HF_ASSIGN_OR_RETURN(const bool is_new_name,
                      is_new(definition.name, definition.if_not_exists, definition.at));
  if (!is_new_name) return {};
  auto table = std::make_unique<Table>();
  table->name = definition.name;
  table->at = definition.at;
  table->options = definition.options;
  HF_RETURN_IF_ERROR(add_columns(definition, functions_, *table));
  HF_RETURN_IF_ERROR(add_watermark(definition, functions_, *table));
  HF_RETURN_IF_ERROR(add_primary_key(definition, *table));
  for (std::size_t i = 0; i < table->options.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (table->options[i].key == table->options[j].key)
        return error_at(table->options[i].at,
                        "the option '" + escape(table->options[i].key) + "' is there twice");
    }
  }
  tables_.emplace(definition.name, std::move(table));
  return {};
}

Result<const Table*> Catalog::find(std::string_view name, Position at) const {
  const auto found = tables_.find(name);
  if (found != tables_.end()) return static_cast<const Table*>(found->second.get());
  if (views_.contains(name)) return error_at(at, escape(name) + " is a view; a table is wanted");
  std::vector<std::string_view> names;
  for (const auto& [other, table] : tables_)
    names.push_back(other);
  for (const auto& [other, view] : views_)
    names.push_back(other);
  const auto meant = closest(name, names);
  return error_at(
      at, "there is no table " + escape(name),
      meant.empty() ? "CREATE TABLE makes one" : "did you mean " + std::string(meant) + "?");
}

}  // namespace holdfast::sql
