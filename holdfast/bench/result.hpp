// result.hpp: the one result document that every benchmark of the project writes.
//
//   { "schema": {"name": "holdfast.bench", "version": 1},
//     "environment": {…}, "calibration": {…}, "command": {…}, "rows": [{…}, …] }
//
// `environment`, `calibration`, `command` and each row are flat lists of named values, in order.
// Names end in their unit. A row has at least
//
//   subject operation threads            what was measured
//   ops_per_s_median _low _high          of all threads together; interval as in statistics.hpp
//   ns_per_op_median                     per thread: what one caller waits on average
//   cpu_ns_per_op_median                 the CPU time of its thread; far below: the machine was
//   busy, or it waited repetitions                          that count valid true, or the reason
//   why this row must not be believed
//
// then the parameters by name (key_bytes, value_bytes, records, batch, durability, …), and where
// they apply fences_per_op, bytes_per_s_median, p50_ns p90_ns p99_ns p999_ns p9999_ns,
// dram_bytes_per_record, medium_bytes_per_record, `experiment` within a suite, and for the paired
// comparison time_x_floor_median _low _high.
//
// Guarantee  read(write(document)) gives the same document (numbers bit by bit; not-a-number is
// null). Errors     reading: kNotHoldfast (no such schema), kNewerFormat, kCorrupt (names the
// place).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::bench {

inline constexpr std::string_view kSchemaName = "holdfast.bench";
inline constexpr std::uint64_t kSchemaVersion = 1;

using Value = std::variant<bool, std::uint64_t, double, std::string, std::vector<double>>;

struct Field {
  std::string name;
  Value value;
  bool operator==(const Field&) const = default;
};

// Named values in order; names are unique.
class Fields {
 public:
  // Replaces the value of a name that is there already, else appends.
  void set(std::string_view name, Value value);
  void set(std::string_view name, const char* text) { set(name, Value(std::string(text))); }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void set(std::string_view name, Number number) {
    if constexpr (std::is_same_v<Number, bool>)
      set(name, Value(number));
    else if constexpr (std::is_floating_point_v<Number>)
      set(name, Value(static_cast<double>(number)));
    else
      set(name, Value(static_cast<std::uint64_t>(number)));
  }
  void merge(const Fields& other);

  const Value* find(std::string_view name) const;
  // NaN where absent or not a number.
  double number(std::string_view name) const;
  // Empty where absent or not a text.
  std::string text(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;

  const std::vector<Field>& all() const { return fields_; }
  bool empty() const { return fields_.empty(); }
  bool operator==(const Fields&) const = default;

 private:
  std::vector<Field> fields_;
};

class Row : public Fields {
 public:
  Row() = default;
  Row(std::string_view subject, std::string_view operation, unsigned threads);

  std::string subject() const { return text("subject"); }
  std::string operation() const { return text("operation"); }
  std::uint64_t threads() const { return static_cast<std::uint64_t>(number("threads")); }

  bool valid() const;
  // Empty where valid.
  std::string invalid_reason() const { return text("valid"); }
  // The first reason stays.
  void invalidate(std::string_view reason);
};

struct Document {
  Fields environment;
  Fields calibration;
  Fields command;
  std::vector<Row> rows;

  // Rows of a suite carry the name of their experiment; a row without one is of experiment "".
  const Row* find(std::string_view subject, std::string_view operation, std::uint64_t threads,
                  std::string_view experiment = {}) const;
  bool operator==(const Document&) const = default;
};

std::string to_json(const Document& document);
Result<Document> from_json(std::string_view text);

// Replaces `path` as a whole; "-" is standard output. Errors: kIo.
Status write_json(const Document& document, const std::string& path);
Result<Document> read_json(const std::string& path);

}  // namespace holdfast::bench
