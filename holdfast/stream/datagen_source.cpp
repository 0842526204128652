// The source 'connector' = 'datagen': rows that are made, the same for the same options. Row n
// depends on the seed and on n alone, so that a resumed query sees what it would have seen. Only
// dates and times are those of the clock, as in Flink.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/hash.hpp>
#include <holdfast/sql/civil.hpp>
#include <holdfast/sql/nested.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/sources.hpp>

namespace holdfast::stream {
namespace {

struct MadeField {
  sql::Type type;
  std::size_t column = 0;
  bool sequence = false;
  sql::Value first, last;   // Of numbers: both are possible values.
  std::int64_t length = 0;  // Of a text, an array or a map.
  bool any_length = false;  // Up to `length`, from 1.
  std::int64_t max_past = 0;
  double null_rate = 0;
  std::vector<MadeField> parts;  // Of an array, a row or a map.
};

std::int64_t now_in_milliseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// From 0 to 1, without 1.
double unit_of(std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

sql::Int128 between(sql::Int128 first, sql::Int128 last, std::uint64_t random) {
  const auto span = static_cast<sql::Uint128>(last - first) + 1;
  // A decimal may have more values than a number of 64 bits.
  const auto wide = static_cast<sql::Uint128>(mix64(random)) << 64 | random;
  return first + static_cast<sql::Int128>((span >> 64 == 0 ? random : wide) % span);
}

std::string made_text(std::int64_t length, std::uint64_t random) {
  std::string text;
  for (std::int64_t i = 0; i < length; ++i) {
    text += "0123456789abcdef"[random & 15];
    random = mix64(random + 1);
  }
  return text;
}

Result<sql::Value> made_value(const MadeField& field, std::uint64_t random);

Result<sql::Value> made_parts(const MadeField& field, std::int64_t count, std::uint64_t random) {
  const Error too_long{Errc::kInvalidOption, "datagen makes a value of more than 16 MiB"};
  sql::NestedWriter writer(field.type);
  std::vector<sql::Value> entries;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const auto& part : field.parts) {
      random = mix64(random + 1);
      HF_ASSIGN_OR_RETURN(auto value, made_value(part, random));
      if (field.type.kind == sql::Kind::kMap)
        entries.push_back(std::move(value));
      else if (!writer.add(value))
        return too_long;
    }
  }
  if (field.type.kind != sql::Kind::kMap) return writer.take();
  auto map = sql::map_of(entries, field.type);
  if (!map) return too_long;
  return *std::move(map);
}

Result<sql::Value> made_value(const MadeField& field, std::uint64_t random) {
  constexpr std::uint64_t kOfNull = 0x6e756c6c, kOfLength = 0x6c656e67;
  if (field.null_rate > 0 && unit_of(mix64(random ^ kOfNull)) < field.null_rate)
    return sql::Value();
  std::int64_t length = field.length;
  if (field.any_length && length > 0)
    length = static_cast<std::int64_t>(between(1, length, mix64(random ^ kOfLength)));
  switch (field.type.kind) {
    case sql::Kind::kString: return sql::Value::of_text(made_text(length, random));
    case sql::Kind::kRow: return made_parts(field, 1, random);
    case sql::Kind::kArray:
    case sql::Kind::kMap: return made_parts(field, length, random);
    case sql::Kind::kDate: return sql::Value::of(now_in_milliseconds() / sql::kDayMs);
    case sql::Kind::kTimestamp:
      return sql::Value::of(now_in_milliseconds() - between(0, field.max_past, random));
    case sql::Kind::kDouble:
    case sql::Kind::kFloat: {
      const double real = std::lerp(field.first.real, field.last.real, unit_of(random));
      const bool small = field.type.kind == sql::Kind::kFloat;
      return sql::Value::of_real(small ? static_cast<float>(real) : real);
    }
    default: return sql::Value::of(between(field.first.number, field.last.number, random));
  }
}

class DatagenSource : public Source {
 public:
  DatagenSource(std::vector<MadeField> fields, std::uint64_t rows, std::int64_t per_second,
                std::uint64_t seed)
      : fields_(std::move(fields)), rows_(rows), per_second_(per_second), seed_(seed) {}

