#include <holdfast/olap/mart/star_columns.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/group_table.hpp>

namespace holdfast::olap::mart {
namespace {

constexpr std::uint64_t kMaxSpan = 65'535;  // Of numbers with a slot.

// ---- Values that are there as they are: of a dictionary, or of a range of numbers ----

// Index 0 is NULL, index i is text i - 1.
class TextInput : public Input {
 public:
  explicit TextInput(const Dictionary& texts) : texts_(texts) {}
  Status values(std::uint32_t, std::span<const std::uint32_t> rows, Vector& to) const override {
    to.reset(Form::kTexts, rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == 0)
        to.set_null(i);
      else
        to.texts[i] = texts_[rows[i] - 1];
    }
    return {};
  }

 private:
  const Dictionary& texts_;
};

// The same of numbers, reals among them.
class NumberInput : public Input {
 public:
  NumberInput(std::int64_t least, bool real) : least_(least), real_(real) {}
  Status values(std::uint32_t, std::span<const std::uint32_t> rows, Vector& to) const override {
    to.reset(real_ ? Form::kReals : Form::kNumbers, rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto word = least_ + rows[i] - 1;
      if (rows[i] == 0)
        to.set_null(i);
      else if (real_)
        to.reals[i] = double_of(word);
      else
        to.numbers[i] = word;
    }
    return {};
  }

 private:
  std::int64_t least_;
  bool real_;
};

std::vector<std::uint32_t> first_numbers(std::uint32_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

Result<Vector> run_over(const sql::Expression& expression, const Columns& columns,
                        const Input& input, std::uint32_t count) {
  HF_ASSIGN_OR_RETURN(const auto program, Program::compile(expression, columns));
  Vector values;
  HF_RETURN_IF_ERROR(program.run(input, first_numbers(count), values));
  return values;
}

Result<Vector> over_texts(const MartVersion& version, std::uint32_t table, std::uint32_t column,
                          const sql::Expression& expression) {
  HF_ASSIGN_OR_RETURN(const auto texts, version.dictionary(table, column));
  return run_over(expression, NoSlots(), TextInput(*texts),
                  static_cast<std::uint32_t>(texts->size()) + 1);
}

// ---- The rows of a dimension, from 1; row 0 is all NULL ----

class DimensionColumns : public Columns {
 public:
  // The dimension's column of each column of the query; others are not asked for.
  DimensionColumns(const MartVersion& version, std::uint32_t table, std::vector<std::uint32_t> of)
      : version_(version), table_(table), of_(std::move(of)) {}

  std::optional<std::uint32_t> slot(std::uint32_t column) const override {
    const auto of = of_[column];
    return version_.schema().tables[table_].columns[of].is_text() ? std::optional(of)
                                                                  : std::nullopt;
  }
  Result<Vector> over(std::uint32_t slot, const sql::Expression& expression) const override {
    return over_texts(version_, table_, slot, expression);
  }
  Result<std::shared_ptr<const Words>> words(std::uint32_t column) const {
    return version_.words(table_, column);
  }
  std::uint32_t place(std::uint32_t column) const { return of_[column]; }
  const sql::Type& type(std::uint32_t place) const {
    return version_.schema().tables[table_].columns[place].type;
  }

 private:
  const MartVersion& version_;
  std::uint32_t table_;
  std::vector<std::uint32_t> of_;
};

class DimensionInput : public Input {
 public:
  explicit DimensionInput(const DimensionColumns& columns) : columns_(columns) {}
  Status values(std::uint32_t column, std::span<const std::uint32_t> rows,
                Vector& to) const override {
    const auto place = columns_.place(column);
    HF_ASSIGN_OR_RETURN(const auto words, columns_.words(place));
    const bool real = columns_.type(place).is_real();
    to.reset(real ? Form::kReals : Form::kNumbers, rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == 0 || words->is_null(rows[i] - 1))
        to.set_null(i);
      else if (real)
        to.reals[i] = double_of(words->values[rows[i] - 1]);
      else
        to.numbers[i] = words->values[rows[i] - 1];
    }
    return {};
  }
  Status indexes(std::uint32_t slot, std::span<const std::uint32_t> rows,
                 std::vector<std::uint32_t>& to) const override {
    HF_ASSIGN_OR_RETURN(const auto words, columns_.words(slot));
    to.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      to[i] = rows[i] == 0 ? 0 : static_cast<std::uint32_t>(words->values[rows[i] - 1]);
    return {};
  }

 private:
  const DimensionColumns& columns_;
};

// ---- Equal values as one number ----

template <class T>
void number(const Vector& from, const std::vector<T>& values, std::vector<std::uint32_t>& codes,
            std::vector<std::uint32_t>& firsts) {
  std::unordered_map<T, std::uint32_t> known;
  std::optional<std::uint32_t> null;
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    const auto next = static_cast<std::uint32_t>(firsts.size());
    std::uint32_t code = next;
    if (from.is_null(i))
      code = null ? *null : *(null = next);
    else
      code = known.try_emplace(values[i], next).first->second;
    if (code == next) firsts.push_back(i);
    codes.push_back(code);
  }
}

