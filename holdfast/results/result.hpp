// result.hpp: the one result document that every benchmark of the project writes.
//
//   { "schema": {"name": "holdfast.bench", "version": 2},
//     "environment": {…}, "calibration": {…}, "command": {…},
//     "regions": [{…}, …], "benchmarks": [{…}, …], "parameters": ["…", …], "warnings": ["…", …],
//     "rows": [{…}, …] }
//
// `environment`, `calibration`, `command`, each region, each benchmark and each row are flat lists
// of named values, in order. Names end in their unit. docs/results.md lists the names that are in
// use, and what changed between versions.
//
// `parameters` names the fields of rows that say what was measured, as opposed to how it came out:
// two rows are of the same measurement if subject, operation, threads and these agree.
//
// Guarantee  read(write(document)) gives the same document (numbers bit by bit; not-a-number is
//            null). Versions 1 and 2 are read, 2 is written.
// Errors     reading: kNotHoldfast (no such schema), kNewerFormat, kCorrupt (names the place).
//            No file, however damaged, does more (tests/fuzz/result_fuzz.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/base/histogram.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::results {

inline constexpr std::string_view kSchemaName = "holdfast.bench";
inline constexpr std::uint64_t kSchemaVersion = 2;
// Bounds on what is read: a result of a thousand measurements stays far below them.
inline constexpr std::uint64_t kResultBytesMax = std::uint64_t{1} << 30;
inline constexpr std::size_t kFieldsMax = 4096;  // Of one row, region or section.

using Value = std::variant<bool, std::uint64_t, double, std::string, std::vector<double>,
                           std::vector<std::string>>;

struct Field {
  std::string name;
  Value value;
  bool operator==(const Field&) const = default;
};

// Named values in order; names are unique.
class Fields {
 public:
  // Replaces the value of a name that is there already, else appends. An empty list is one of
  // numbers.
  void set(std::string_view name, Value value);
  void set(std::string_view name, std::string text) { set(name, Value(std::move(text))); }
  void set(std::string_view name, std::string_view text) { set(name, std::string(text)); }
  void set(std::string_view name, const char* text) { set(name, std::string(text)); }
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
  // Empty where absent or not of the type.
  std::string text(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

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
  // What a reader should know of a row that may be believed all the same.
  void warn(std::string_view warning);

  // p50_ns … p9999_ns, max_ns, mean_ns, latency_samples, and the whole histogram as the two lists
  // latency_upper_ns and latency_count: `count` values lay at or below `upper` and above the one
  // before. Left out: all for an empty histogram, and percentiles above the median that have fewer
  // than ten samples beyond them.
  void set_latency(const Histogram& histogram);
  // What set_latency() stored, or an empty one. Values come back as their bucket's upper end.
  Histogram latency() const;
};

struct Document {
  Fields environment;
  Fields calibration;
  Fields command;
  std::vector<Fields> regions;     // What memory was really used, one entry per region.
  std::vector<Fields> benchmarks;  // What an operation of the rows is about: name, description.
  std::vector<std::string> parameters;  // Names of row fields, see above.
  std::vector<std::string> warnings;
  std::vector<Row> rows;

  // Rows of a suite carry the name of their experiment; a row without one is of experiment "".
  const Row* find(std::string_view subject, std::string_view operation, std::uint64_t threads,
                  std::string_view experiment = {}) const;
  bool operator==(const Document&) const = default;
};

// "holdfast seq_read 2 threads, access_bytes 4096": what a row measured, the same text for the same
// measurement. Without a list of parameters (version 1), those that `kv bench` had.
std::string identity(const Row& row, const std::vector<std::string>& parameters);
// A value as people read it: "true", "4096", "0.5", "text", "1, 2, 3".
std::string to_text(const Value& value);

std::string to_json(const Document& document);
Result<Document> from_json(std::string_view text);

// To and from a path, which output.hpp explains. Errors: as there.
Status write_json(const Document& document, const std::string& path);
Result<Document> read_json(const std::string& path);

}  // namespace holdfast::results
