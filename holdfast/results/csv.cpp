#include <holdfast/results/csv.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace holdfast::results {
namespace {

bool is_histogram(const std::string& name) {
  return name == "latency_upper_ns" || name == "latency_count";
}

std::string shortest_number(double number) {
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
    text = shortest_number(*number);
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    for (const auto& each : *numbers)
      text += (&each == &numbers->front() ? "" : ";") + shortest_number(each);
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

std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto letter = text[i];
    if (quoted) {
      if (letter != '"') {
        line.back() += letter;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        line.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (letter == '"') {
      quoted = true;
    } else if (letter == ',') {
      line.emplace_back();
    } else if (letter == '\n') {
      lines.push_back(std::move(line));
      line.assign(1, {});
    } else if (letter != '\r') {
      line.back() += letter;
    }
  }
  if (line.size() > 1 || !line.back().empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace holdfast::results
