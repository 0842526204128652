// dull_star.hpp: a plan over a star, row by row: no codes, no blocks, no arrays.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/olap/mart/star_plan.hpp>
#include <holdfast/sql/evaluate.hpp>

#include "mart_support.hpp"

namespace holdfast::olap::mart {

class DullStar {
 public:
  DullStar(const Schema& schema, const SalesData& data) : schema_(schema) {
    for (std::size_t table = 0; table < schema.tables.size(); ++table) {
      auto& rows = rows_.emplace_back();
      for (const auto& line : data.tables[table])
        rows.push_back(row_of(schema.tables[table], line));
    }
  }

  // Rows as texts, NULL as "NULL"; in the order of the plan, without its limit and offset.
  std::vector<std::string> answer(const StarPlan& plan) const {
    std::vector<std::pair<sql::Row, std::string>> found;  // Order keys, row.
    const auto add = [&](const sql::Row& row) {
      sql::Row keys;
      for (const auto& key : plan.order)
        keys.push_back(value(*key.value, row));
      std::string text;
      for (const auto& item : plan.items)
        text += text_of(value(*item, row), item->type) + "|";
      found.emplace_back(keys, text);
    };
    std::map<std::string, std::pair<sql::Row, std::vector<sql::Accumulator>>> groups;
    for (const auto& row : joined(plan)) {
      if (!plan.grouped) {
        add(row);
        continue;
      }
      std::string bytes;
      sql::Row keys;
      for (const auto& key : plan.keys) {
        keys.push_back(value(*key, row));
        sql::append_bytes(keys.back(), key->type, bytes);
      }
      auto& [group, gathered] = groups[bytes];
      group = keys;
      gathered.resize(plan.aggregates.size());
      for (std::size_t i = 0; i < gathered.size(); ++i)
        gather(plan.aggregates[i], row, gathered[i]);
    }
    if (plan.grouped && plan.keys.empty() && groups.empty())
      groups[""].second.resize(plan.aggregates.size());
    for (auto& [bytes, group] : groups) {
      auto row = group.first;
      for (std::size_t i = 0; i < group.second.size(); ++i)
        row.push_back(group.second[i].result(plan.aggregates[i]).value());
      if (plan.having == nullptr || value(*plan.having, row).is_true()) add(row);
    }
    return ordered(plan, std::move(found));
  }

  static std::string text_of(const sql::Value& value, const sql::Type& type) {
    return value.null ? "NULL" : sql::text_of(value, type);
  }

 private:
  static sql::Row row_of(const Table& table, const std::string& line) {
    sql::Row row;
    std::size_t at = 0;
    for (const auto& column : table.columns) {
      std::string text;
      bool quoted = at < line.size() && line[at] == '"';
      const auto end = quoted ? line.find('"', at + 1) : line.find(',', at);
      text = quoted ? line.substr(at + 1, end - at - 1) : line.substr(at, end - at);
      at = quoted ? end + 2 : end == std::string::npos ? line.size() : end + 1;
      row.push_back(text.empty() && !quoted ? sql::Value()
                                            : sql::value_of(text, column.type).value());
    }
    return row;
  }

  static sql::Value value(const sql::Expression& expression, const sql::Row& row) {
    sql::Value out;
    sql::evaluate(expression, row, out).value();
    return out;
  }

  static void gather(const sql::Aggregate& aggregate, const sql::Row& row, sql::Accumulator& to) {
    if (aggregate.filter != nullptr && !value(*aggregate.filter, row).is_true()) return;
    to.add(aggregate,
           aggregate.argument == nullptr ? sql::Value() : value(*aggregate.argument, row));
  }

  // The row of a dimension with this key; null: none.
  const sql::Row* find(std::uint32_t table, const sql::Value& key) const {
    const auto& shape = schema_.tables[table];
    for (const auto& row : rows_[table]) {
      if (!key.null && sql::same(row[shape.key], key, shape.columns[shape.key].type)) return &row;
    }
    return nullptr;
  }

  // Rows of the query's columns that pass all conditions.
  std::vector<sql::Row> joined(const StarPlan& plan) const {
    std::vector<sql::Row> all;
    for (const auto& from : rows_[plan.table]) {
      bool passes = std::all_of(plan.inner.begin(), plan.inner.end(), [&](std::uint32_t key) {
        return find(schema_.tables[plan.table].columns[key].references, from[key]) != nullptr;
      });
      if (!passes) continue;
      sql::Row row;
      for (const auto& source : plan.sources) {
        if (!source.joined_by) {
          row.push_back(from[source.column]);
          continue;
        }
        const auto* other = find(source.table, from[*source.joined_by]);
        row.push_back(other == nullptr ? sql::Value() : (*other)[source.column]);
      }
      for (const auto& filter : plan.filters)
        passes = passes && value(*filter, row).is_true();
      if (passes) all.push_back(std::move(row));
    }
    return all;
  }

  static std::vector<std::string> ordered(const StarPlan& plan,
                                          std::vector<std::pair<sql::Row, std::string>> found) {
    std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
      for (std::size_t i = 0; i < plan.order.size(); ++i) {
        const auto &left = a.first[i], &right = b.first[i];
        const auto& key = plan.order[i];
        if (left.null && right.null) continue;
        if (left.null || right.null) return left.null == key.nulls_first;
        const int order = sql::compare(left, right, key.value->type);
        if (order != 0) return (order < 0) != key.descending;
      }
      return false;
    });
    std::vector<std::string> rows;
    for (auto& [keys, text] : found)
      rows.push_back(std::move(text));
    return rows;
  }

  const Schema& schema_;
  std::vector<std::vector<sql::Row>> rows_;
};

}  // namespace holdfast::olap::mart
