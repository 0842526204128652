#include <holdfast/olap/mart/load.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/bad_lines.hpp>
#include <holdfast/olap/mart/load_parts.hpp>
#include <holdfast/olap/mart/word_text.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::olap::mart {

struct Load::State {
  State(MartStore& store, UnknownKeys unknown_keys) : writer(store), unknown(unknown_keys) {}

  MartWriter writer;
  UnknownKeys unknown;
  bool appends = false;
  Catalogue next;
  LoadReport report;
  std::vector<std::vector<TextNumbers>> texts;  // By table and column.
  // By table, of a dimension: the words of its key that are there, and rows by them once asked for.
  std::vector<std::vector<std::int64_t>> keys;
  std::vector<std::optional<KeyRows>> rows_by_key;

  const KeyRows& rows_of(std::uint32_t dimension) {
    auto& rows = rows_by_key[dimension];
    if (!rows) rows.emplace(keys[dimension]);
    return *rows;
  }
};

namespace {

// Which column of the table each field of a record is; nothing: one that the table has not.
using FieldColumns = std::vector<std::optional<std::uint32_t>>;

Result<FieldColumns> columns_of_header(const Table& table, const std::string& file,
                                       const std::vector<Field>& header) {
  FieldColumns columns;
  std::vector<bool> there(table.columns.size());
  for (const auto& field : header) {
    columns.push_back(table.find(field.text));
    if (!columns.back()) continue;
    if (there[*columns.back()])
      return Error{Errc::kInvalidOption,
                   file + ": the column " + escape(field.text, 40) + " is there twice"};
    there[*columns.back()] = true;
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (there[i]) continue;
    std::string names;
    for (const auto& field : header)
      names += (names.empty() ? "" : ", ") + escape(field.text, 40);
    if (names.size() > 200) names = names.substr(0, 200) + "…";
    return Error{Errc::kInvalidOption,
                 file + ": its first line has no column " + escape(table.columns[i].name) +
                     " of table " + escape(table.name) +
                     (header.empty() ? "; the file is empty" : "; it has " + names)};
  }
  return columns;
}

FieldColumns columns_in_order(const Table& table) {
  FieldColumns columns(table.columns.size());
  for (std::uint32_t i = 0; i < columns.size(); ++i)
    columns[i] = i;
  return columns;
}

std::string bad_value(const Column& column, std::string_view text, const std::string& what) {
  return escape(column.name) + " '" + escape(text, 40) + "': " + what;
}

std::string no_value(const Column& column, std::string_view text) {
  if (column.type.kind == sql::Kind::kBigInt && text == "-9223372036854775808")
    return bad_value(column, text, "this one BIGINT is not stored; the least is one above");
  const bool boolean = column.type.kind == sql::Kind::kBoolean;
  return bad_value(
      column, text,
      "a " + sql::name_of(column.type) + " is wanted" + (boolean ? ": true or false" : ""));
}

// Reads the records of one table into columns of words.
class TableReader {
 public:
  TableReader(Load::State& state, std::uint32_t number, CsvReader& reader);

  Status read_header(bool header);
  // Rows of up to a block; false: there are no more.
  Result<bool> read_rows(std::uint64_t most, std::vector<Words>& rows,
                         std::vector<std::uint64_t>* lines);
  BadLines& bad() { return bad_; }
  Status status() const { return bad_.status(reader_.name()); }

 private:
  bool take(const std::vector<Field>& fields, std::vector<Words>& rows);
  // The word of a field that is not NULL; nothing: the line is bad, and was added.
  std::optional<std::int64_t> word(std::uint32_t column, std::string_view text);
  std::optional<std::int64_t> row_of_key(const Column& column, std::string_view text);
  void add_bad(std::string what) { bad_.add(reader_.line(), std::move(what)); }