  Result<bool> next(sql::Row& row) override {
    if (ended()) return false;
    if (per_second_ > 0 && !keep_pace()) return false;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      HF_ASSIGN_OR_RETURN(row[fields_[i].column],
                          value_of(fields_[i], mix64(mix64(seed_ + i) ^ row_)));
    }
    ++row_;
    return true;
  }
  // A run before may have had more rows.
  bool ended() const override { return row_ >= rows_; }
  std::string position() const override {
    ByteWriter bytes;
    bytes.number(row_);
    return bytes.take();
  }
  Status seek(std::string_view position) override {
    ByteReader bytes(position);
    row_ = first_row_ = bytes.number();
    if (!bytes.ok()) return Error{Errc::kCorrupt, "the checkpoint has no number of a row"};
    return {};
  }
  std::string place() const override { return "row " + std::to_string(row_); }

 private:
  // False: it is not yet time for the next row.
  bool keep_pace() {
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double> due(static_cast<double>(row_ - first_row_) /
                                            static_cast<double>(per_second_));
    const auto until = begun_ + std::chrono::duration_cast<Clock::duration>(due);
    const auto patience = Clock::now() + std::chrono::milliseconds(100);
    std::this_thread::sleep_until(std::min(until, patience));
    return until <= patience;
  }

  Result<sql::Value> value_of(const MadeField& field, std::uint64_t random) const {
    if (field.sequence) return sql::Value::of(field.first.number + row_);
    return made_value(field, random);
  }

