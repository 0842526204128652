#include <holdfast/olap/answer.hpp>

#include <algorithm>
#include <charconv>
#include <compare>
#include <string>
#include <utility>

namespace holdfast::olap {
namespace {

// The different labels of a group attribute in their order, and the rank of each place.
struct RankedLabels {
  std::vector<std::string> labels;
  std::vector<std::uint32_t> rank;
};

RankedLabels ranked(const GroupLabels& group, Attribute attribute) {
  const bool numeric = is_numeric(attribute);
  const auto before = [&](const std::string& a, const std::string& b) {
    return numeric ? number_of(a) < number_of(b) : a < b;
  };
  RankedLabels ranked{group.labels, {}};
  std::sort(ranked.labels.begin(), ranked.labels.end(), before);
  ranked.labels.erase(std::unique(ranked.labels.begin(), ranked.labels.end()), ranked.labels.end());
  for (const auto& label : group.labels)
    ranked.rank.push_back(static_cast<std::uint32_t>(
        std::lower_bound(ranked.labels.begin(), ranked.labels.end(), label, before) -
        ranked.labels.begin()));
  return ranked;
}

struct OutputRow {
  std::uint64_t key;  // The ranks of the labels, the first group's being the highest digit.
  std::int64_t sum;
};

// The output in numbers: rows by their ranks, and how a rank is found in a key.
class Output {
 public:
  Output(const StarQuery& query, std::span<const GroupLabels> labels)
      : query_(query), labels_(labels) {
    for (std::size_t i = 0; i < query.groups.size(); ++i)
      groups_.push_back(ranked(labels[i], query.groups[i]));
    weights_.resize(groups_.size());
    std::uint64_t weight = 1;
    for (std::size_t i = groups_.size(); i-- > 0; weight *= groups_[i].labels.size())
      weights_[i] = weight;
  }

  // Groups with the same labels are one; in the order of the query.
  std::vector<OutputRow> rows(const std::vector<Cell>& cells) const {
    std::vector<OutputRow> rows;
    for (std::uint32_t number = 0; number < cells.size(); ++number) {
      if (cells[number].rows != 0) rows.push_back({key_of(number), cells[number].sum});
    }
    std::sort(rows.begin(), rows.end(),
              [](const OutputRow& a, const OutputRow& b) { return a.key < b.key; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].key == rows[kept].key)
        rows[kept].sum += rows[i].sum;
      else
        rows[++kept] = rows[i];
    }
    if (!rows.empty()) rows.resize(kept + 1);
    std::sort(rows.begin(), rows.end(),
              [this](const OutputRow& a, const OutputRow& b) { return before(a, b); });
    return rows;
  }
  const std::string& label(const OutputRow& row, std::size_t group) const {
    return groups_[group].labels[rank(row, group)];
  }

 private:
  std::uint64_t key_of(std::uint32_t number) const {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const auto& group = labels_[i];
      key += weights_[i] * groups_[i].rank[number / group.stride % group.labels.size()];
    }
    return key;
  }
  std::uint64_t rank(const OutputRow& row, std::size_t group) const {
    return row.key / weights_[group] % groups_[group].labels.size();
  }
  bool before(const OutputRow& a, const OutputRow& b) const {
    for (const auto order : query_.order) {
      const std::size_t sum_at = query_.sum_first ? 0 : groups_.size();
      const std::size_t group = order.column - (query_.sum_first ? 1u : 0u);
      const auto result =
          order.column == sum_at ? a.sum <=> b.sum : rank(a, group) <=> rank(b, group);
      if (result != 0) return order.descending ? result > 0 : result < 0;
    }
    return a.key < b.key;
  }

  const StarQuery& query_;
  std::span<const GroupLabels> labels_;
  std::vector<RankedLabels> groups_;
  std::vector<std::uint64_t> weights_;
};

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

bool is_numeric(Attribute attribute) {
  return shape(attribute.dimension).numeric[attribute.number];
}

std::int64_t number_of(std::string_view text) {
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string ResultTable::csv() const {
  std::string text;
  append_line(header, text);
  for (const auto& row : rows)
    append_line(row, text);
  return text;
}

ResultTable to_table(const StarQuery& query, std::span<const GroupLabels> groups,
                     const std::vector<Cell>& cells) {
  ResultTable table;
  const auto sum_at = [&](std::vector<std::string>& row) {
    return query.sum_first ? row.begin() : row.end();
  };
  for (const auto attribute : query.groups)
    table.header.emplace_back(name(attribute));
  table.header.insert(sum_at(table.header), query.sum_name);
  if (!cells.empty()) {
    const Output output(query, groups);
    for (const OutputRow& row : output.rows(cells)) {
      std::vector<std::string> fields;
      fields.reserve(query.groups.size() + 1);
      for (std::size_t i = 0; i < query.groups.size(); ++i)
        fields.push_back(output.label(row, i));
      fields.insert(sum_at(fields), std::to_string(row.sum));
      table.rows.push_back(std::move(fields));
    }
  }
  // Without groups there is one row, of NULL where no row passed.
  if (query.groups.empty() && table.rows.empty()) table.rows.push_back({""});
  return table;
}

Result<Answer> answer(const StarQuery& query, const StarVersion& star, Team& team,
                      const Kernels& kernels) {
  OperatorClock clock;
  Answer answer;
  HF_ASSIGN_OR_RETURN(const auto bound, bind(query, star.catalogue()));
  answer.seconds.bind = clock.lap();
  HF_ASSIGN_OR_RETURN(const auto result, scan(star, bound, team, kernels));
  answer.rows = result.rows;
  answer.seconds.scan = clock.lap();
  answer.table = to_table(query, bound.groups, result.cells);
  answer.seconds.order = clock.lap();
  return answer;
}

Result<Answer> answer(const StarQuery& query, const StarStore& store, Team& team,
                      const Kernels& kernels) {
  const auto star = store.version();
  return answer(query, *star, team, kernels);
}

}  // namespace holdfast::olap