  Load::State& state_;
  std::uint32_t number_;
  const Table& table_;
  CsvReader& reader_;
  FieldColumns columns_;
  std::vector<Field> fields_;
  std::vector<std::optional<std::int64_t>> record_;
  BadLines bad_;
};

TableReader::TableReader(Load::State& state, std::uint32_t number, CsvReader& reader)
    : state_(state),
      number_(number),
      table_(state.next.schema.tables[number]),
      reader_(reader),
      record_(table_.columns.size()) {}

Status TableReader::read_header(bool header) {
  if (!header) {
    columns_ = columns_in_order(table_);
    return {};
  }
  HF_ASSIGN_OR_RETURN(const bool any, reader_.next(fields_));
  if (!any) fields_.clear();
  HF_ASSIGN_OR_RETURN(columns_, columns_of_header(table_, reader_.name(), fields_));
  return {};
}

std::optional<std::int64_t> TableReader::row_of_key(const Column& column, std::string_view text) {
  const auto& dimension = state_.next.schema.tables[column.references];
  std::optional<std::int64_t> key;
  if (column.type.kind == sql::Kind::kString) {
    key = state_.texts[column.references][dimension.key].find(text);
  } else {
    key = word_of_text(text, column.type);
    if (!key) {
      add_bad(no_value(column, text));
      return std::nullopt;
    }
  }
  const auto row = key ? state_.rows_of(column.references).find(*key) : 0u;
  if (row != 0) return row;
  if (state_.unknown == UnknownKeys::kNull) {
    ++state_.report.unknown_keys;
    return 0;
  }
  add_bad(bad_value(column, text, escape(dimension.name) + " has no row with this key"));
  return std::nullopt;
}

std::optional<std::int64_t> TableReader::word(std::uint32_t number, std::string_view text) {
  const auto& column = table_.columns[number];
  if (column.references != 0) return row_of_key(column, text);
  if (column.is_text()) {
    if (!is_valid_utf8(text)) {
      add_bad(bad_value(column, text, "this is no UTF-8"));
      return std::nullopt;
    }
    const auto most = column.type.precision;
    if (most != 0 && sql::characters_of(text) > most) {
      add_bad(
          bad_value(column, text, "at most " + std::to_string(most) + " characters are wanted"));
      return std::nullopt;
    }
    return state_.texts[number_][number].add(text);
  }
  auto word = word_of_text(text, column.type);
  if (!word) add_bad(no_value(column, text));
  return word;
}

bool TableReader::take(const std::vector<Field>& fields, std::vector<Words>& rows) {
  if (fields.size() != columns_.size()) {
    add_bad(std::to_string(fields.size()) + " fields; " + std::to_string(columns_.size()) +
            " are wanted");
    return false;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!columns_[i]) continue;
    const auto number = *columns_[i];
    const auto& column = table_.columns[number];
    auto& to = record_[number];
    to.reset();
    if (fields[i].null) {
      if (number_ != 0 && number == table_.key) {
        add_bad(escape(column.name) + ": the key of a dimension is never NULL");
        return false;
      }
      if (column.is_index()) to = 0;
      continue;
    }
    to = word(number, fields[i].text);
    if (!to) return false;
  }
  for (std::size_t i = 0; i < record_.size(); ++i) {
    if (record_[i])
      rows[i].add(*record_[i]);
    else
      rows[i].add_null();
  }
  return true;
}

Result<bool> TableReader::read_rows(std::uint64_t most, std::vector<Words>& rows,
                                    std::vector<std::uint64_t>* lines) {
  while (rows[0].size() < most) {
    HF_ASSIGN_OR_RETURN(const bool any, reader_.next(fields_));
    if (!any) return false;
    if (take(fields_, rows) && lines != nullptr) lines->push_back(reader_.line());
  }
  return true;
}

// Whether row `a` of a column of a dimension comes before row `b`: NULL first, texts as bytes.
int compare_rows(const Column& column, const TextNumbers& texts, const Words& words,
                 std::uint32_t a, std::uint32_t b) {
  if (words.is_null(a) != words.is_null(b)) return words.is_null(a) ? -1 : 1;
  const auto left = words.values[a], right = words.values[b];
  if (left == right) return 0;
  if (!column.is_text() || left == 0 || right == 0) return left < right ? -1 : 1;
  return texts.text(left) < texts.text(right) ? -1 : 1;
}

void order_rows(const Table& table, const std::vector<TextNumbers>& texts,
                std::vector<Words>& columns) {
  auto by = table.order;
  by.push_back(table.key);
  std::vector<std::uint32_t> order(columns[0].size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    for (const auto column : by) {
      const int result = compare_rows(table.columns[column], texts[column], columns[column], a, b);
      if (result != 0) return result < 0;
    }
    return false;
  });
  for (auto& words : columns) {
    Words ordered;
    ordered.values.reserve(words.size());
    for (const auto row : order) {
      if (words.is_null(row))
        ordered.add_null();
      else
        ordered.add(words.values[row]);
    }
    words = std::move(ordered);
  }
}

// Keys that come a second time are bad lines.
void check_keys(const Table& table, const TextNumbers& texts,
                const std::vector<std::int64_t>& there, const Words& keys,
                const std::vector<std::uint64_t>& lines, BadLines& bad) {
  std::unordered_set<std::int64_t> seen(there.begin(), there.end());
  seen.reserve(there.size() + keys.size());
  const auto& column = table.columns[table.key];
  for (std::size_t row = 0; row < keys.size(); ++row) {
    const auto key = keys.values[row];
    if (HF_MUTANT("O24", seen.insert(key).second, true)) continue;
    const auto text = column.is_text() ? std::string(texts.text(key))
                                       : sql::text_of(value_of_word(key, column.type), column.type);
    bad.add(lines[row], bad_value(column, text, "the key of a row that is there already"));
  }
}