  std::vector<MadeField> fields_;
  std::uint64_t rows_, row_ = 0, first_row_ = 0;
  std::int64_t per_second_;
  std::uint64_t seed_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

sql::Int128 largest(const sql::Type& type) {
  switch (type.kind) {
    case sql::Kind::kBoolean: return 1;
    case sql::Kind::kTinyInt: return std::numeric_limits<std::int8_t>::max();
    case sql::Kind::kSmallInt: return std::numeric_limits<std::int16_t>::max();
    case sql::Kind::kInt: return std::numeric_limits<std::int32_t>::max();
    case sql::Kind::kDecimal: return sql::power_of_ten(type.precision) - 1;
    default: return std::numeric_limits<std::int64_t>::max();
  }
}

// The number that an option has, of the field's type.
Result<sql::Value> bound_of(const std::string& key, const sql::Type& type, sql::Value otherwise,
                            TableOptions& options) {
  const auto text = options.text(key);
  if (!text) return otherwise;
  const bool truth = type.kind == sql::Kind::kBoolean;
  auto value = sql::value_of(*text, truth ? sql::Type{sql::Kind::kTinyInt} : type);
  const bool finite = value && (!type.is_real() || std::isfinite(value->real));
  if (!finite || (truth && (value->number < 0 || value->number > 1)))
    return options.wrong(key, "a value of the column's type");
  return *std::move(value);
}

Status read_bounds(const std::string& prefix, MadeField& field, TableOptions& options) {
  const auto kind = options.text(prefix + "kind");
  if (kind && *kind != "random" && *kind != "sequence")
    return options.wrong(prefix + "kind", "'random' or 'sequence'");
  field.sequence = kind && *kind == "sequence";
  if (field.sequence && !field.type.is_integer())
    return options.wrong(prefix + "kind", "a whole number's column");
  const bool real = field.type.is_real();
  const auto low = real ? sql::Value::of_real(0) : sql::Value::of(0);
  const auto high = real ? sql::Value::of_real(1) : sql::Value::of(largest(field.type));
  const std::string of_last = prefix + (field.sequence ? "end" : "max");
  HF_ASSIGN_OR_RETURN(
      field.first, bound_of(prefix + (field.sequence ? "start" : "min"), field.type, low, options));
  HF_ASSIGN_OR_RETURN(field.last, bound_of(of_last, field.type, high, options));
  if (sql::compare(field.first, field.last, field.type) > 0)
    return options.wrong(of_last, "a value that is not below the first");
  return {};
}

Status read_length(const std::string& prefix, MadeField& field, TableOptions& options) {
  std::int64_t otherwise = 3;
  if (field.type.kind == sql::Kind::kString)
    otherwise = field.type.precision == 0 ? 16 : std::min<std::int64_t>(16, field.type.precision);
  HF_ASSIGN_OR_RETURN(field.length, options.number(prefix + "length", otherwise));
  if (field.length < 0 || field.length > 65536)
    return options.wrong(prefix + "length", "0 to 65536");
  HF_ASSIGN_OR_RETURN(field.any_length, options.flag(prefix + "var-len", false));
  return {};
}

Status read_past(const std::string& prefix, MadeField& field, TableOptions& options) {
  const auto text = options.text(prefix + "max-past");
  if (!text) return {};
  const auto past = duration_of(*text, prefix + "max-past");
  if (!past) return options.about(prefix + "max-past", past.error());
  field.max_past = past->count();
  return {};
}

// Fields of a row have its name before theirs; of an array `element`; of a map `key` and `value`.
std::string part_name(const sql::Type& type, std::size_t part) {
  if (type.kind == sql::Kind::kArray) return "element";
  if (type.kind == sql::Kind::kMap) return part == 0 ? "key" : "value";
  return type.nested->fields[part].name;
}

Result<MadeField> field_of(const std::string& name, const sql::Type& type, bool may_be_null,
                           TableOptions& options) {
  const std::string prefix = "fields." + name + ".";
  MadeField field;
  field.type = type;
  if (const auto rate = options.text(prefix + "null-rate")) {
    const auto value = sql::value_of(*rate, sql::kDoubleType);
    if (!value || !(value->real >= 0 && value->real <= (may_be_null ? 1 : 0)))
      return options.wrong(prefix + "null-rate", may_be_null ? "0 to 1" : "0, since it is a key");
    field.null_rate = value->real;
  }
  if (type.kind == sql::Kind::kTimestamp) {
    HF_RETURN_IF_ERROR(read_past(prefix, field, options));
  } else if (type.is_bytes()) {
    if (type.kind != sql::Kind::kRow) HF_RETURN_IF_ERROR(read_length(prefix, field, options));
  } else if (type.kind != sql::Kind::kDate) {
    HF_RETURN_IF_ERROR(read_bounds(prefix, field, options));
  }
  for (std::size_t i = 0; type.is_nested() && i < type.nested->fields.size(); ++i) {
    const bool key = type.kind == sql::Kind::kMap && i == 0;
    HF_ASSIGN_OR_RETURN(auto part, field_of(name + "." + part_name(type, i),
                                            type.nested->fields[i].type, !key, options));
    if (part.sequence)
      return options.wrong("fields." + name + "." + part_name(type, i) + ".kind", "'random'");
    field.parts.push_back(std::move(part));
  }
  return field;
}

}  // namespace

Result<std::unique_ptr<Source>> open_datagen_source(const sql::Table& table,
                                                    TableOptions& options) {
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
  HF_ASSIGN_OR_RETURN(std::int64_t rows, options.number("number-of-rows", kEndless));
  HF_ASSIGN_OR_RETURN(const auto per_second, options.number("rows-per-second", 10'000));
  HF_ASSIGN_OR_RETURN(const auto seed, options.number("seed", 1));
  if (rows < 0) return options.wrong("number-of-rows", "a number from 0");
  std::vector<MadeField> fields;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.computed[i] != nullptr) continue;
    const auto& column = table.columns[i];
    HF_ASSIGN_OR_RETURN(auto field, field_of(column.name, column.type, true, options));
    field.column = i;
    const auto values = field.last.number - field.first.number + 1;
    if (field.sequence && values < rows) rows = static_cast<std::int64_t>(values);
    fields.push_back(std::move(field));
  }
  HF_RETURN_IF_ERROR(options.all_known());
  return std::unique_ptr<Source>(
      std::make_unique<DatagenSource>(std::move(fields), static_cast<std::uint64_t>(rows),
                                      per_second, static_cast<std::uint64_t>(seed)));
}

}  // namespace holdfast::stream