// The same of words, of which there may be many.
void number_words(const Vector& from, const std::vector<std::int64_t>& words,
                  std::vector<std::uint32_t>& codes, std::vector<std::uint32_t>& firsts) {
  std::vector<std::int64_t> keys(2 * words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    keys[2 * i] = from.is_null(i) ? 1 : 0;
    keys[2 * i + 1] = from.is_null(i) ? 0 : words[i];
  }
  codes.resize(words.size());
  GroupTable table(2);
  table.find_or_add(keys.data(), words.size(), codes.data());
  for (std::uint32_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == firsts.size()) firsts.push_back(i);
  }
}

Coded coded(const std::shared_ptr<const Vector>& from, const sql::Type& type) {
  Coded to;
  std::vector<std::uint32_t> firsts;  // Where each value is first.
  to.codes.reserve(from->size());
  const auto form = form_of(type);
  switch (form) {
    case Form::kNumbers: number_words(*from, from->numbers, to.codes, firsts); break;
    case Form::kTexts: number(*from, from->texts, to.codes, firsts); break;
    case Form::kReals: {
      std::vector<std::int64_t> words(from->reals.size());  // One NaN, one zero.
      std::transform(from->reals.begin(), from->reals.end(), words.begin(), word_of);
      number_words(*from, words, to.codes, firsts);
      break;
    }
    case Form::kWide: {
      std::vector<std::string_view> bytes;
      for (const auto& value : from->wide)
        bytes.emplace_back(reinterpret_cast<const char*>(&value), sizeof value);
      number(*from, bytes, to.codes, firsts);
      break;
    }
  }
  to.values = rows_of(from, form, firsts);
  return to;
}

}  // namespace

StarColumns::StarColumns(const MartVersion& version, std::uint32_t table,
                         std::vector<ColumnSource> sources)
    : version_(version), table_(table), sources_(std::move(sources)) {
  const auto& columns = version.schema().tables[table].columns;
  least_.resize(columns.size());
  spans_.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::int64_t least = 0, most = 0;
    bool any = false;
    for (const auto& block : version.catalogue().tables[table].blocks) {
      const auto& of = block.columns[i];
      if (of.only_null()) continue;
      least = any ? std::min(least, of.min) : of.min;
      most = any ? std::max(most, of.max) : of.max;
      any = true;
    }
    const auto span = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
    least_[i] = least;
    if (span < kMaxSpan) spans_[i] = static_cast<std::uint32_t>(span) + 1;
  }
}

std::optional<std::uint32_t> StarColumns::slot(std::uint32_t number) const {
  const auto& source = sources_[number];
  if (source.joined_by) return source.joined_by;
  if (column(source.column).is_index() || spans_[source.column] != 0) return source.column;
  return std::nullopt;
}

std::uint32_t StarColumns::indexes(std::uint32_t slot) const {
  const auto& of = column(slot);
  const auto& catalogue = version_.catalogue();
  if (of.references != 0)
    return static_cast<std::uint32_t>(catalogue.tables[of.references].rows()) + 1;
  if (of.is_text()) return static_cast<std::uint32_t>(catalogue.tables[table_].texts(slot)) + 1;
  return spans_[slot] + 1;
}

IndexView StarColumns::view(std::uint32_t slot, std::size_t block) const {
  const auto& of = version_.catalogue().tables[table_].blocks[block].columns[slot];
  IndexView view;
  view.width = of.width;
  view.codes = version_.block(table_, block) + of.offset;
  if (of.only_null()) return view;
  if (column(slot).is_index()) {
    view.base = static_cast<std::uint32_t>(of.min);
    return view;
  }
  view.null_is_zero = of.has_null != 0;
  view.base = static_cast<std::uint32_t>(of.min - least_[slot]) + (of.has_null != 0 ? 0 : 1);
  return view;
}

namespace {

// What the query's columns are in the dimension that a key leads to; the key itself is its key.
std::vector<std::uint32_t> in_dimension(const std::vector<ColumnSource>& sources,
                                        std::uint32_t key) {
  std::vector<std::uint32_t> columns;
  for (const auto& source : sources)
    columns.push_back(source.joined_by ? source.column : key);
  return columns;
}

}  // namespace