Status read_dimension(Load::State& state, std::uint32_t number, TableReader& from) {
  const auto& table = state.next.schema.tables[number];
  std::vector<Words> rows(table.columns.size());
  std::vector<std::uint64_t> lines;
  constexpr std::uint64_t kMostRows = 0xffff'fffe;
  HF_ASSIGN_OR_RETURN(const bool more, from.read_rows(kMostRows, rows, &lines));
  if (more || rows[0].size() + state.keys[number].size() > kMostRows)
    return Error{Errc::kUnsupported,
                 "star: the dimension " + escape(table.name) + " has more than 4,294,967,294 rows"};
  check_keys(table, state.texts[number][table.key], state.keys[number], rows[table.key], lines,
             from.bad());
  HF_RETURN_IF_ERROR(from.status());
  if (!state.appends) order_rows(table, state.texts[number], rows);
  for (std::size_t first = 0; first < rows[0].size(); first += kBlockRows) {
    const auto count = std::min<std::size_t>(kBlockRows, rows[0].size() - first);
    HF_ASSIGN_OR_RETURN(auto info, state.writer.put(encode_block(table, rows, first, count)));
    state.next.tables[number].blocks.push_back(std::move(info));
  }
  const auto& keys = rows[table.key].values;
  state.keys[number].insert(state.keys[number].end(), keys.begin(), keys.end());
  HF_MUTANT("O48", state.rows_by_key[number].reset(), void());
  state.report.rows[number] += rows[0].size();
  return {};
}

Status read_fact(Load::State& state, TableReader& from) {
  const auto& table = state.next.schema.tables[0];
  std::vector<Words> rows(table.columns.size());
  for (bool more = true; more;) {
    for (auto& words : rows)
      words.clear();
    HF_ASSIGN_OR_RETURN(more, from.read_rows(kBlockRows, rows, nullptr));
    if (rows[0].size() == 0 || from.bad().count() > 0) continue;
    HF_ASSIGN_OR_RETURN(auto info, state.writer.put(encode_block(table, rows, 0, rows[0].size())));
    state.next.tables[0].blocks.push_back(std::move(info));
    state.report.rows[0] += rows[0].size();
  }
  return from.status();
}

}  // namespace

Load::Load(std::unique_ptr<State> state) : state_(std::move(state)) {}
Load::Load(Load&&) noexcept = default;
Load::~Load() = default;

const Schema& Load::schema() const { return state_->next.schema; }

Result<Load> Load::replace(MartStore& store, Schema schema, UnknownKeys unknown) {
  HF_RETURN_IF_ERROR(schema.validate());
  auto state = std::make_unique<State>(store, unknown);
  const auto tables = schema.tables.size();
  state->next.schema = std::move(schema);
  state->next.tables.resize(tables);
  state->texts.resize(tables);
  for (std::size_t i = 0; i < tables; ++i) {
    const auto columns = state->next.schema.tables[i].columns.size();
    state->next.tables[i].dictionaries.resize(columns);
    state->texts[i].resize(columns);
  }
  state->keys.resize(tables);
  state->rows_by_key.resize(tables);
  state->report.rows.resize(tables);
  return Load(std::move(state));
}

Result<Load> Load::append(MartStore& store, UnknownKeys unknown) {
  auto state = std::make_unique<State>(store, unknown);
  const auto& present = state->writer.present();
  if (present == nullptr)
    return Error{Errc::kNotFound, "star: no tables are loaded that rows could be appended to"};
  state->appends = true;
  state->next = present->catalogue();
  const auto& tables = state->next.schema.tables;
  state->keys.resize(tables.size());
  state->rows_by_key.resize(tables.size());
  state->report.rows.resize(tables.size());
  for (std::uint32_t i = 0; i < tables.size(); ++i) {
    auto& texts = state->texts.emplace_back();
    for (std::uint32_t column = 0; column < tables[i].columns.size(); ++column) {
      if (!tables[i].columns[column].is_text()) {
        texts.emplace_back();
        continue;
      }
      HF_ASSIGN_OR_RETURN(const auto known, present->dictionary(i, column));
      texts.emplace_back(*known);
    }
    if (i == 0) continue;
    HF_ASSIGN_OR_RETURN(const auto keys, present->words(i, tables[i].key));
    state->keys[i] = keys->values;
  }
  return Load(std::move(state));
}

Status Load::read(std::uint32_t table, CsvReader& reader, bool header) {
  HF_CHECK(table < schema().tables.size());
  TableReader from(*state_, table, reader);
  HF_RETURN_IF_ERROR(from.read_header(header));
  return table == 0 ? read_fact(*state_, from) : read_dimension(*state_, table, from);
}

Result<LoadReport> Load::finish(const std::string& source) {
  auto& state = *state_;
  for (std::size_t i = 0; i < state.texts.size(); ++i) {
    for (std::size_t column = 0; column < state.texts[i].size(); ++column) {
      const auto texts = state.texts[i][column].new_texts();
      if (texts.empty()) continue;
      HF_ASSIGN_OR_RETURN(auto piece, state.writer.put(texts));
      state.next.tables[i].dictionaries[column].push_back(piece);
    }
  }
  if (!state.appends) state.next.source = source;
  HF_RETURN_IF_ERROR(state.writer.finish(std::move(state.next)));
  return state.report;
}

}  // namespace holdfast::olap::mart
