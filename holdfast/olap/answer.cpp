#include <holdfast/olap/answer.hpp>

#include <algorithm>
#include <charconv>
#include <compare>
#include <map>
#include <string>
#include <utility>

namespace holdfast::olap {
namespace {

struct OutputRow {
  std::vector<std::string> labels;
  std::int64_t sum = 0;
};

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Attributes that are numbers compare as such.
std::strong_ordering compare_labels(const StarQuery& query, std::size_t group, const OutputRow& a,
                                    const OutputRow& b) {
  const auto attribute = query.groups[group];
  if (shape(attribute.dimension).numeric[attribute.number])
    return number_of(a.labels[group]) <=> number_of(b.labels[group]);
  return a.labels[group] <=> b.labels[group];
}

bool before(const StarQuery& query, const OutputRow& a, const OutputRow& b) {
  for (const auto order : query.order) {
    const std::size_t sum_at = query.sum_first ? 0 : query.groups.size();
    const auto result =
        order.column == sum_at
            ? a.sum <=> b.sum
            : compare_labels(query, order.column - (query.sum_first ? 1u : 0u), a, b);
    if (result != 0) return order.descending ? result > 0 : result < 0;
  }
  return a.labels < b.labels;
}

// Groups with the same labels are one.
std::vector<OutputRow> rows_of(const StarQuery& query, const BoundQuery& bound,
                               const std::vector<Cell>& cells) {
  std::map<std::vector<std::string>, std::int64_t> sums;
  for (std::uint32_t number = 0; number < cells.size(); ++number) {
    if (cells[number].rows == 0) continue;
    std::vector<std::string> labels;
    for (const auto& group : bound.groups)
      labels.push_back(group.labels[number / group.stride % group.labels.size()]);
    sums[std::move(labels)] += cells[number].sum;
  }
  std::vector<OutputRow> rows;
  for (auto& [labels, sum] : sums)
    rows.push_back({labels, sum});
  std::sort(rows.begin(), rows.end(),
            [&](const OutputRow& a, const OutputRow& b) { return before(query, a, b); });
  return rows;
}

bool wants_quotes(const std::string& field) {
  return field.find_first_of(",\"\r\n") != std::string::npos;
}

void append_line(const std::vector<std::string>& fields, std::string& text) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) text += ',';
    if (!wants_quotes(fields[i])) {
      text += fields[i];
      continue;
    }
    text += '"';
    for (const char letter : fields[i])
      text.append(letter == '"' ? 2 : 1, letter);
    text += '"';
  }
  text += '\n';
}

}  // namespace

std::string ResultTable::csv() const {
  std::string text;
  append_line(header, text);
  for (const auto& row : rows)
    append_line(row, text);
  return text;
}

ResultTable to_table(const StarQuery& query, const BoundQuery& bound,
                     const std::vector<Cell>& cells) {
  ResultTable table;
  const auto sum_at = [&](std::vector<std::string>& row) {
    return query.sum_first ? row.begin() : row.end();
  };
  for (const auto attribute : query.groups)
    table.header.emplace_back(name(attribute));
  table.header.insert(sum_at(table.header), query.sum_name);
  for (auto& row : rows_of(query, bound, cells)) {
    row.labels.insert(sum_at(row.labels), std::to_string(row.sum));
    table.rows.push_back(std::move(row.labels));
  }
  // Without groups there is one row, of NULL where no row passed.
  if (query.groups.empty() && table.rows.empty()) table.rows.push_back({""});
  return table;
}

Result<Answer> answer(const StarQuery& query, const StarStore& store, Team& team,
                      const Kernels& kernels) {
  HF_ASSIGN_OR_RETURN(const auto bound, bind(query, store.catalogue()));
  HF_ASSIGN_OR_RETURN(const auto result, scan(store, bound, team, kernels));
  return Answer{to_table(query, bound, result.cells), result.rows};
}

}  // namespace holdfast::olap