Result<Vector> StarColumns::over(std::uint32_t slot, const sql::Expression& expression) const {
  const auto& of = column(slot);
  if (of.references != 0) {
    const DimensionColumns columns(
        version_, of.references,
        in_dimension(sources_, version_.schema().tables[of.references].key));
    return run_over(expression, columns, DimensionInput(columns), indexes(slot));
  }
  if (of.is_text()) return over_texts(version_, table_, slot, expression);
  return run_over(expression, NoSlots(), NumberInput(least_[slot], of.type.is_real()),
                  indexes(slot));
}

// A column of texts has each once, and so has the key of a dimension.
bool StarColumns::all_differ(std::uint32_t slot, const sql::Expression& expression) const {
  if (expression.operation != sql::Operation::kColumn) return false;
  const auto references = column(slot).references;
  const auto& source = sources_[expression.column];
  return references == 0 || !source.joined_by ||
         source.column == version_.schema().tables[references].key;
}

Result<Coded> StarColumns::codes(std::uint32_t slot, const sql::Expression& expression) const {
  const auto& of = column(slot);
  if (of.references == 0 || all_differ(slot, expression)) {
    HF_ASSIGN_OR_RETURN(auto each, over(slot, expression));
    const auto values = std::make_shared<const Vector>(std::move(each));
    if (all_differ(slot, expression)) return Coded{first_numbers(indexes(slot)), values};
    return coded(values, expression.type);
  }
  const DimensionColumns columns(
      version_, of.references, in_dimension(sources_, version_.schema().tables[of.references].key));
  HF_ASSIGN_OR_RETURN(const auto program, Program::compile(expression, columns));
  const auto rows = first_numbers(indexes(slot));
  const DimensionInput input(columns);
  if (!program.slot()) {
    Vector values;
    HF_RETURN_IF_ERROR(program.run(input, rows, values));
    return coded(std::make_shared<const Vector>(std::move(values)), expression.type);
  }
  // Texts of a dictionary are compared once each; as they are, they differ.
  auto few = expression.operation == sql::Operation::kColumn
                 ? Coded{first_numbers(static_cast<std::uint32_t>(program.looked_up()->size())),
                         program.looked_up()}
                 : coded(program.looked_up(), expression.type);
  std::vector<std::uint32_t> places;
  HF_RETURN_IF_ERROR(input.indexes(*program.slot(), rows, places));
  Coded all;
  all.values = std::move(few.values);
  for (const auto place : places)
    all.codes.push_back(few.codes[place]);
  return all;
}

Result<Vector> StarColumns::numbers(std::uint32_t slot, const sql::Expression& expression) const {
  Vector numbers;
  numbers.reset(Form::kNumbers, indexes(slot));
  if (all_differ(slot, expression)) {
    std::iota(numbers.numbers.begin(), numbers.numbers.end(), 0);
    numbers.set_null(0);
    return numbers;
  }
  HF_ASSIGN_OR_RETURN(const auto coded, codes(slot, expression));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers.numbers[i] = coded.codes[i];
    if (HF_MUTANT("O58", coded.values->is_null(coded.codes[i]), false)) numbers.set_null(i);
  }
  return numbers;
}

Status BlockInput::values(std::uint32_t column, std::span<const std::uint32_t> rows,
                          Vector& to) const {
  const auto place = columns_.place(column);
  const auto& version = columns_.version();
  const auto& of = version.catalogue().tables[columns_.table()].blocks[block_].columns[place];
  const bool real = version.schema().tables[columns_.table()].columns[place].type.is_real();
  HF_RETURN_IF_ERROR(version.use(columns_.table(), block_, place));
  to.reset(Form::kNumbers, rows.size());
  if (of.only_null()) to.null.assign(rows.size(), 1);
  const auto take = [&]<class Code>(Code) {
    const std::byte* codes = version.block(columns_.table(), block_) + of.offset;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Code code;
      std::memcpy(&code, codes + std::size_t{rows[i]} * sizeof code, sizeof code);
      to.numbers[i] =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(of.min) + code - of.has_null);
      if (of.has_null != 0 && code == 0) to.set_null(i);
    }
  };
  switch (of.width) {
    case 0: std::fill(to.numbers.begin(), to.numbers.end(), of.min); break;
    case 8: take(std::uint8_t{}); break;
    case 16: take(std::uint16_t{}); break;
    case 32: take(std::uint32_t{}); break;
    default: take(std::uint64_t{}); break;
  }
  if (!real) return {};
  to.reals.resize(rows.size());
  std::transform(to.numbers.begin(), to.numbers.end(), to.reals.begin(), double_of);
  return {};
}

Status BlockInput::indexes(std::uint32_t slot, std::span<const std::uint32_t> rows,
                           std::vector<std::uint32_t>& to) const {
  HF_RETURN_IF_ERROR(columns_.version().use(columns_.table(), block_, slot));
  gather(columns_.view(slot, block_), rows, to);
  return {};
}

}  // namespace holdfast::olap::mart
