// The source 'connector' = 'datagen': rows that are made, the same for the same options. Row n
// depends on the seed and on n alone, so that a resumed query sees what it would have seen.
#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/hash.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/sources.hpp>

namespace holdfast::stream {
namespace {

struct Field {
  std::size_t column = 0;
  sql::Kind kind = sql::Kind::kBigInt;
  bool sequence = false;
  std::int64_t first = 0, last = 0;  // Both are possible values.
  std::int64_t length = 0;           // Of a text.
};

class DatagenSource : public Source {
 public:
  DatagenSource(std::vector<Field> fields, std::uint64_t rows, std::int64_t per_second,
                std::uint64_t seed)
      : fields_(std::move(fields)), rows_(rows), per_second_(per_second), seed_(seed) {}

  Result<bool> next(sql::Row& row) override {
    if (ended()) return false;
    if (per_second_ > 0 && !keep_pace()) return false;
    for (std::size_t i = 0; i < fields_.size(); ++i)
      row[fields_[i].column] = value_of(fields_[i], mix64(mix64(seed_ + i) ^ row_));
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

  sql::Value value_of(const Field& field, std::uint64_t random) const {
    if (field.sequence) return sql::Value::of(field.first + static_cast<std::int64_t>(row_));
    if (field.kind == sql::Kind::kDouble || field.kind == sql::Kind::kFloat) {
      const double unit = static_cast<double>(random >> 11) * 0x1p-53;
      return sql::Value::of_real(
          static_cast<double>(field.first) +
          unit * (static_cast<double>(field.last) - static_cast<double>(field.first)));
    }
    if (field.kind == sql::Kind::kString) {
      std::string text;
      for (std::int64_t i = 0; i < field.length; ++i) {
        text += "0123456789abcdef"[random & 15];
        random = mix64(random + 1);
      }
      return sql::Value::of_text(std::move(text));
    }
    const auto span =
        static_cast<sql::Uint128>(static_cast<sql::Int128>(field.last) - field.first) + 1;
    return sql::Value::of(field.first + static_cast<sql::Int128>(random % span));
  }

  std::vector<Field> fields_;
  std::uint64_t rows_, row_ = 0, first_row_ = 0;
  std::int64_t per_second_;
  std::uint64_t seed_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

std::int64_t largest(sql::Kind kind) {
  switch (kind) {
    case sql::Kind::kBoolean: return 1;
    case sql::Kind::kTinyInt: return std::numeric_limits<std::int8_t>::max();
    case sql::Kind::kSmallInt: return std::numeric_limits<std::int16_t>::max();
    case sql::Kind::kInt: return std::numeric_limits<std::int32_t>::max();
    default: return std::numeric_limits<std::int64_t>::max();
  }
}

Result<Field> field_of(const sql::Column& column, TableOptions& options) {
  const std::string prefix = "fields." + column.name + ".";
  Field field;
  field.kind = column.type.kind;
  const auto kind = options.text(prefix + "kind");
  if (kind && *kind != "random" && *kind != "sequence")
    return options.wrong(prefix + "kind", "'random' or 'sequence'");
  field.sequence = kind && *kind == "sequence";
  if (field.sequence) {
    if (!column.type.is_integer()) return options.wrong(prefix + "kind", "a whole number's column");
    HF_ASSIGN_OR_RETURN(field.first, options.number(prefix + "start", 0));
    HF_ASSIGN_OR_RETURN(field.last, options.number(prefix + "end", largest(field.kind)));
  } else if (field.kind == sql::Kind::kString) {
    HF_ASSIGN_OR_RETURN(field.length, options.number(prefix + "length", 16));
    if (field.length < 0 || field.length > 65536)
      return options.wrong(prefix + "length", "0 to 65536");
  } else {
    const bool real = column.type.is_real();
    HF_ASSIGN_OR_RETURN(field.first, options.number(prefix + "min", 0));
    HF_ASSIGN_OR_RETURN(field.last, options.number(prefix + "max", real ? 1 : largest(field.kind)));
  }
  const bool fits = column.type.is_real() || field.kind == sql::Kind::kString ||
                    (field.first >= -largest(field.kind) - 1 && field.last <= largest(field.kind));
  if (field.first > field.last || !fits)
    return options.wrong(prefix + (field.sequence ? "end" : "max"),
                         "a value of the column's type that is not below the first");
  return field;
}

bool can_make(const sql::Type& type) {
  return type.is_integer() || type.is_real() || type.kind == sql::Kind::kString ||
         type.kind == sql::Kind::kBoolean;
}

}  // namespace

Result<std::unique_ptr<Source>> open_datagen_source(const sql::Table& table,
                                                    TableOptions& options) {
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
  HF_ASSIGN_OR_RETURN(std::int64_t rows, options.number("number-of-rows", kEndless));
  HF_ASSIGN_OR_RETURN(const auto per_second, options.number("rows-per-second", 10'000));
  HF_ASSIGN_OR_RETURN(const auto seed, options.number("seed", 1));
  if (rows < 0) return options.wrong("number-of-rows", "a number from 0");
  std::vector<Field> fields;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.computed[i] != nullptr) continue;
    if (!can_make(table.columns[i].type)) {
      return sql::unsupported_at(table.at,
                                 "datagen of " + sql::name_of(table.columns[i].type) + " (column " +
                                     escape(table.columns[i].name) + ")",
                                 "for a time: ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3)");
    }
    HF_ASSIGN_OR_RETURN(Field field, field_of(table.columns[i], options));
    field.column = i;
    const auto values = static_cast<sql::Int128>(field.last) - field.first + 1;
    if (field.sequence && values < rows) rows = static_cast<std::int64_t>(values);
    fields.push_back(field);
  }
  HF_RETURN_IF_ERROR(options.all_known());
  return std::unique_ptr<Source>(
      std::make_unique<DatagenSource>(std::move(fields), static_cast<std::uint64_t>(rows),
                                      per_second, static_cast<std::uint64_t>(seed)));
}

}  // namespace holdfast::stream
