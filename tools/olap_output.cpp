#include "olap_output.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <holdfast/base/format.hpp>

#include "parquet_process.hpp"

namespace holdfast::tools {

using olap::mart::StarAnswer;

namespace {

void append_field(std::string_view field, bool quoted, std::string& text) {
  if (!quoted && !field.empty() && field.find_first_of(",\"\r\n") == std::string_view::npos) {
    text += field;
    return;
  }
  text += '"';
  for (const char letter : field)
    text.append(letter == '"' ? 2 : 1, letter);
  text += '"';
}

nlohmann::ordered_json json_of(const sql::Value& value, const sql::Type& type) {
  if (value.null) return nullptr;
  if (type.kind == sql::Kind::kBoolean) return value.number != 0;
  if (type.is_integer()) return static_cast<std::int64_t>(value.number);
  if (type.is_real() && std::isfinite(value.real)) return value.real;
  return sql::text_of(value, type);
}

}  // namespace

std::string csv_of(const StarAnswer& answer, QuoteTexts quotes, bool header) {
  std::string text;
  const auto end_field = [&](std::size_t i) { text += i + 1 == answer.names.size() ? '\n' : ','; };
  for (std::size_t i = 0; header && i < answer.names.size(); ++i) {
    append_field(answer.names[i], false, text);
    end_field(i);
  }
  for (const auto& row : answer.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].null)
        append_field(sql::text_of(row[i], answer.types[i]),
                     quotes == QuoteTexts::kAll && answer.types[i].kind == sql::Kind::kString,
                     text);
      end_field(i);
    }
  }
  return text;
}

std::string json_of(const StarAnswer& answer, double seconds) {
  nlohmann::ordered_json document;
  auto& columns = document["columns"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < answer.names.size(); ++i)
    columns.push_back({{"name", answer.names[i]}, {"type", sql::name_of(answer.types[i])}});
  auto& rows = document["rows"] = nlohmann::ordered_json::array();
  for (const auto& row : answer.rows) {
    auto& to = rows.emplace_back(nlohmann::ordered_json::array());
    for (std::size_t i = 0; i < row.size(); ++i)
      to.push_back(json_of(row[i], answer.types[i]));
  }
  document["rows_passed"] = answer.counts.passed;
  document["blocks"] = answer.counts.blocks;
  document["blocks_read"] = answer.counts.read;
  document["seconds"] = seconds;
  // Texts of a file may be no UTF-8: what is none becomes a replacement character.
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string table_of(const StarAnswer& answer) {
  std::vector<std::vector<std::string>> cells{answer.names};
  for (const auto& row : answer.rows) {
    auto& to = cells.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i)
      to.push_back(row[i].null ? "NULL" : escape(sql::text_of(row[i], answer.types[i])));
  }
  std::vector<std::size_t> widths(answer.names.size());
  for (const auto& row : cells) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], sql::characters_of(row[i]));
  }
  std::string text;
  for (std::size_t line = 0; line < cells.size(); ++line) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string blanks(widths[i] - sql::characters_of(cells[line][i]), ' ');
      const bool right = answer.types[i].is_numeric();
      text += (i == 0 ? "" : "  ");
      text += right ? blanks + cells[line][i] : cells[line][i] + blanks;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

Status write_parquet(const StarAnswer& answer, const std::string& python, const std::string& path) {
  std::vector<std::string> types;
  for (const auto& type : answer.types)
    types.push_back(sql::name_of(type));
  HF_ASSIGN_OR_RETURN(auto process, ParquetProcess::writer(python, path, answer.names, types));
  HF_RETURN_IF_ERROR(process.write(csv_of(answer, QuoteTexts::kAll, false)));
  return process.finish();
}

}  // namespace holdfast::tools
