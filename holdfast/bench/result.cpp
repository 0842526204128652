#include <holdfast/bench/result.hpp>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include <nlohmann/json.hpp>

namespace holdfast::bench {
namespace {

using Json = nlohmann::ordered_json;

Json number_to_json(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

Json to_json_value(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return *count;
  if (const auto* number = std::get_if<double>(&value)) return number_to_json(*number);
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    auto array = Json::array();
    for (const auto number : *list)
      array.push_back(number_to_json(number));
    return array;
  }
  return std::get<std::string>(value);
}

Json to_json_object(const Fields& fields) {
  auto object = Json::object();
  for (const auto& field : fields.all())
    object[field.name] = to_json_value(field.value);
  return object;
}

Result<Value> value_from_json(const Json& json, const std::string& place) {
  constexpr auto kNotANumber = std::numeric_limits<double>::quiet_NaN();
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned()) return Value(json.get<std::uint64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_null()) return Value(kNotANumber);
  if (json.is_string()) return Value(json.get<std::string>());
  if (json.is_array()) {
    std::vector<double> numbers;
    for (const auto& element : json) {
      if (!element.is_number() && !element.is_null()) {
        return Error{Errc::kCorrupt, place + ": a list may hold numbers only, this one holds a " +
                                         element.type_name()};
      }
      numbers.push_back(element.is_null() ? kNotANumber : element.get<double>());
    }
    return Value(std::move(numbers));
  }
  return Error{Errc::kCorrupt,
               place + ": is a " + std::string(json.type_name()) +
                   "; allowed are true, false, a number, null, a text, a list of numbers"};
}

Status fields_from_json(const Json& json, const std::string& place, Fields& fields) {
  if (!json.is_object()) {
    return Error{Errc::kCorrupt,
                 place + ": is a " + std::string(json.type_name()) + ", must be an object"};
  }
  for (const auto& [name, element] : json.items()) {
    HF_ASSIGN_OR_RETURN(auto value, value_from_json(element, place + "." + name));
    fields.set(name, std::move(value));
  }
  return {};
}

Status row_from_json(const Json& json, const std::string& place, Row& row) {
  HF_RETURN_IF_ERROR(fields_from_json(json, place, row));
  for (const auto* name : {"subject", "operation"}) {
    if (row.text(name).empty())
      return Error{Errc::kCorrupt, place + "." + name + ": is missing or not a text"};
  }
  if (std::isnan(row.number("threads")))
    return Error{Errc::kCorrupt, place + ".threads: is missing or not a number"};
  const auto* valid = row.find("valid");
  const auto* flag = valid == nullptr ? nullptr : std::get_if<bool>(valid);
  const bool is_reason = valid != nullptr && std::holds_alternative<std::string>(*valid);
  if (!is_reason && (flag == nullptr || !*flag)) {
    return Error{Errc::kCorrupt, place + ".valid: must be true or a text that says why not"};
  }
  return {};
}

}  // namespace

void Fields::set(std::string_view name, Value value) {
  for (auto& field : fields_) {
    if (field.name == name) {
      field.value = std::move(value);
      return;
    }
  }
  fields_.push_back({std::string(name), std::move(value)});
}

void Fields::merge(const Fields& other) {
  for (const auto& field : other.fields_)
    set(field.name, field.value);
}

const Value* Fields::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (field.name == name) return &field.value;
  }
  return nullptr;
}

double Fields::number(std::string_view name) const {
  if (const auto* value = find(name)) {
    if (const auto* count = std::get_if<std::uint64_t>(value)) return static_cast<double>(*count);
    if (const auto* number = std::get_if<double>(value)) return *number;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string Fields::text(std::string_view name) const {
  const auto* value = find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

std::vector<double> Fields::numbers(std::string_view name) const {
  const auto* value = find(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
  return list == nullptr ? std::vector<double>() : *list;
}

Row::Row(std::string_view subject, std::string_view operation, unsigned threads) {
  set("subject", Value(std::string(subject)));
  set("operation", Value(std::string(operation)));
  set("threads", threads);
  set("valid", Value(true));
}

bool Row::valid() const {
  const auto* value = find("valid");
  const auto* flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  return flag != nullptr && *flag;
}

void Row::invalidate(std::string_view reason) {
  if (valid()) set("valid", Value(std::string(reason)));
}

const Row* Document::find(std::string_view subject, std::string_view operation,
                          std::uint64_t threads, std::string_view experiment) const {
  for (const auto& row : rows) {
    if (row.subject() == subject && row.operation() == operation && row.threads() == threads &&
        row.text("experiment") == experiment)
      return &row;
  }
  return nullptr;
}

std::string to_json(const Document& document) {
  Json json;
  json["schema"] = {{"name", kSchemaName}, {"version", kSchemaVersion}};
  json["environment"] = to_json_object(document.environment);
  json["calibration"] = to_json_object(document.calibration);
  json["command"] = to_json_object(document.command);
  json["rows"] = Json::array();
  for (const auto& row : document.rows)
    json["rows"].push_back(to_json_object(row));
  // Paths and error texts may hold any bytes; a result is written all the same.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Document> from_json(std::string_view text) {
  const auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{Errc::kCorrupt, "result document: is not JSON"};
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_object() ||
      json["schema"].value("name", Json()) != Json(kSchemaName)) {
    return Error{Errc::kNotHoldfast,
                 "result document: schema.name must be \"" + std::string(kSchemaName) + "\""};
  }
  const auto version = json["schema"].value("version", Json());
  if (!version.is_number_unsigned() || version.get<std::uint64_t>() == 0) {
    return Error{Errc::kCorrupt, "result document: schema.version must be a number from 1"};
  }
  if (version.get<std::uint64_t>() > kSchemaVersion) {
    return Error{Errc::kNewerFormat, "result document: schema.version is " + version.dump() +
                                         ", this build reads up to " +
                                         std::to_string(kSchemaVersion) + "; use a newer holdfast"};
  }
  Document document;
  HF_RETURN_IF_ERROR(
      fields_from_json(json.value("environment", Json()), "environment", document.environment));
  HF_RETURN_IF_ERROR(
      fields_from_json(json.value("calibration", Json()), "calibration", document.calibration));
  HF_RETURN_IF_ERROR(fields_from_json(json.value("command", Json()), "command", document.command));
  const auto rows = json.value("rows", Json());
  if (!rows.is_array()) return Error{Errc::kCorrupt, "rows: must be a list"};
  for (const auto& element : rows) {
    Row row;
    HF_RETURN_IF_ERROR(
        row_from_json(element, "rows[" + std::to_string(document.rows.size()) + "]", row));
    document.rows.push_back(std::move(row));
  }
  return document;
}

Status write_json(const Document& document, const std::string& path) {
  const auto text = to_json(document);
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
      return {};
    return Error{Errc::kIo, std::string("standard output: write: ") + std::strerror(errno)};
  }
  // A reader that watches the file sees the old document or the new one, never a piece.
  const auto temporary = path + ".new";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    if (!file) {
      const auto why = std::string(std::strerror(errno));
      std::remove(temporary.c_str());
      return Error{Errc::kIo,
                   temporary + ": write: " + why + "; give --json a path that can be written"};
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const auto why = std::string(std::strerror(errno));
    std::remove(temporary.c_str());
    return Error{Errc::kIo, path + ": rename: " + why};
  }
  return {};
}

Result<Document> read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return Error{Errc::kIo, path + ": read: " + std::strerror(errno)};
  auto document = from_json(text);
  if (!document) return Error{document.code(), path + ": " + document.error().detail};
  return document;
}

}  // namespace holdfast::bench
