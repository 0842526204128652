#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <holdfast/bench/convert.hpp>

namespace holdfast::bench {
namespace {

bool is_histogram(const std::string& name) {
  return name == "latency_upper_ns" || name == "latency_count";
}

std::string number_cell(double number) {
  if (std::isnan(number)) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  // The shortest form that reads back as the same number.
  for (int digits = 1; digits < 17; ++digits) {
    char shorter[32];
    std::snprintf(shorter, sizeof shorter, "%.*g", digits, number);
    if (std::strtod(shorter, nullptr) == number) return shorter;
  }
  return text;
}

std::string cell(const Value& value) {
  std::string text;
  if (const auto* number = std::get_if<double>(&value)) {
    text = number_cell(*number);
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    for (const auto& each : *numbers)
      text += (&each == &numbers->front() ? "" : ";") + number_cell(each);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    for (const auto& each : *texts)
      text += (&each == &texts->front() ? "" : ";") + each;
  } else {
    text = to_text(value);
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const auto letter : text)
    quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

}  // namespace

std::string to_csv(const Document& document) {
  std::vector<std::string> columns;
  for (const auto& row : document.rows) {
    for (const auto& field : row.all()) {
      if (!is_histogram(field.name) &&
          std::find(columns.begin(), columns.end(), field.name) == columns.end())
        columns.push_back(field.name);
    }
  }
  std::string text;
  for (const auto& column : columns)
    text += (&column == &columns.front() ? "" : ",") + cell(Value(column));
  text += "\n";
  for (const auto& row : document.rows) {
    for (const auto& column : columns) {
      const auto* value = row.find(column);
      text += (&column == &columns.front() ? "" : ",") +
              (value == nullptr ? std::string() : cell(*value));
    }
    text += "\n";
  }
  return text;
}

}  // namespace holdfast::bench
