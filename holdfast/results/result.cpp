#include <holdfast/results/result.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <holdfast/base/printed.hpp>
#include <holdfast/results/output.hpp>

namespace holdfast::results {
namespace {

using Json = nlohmann::ordered_json;

Json number_to_json(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

// The parameters of `kv bench` when documents did not name theirs.
const std::vector<std::string> kParametersOfVersion1 = {"experiment",   "batch",   "key_bytes",
                                                        "value_bytes",  "records", "durability",
                                                        "distribution", "region"};

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
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return *list;
  return std::get<std::string>(value);
}

// Paths and error texts may hold any bytes; a result is written all the same.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// One field per line; lists stay on theirs, since a histogram has hundreds of entries.
std::string dump(const Fields& fields, const std::string& indent) {
  if (fields.empty()) return "{}";
  std::string text = "{\n";
  for (const auto& field : fields.all()) {
    text += indent + "  " + dump(Json(field.name)) + ": " + dump(to_json_value(field.value)) +
            (&field == &fields.all().back() ? "\n" : ",\n");
  }
  return text + indent + "}";
}

template <class Entry>
std::string dump_list(const std::vector<Entry>& entries) {
  if (entries.empty()) return "[]";
  std::string text = "[\n";
  for (const auto& entry : entries) {
    text += "    ";
    if constexpr (std::is_base_of_v<Fields, Entry>)
      text += dump(entry, "    ");
    else
      text += dump(Json(entry));
    text += &entry == &entries.back() ? "\n" : ",\n";
  }
  return text + "  ]";
}

Result<std::vector<std::string>> texts_from_json(const Json& json, const std::string& place) {
  std::vector<std::string> texts;
  if (!json.is_array()) return Error{Errc::kCorrupt, place + ": must be a list of texts"};
  for (const auto& element : json) {
    if (!element.is_string()) {
      return Error{Errc::kCorrupt,
                   place + ": must be a list of texts, this one holds a " + element.type_name()};
    }
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

Result<Value> value_from_json(const Json& json, const std::string& place) {
  constexpr auto kNotANumber = std::numeric_limits<double>::quiet_NaN();
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned()) return Value(json.get<std::uint64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_null()) return Value(kNotANumber);
  if (json.is_string()) return Value(json.get<std::string>());
  if (json.is_array() && !json.empty() && json.front().is_string()) {
    HF_ASSIGN_OR_RETURN(auto texts, texts_from_json(json, place));
    return Value(std::move(texts));
  }
  if (json.is_array()) {
    std::vector<double> numbers;
    for (const auto& element : json) {
      if (!element.is_number() && !element.is_null()) {
        return Error{Errc::kCorrupt, place + ": a list holds numbers or texts, this one holds a " +
                                         element.type_name() + ", too"};
      }
      numbers.push_back(element.is_null() ? kNotANumber : element.get<double>());
    }
    return Value(std::move(numbers));
  }
  return Error{Errc::kCorrupt, place + ": is a " + std::string(json.type_name()) +
                                   "; allowed are true, false, a number, null, a text, and lists "
                                   "of numbers or of texts"};
}

Status fields_from_json(const Json& json, const std::string& place, Fields& fields) {
  if (!json.is_object()) {
    return Error{Errc::kCorrupt,
                 place + ": is a " + std::string(json.type_name()) + ", must be an object"};
  }
  if (json.size() > kFieldsMax) {
    return Error{Errc::kCorrupt, place + ": has " + std::to_string(json.size()) +
                                     " fields, at most " + std::to_string(kFieldsMax) +
                                     " are allowed"};
  }
  for (const auto& [name, element] : json.items()) {
    HF_ASSIGN_OR_RETURN(auto value, value_from_json(element, place + "." + name));
    fields.set(name, std::move(value));
  }
  return {};
}

Status list_from_json(const Json& json, const std::string& name, std::vector<Fields>& list) {
  if (!json.is_array()) return Error{Errc::kCorrupt, name + ": must be a list"};
  for (const auto& element : json) {
    const auto place = name + "[" + std::to_string(list.size()) + "]";
    HF_RETURN_IF_ERROR(fields_from_json(element, place, list.emplace_back()));
  }
  return {};
}

Status row_from_json(const Json& json, const std::string& place, Row& row) {
  HF_RETURN_IF_ERROR(fields_from_json(json, place, row));
  for (const auto* name : {"subject", "operation"}) {
    if (row.text(name).empty())
      return Error{Errc::kCorrupt, place + "." + name + ": is missing or not a text"};
  }
  const auto threads = row.number("threads");
  if (!(threads >= 0 && threads <= 1e6))
    return Error{Errc::kCorrupt, place + ".threads: must be a number from 0 to a million"};
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
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value);
      texts != nullptr && texts->empty())
    value = std::vector<double>{};
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

std::vector<std::string> Fields::texts(std::string_view name) const {
  const auto* value = find(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
  return list == nullptr ? std::vector<std::string>() : *list;
}

Row::Row(std::string_view subject, std::string_view operation, unsigned threads) {
  set("subject", subject);
  set("operation", operation);
  set("threads", threads);
  set("valid", true);
}

bool Row::valid() const {
  const auto* value = find("valid");
  const auto* flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  return flag != nullptr && *flag;
}

void Row::invalidate(std::string_view reason) {
  if (valid()) set("valid", reason);
}

void Row::warn(std::string_view warning) {
  auto warnings = texts("warnings");
  warnings.emplace_back(warning);
  set("warnings", std::move(warnings));
}

void Row::set_latency(const Histogram& histogram) {
  if (histogram.count() == 0) return;
  struct Percentile {
    const char* name;
    double percent;
    std::uint64_t samples_least;  // So that ten lie beyond it.
  };
  constexpr Percentile kPercentiles[] = {{"p50_ns", 50, 1},
                                         {"p90_ns", 90, 100},
                                         {"p99_ns", 99, 1'000},
                                         {"p999_ns", 99.9, 10'000},
                                         {"p9999_ns", 99.99, 100'000}};
  for (const auto& one : kPercentiles) {
    if (histogram.count() >= one.samples_least) set(one.name, histogram.percentile(one.percent));
  }
  set("latency_samples", histogram.count());
  set("max_ns", histogram.max());
  set("mean_ns", histogram.mean());
  std::vector<double> uppers, counts;
  histogram.for_each([&](std::uint64_t upper, std::uint64_t count) {
    uppers.push_back(static_cast<double>(std::min(upper, histogram.max())));
    counts.push_back(static_cast<double>(count));
  });
  set("latency_upper_ns", std::move(uppers));
  set("latency_count", std::move(counts));
}

Histogram Row::latency() const {
  Histogram histogram;
  const auto uppers = numbers("latency_upper_ns"), counts = numbers("latency_count");
  const auto whole = [](double number) { return number >= 0 && number < 0x1p63; };
  for (std::size_t i = 0; i < std::min(uppers.size(), counts.size()); ++i) {
    if (whole(uppers[i]) && whole(counts[i]))
      histogram.record(static_cast<std::uint64_t>(uppers[i]),
                       static_cast<std::uint64_t>(counts[i]));
  }
  return histogram;
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

std::string to_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&value)) return printed("%.10g", *number);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
    return joined(*texts, ", ");
  std::vector<std::string> numbers;
  for (const auto number : std::get<std::vector<double>>(value))
    numbers.push_back(to_text(Value(number)));
  return joined(numbers, ", ");
}

std::string identity(const Row& row, const std::vector<std::string>& parameters) {
  auto text = row.subject() + " " + row.operation() + ", " + std::to_string(row.threads()) +
              (row.threads() == 1 ? " thread" : " threads");
  for (const auto& name : parameters.empty() ? kParametersOfVersion1 : parameters) {
    if (const auto* value = row.find(name)) text += ", " + name + " " + to_text(*value);
  }
  return text;
}

std::string to_json(const Document& document) {
  return "{\n  \"schema\": " + dump(Json{{"name", kSchemaName}, {"version", kSchemaVersion}}) +
         ",\n  \"environment\": " + dump(document.environment, "  ") +
         ",\n  \"calibration\": " + dump(document.calibration, "  ") +
         ",\n  \"command\": " + dump(document.command, "  ") +
         ",\n  \"regions\": " + dump_list(document.regions) +
         ",\n  \"benchmarks\": " + dump_list(document.benchmarks) +
         ",\n  \"parameters\": " + dump(Json(document.parameters)) +
         ",\n  \"warnings\": " + dump_list(document.warnings) +
         ",\n  \"rows\": " + dump_list(document.rows) + "\n}\n";
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
  if (version.get<std::uint64_t>() >= 2) {
    HF_RETURN_IF_ERROR(list_from_json(json.value("regions", Json()), "regions", document.regions));
    // Documents of the first builds of version 2 have none.
    HF_RETURN_IF_ERROR(
        list_from_json(json.value("benchmarks", Json::array()), "benchmarks", document.benchmarks));
    HF_ASSIGN_OR_RETURN(document.parameters,
                        texts_from_json(json.value("parameters", Json()), "parameters"));
    HF_ASSIGN_OR_RETURN(document.warnings,
                        texts_from_json(json.value("warnings", Json()), "warnings"));
  }
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
  return write_file(to_json(document), path);
}

Result<Document> read_json(const std::string& path) {
  HF_ASSIGN_OR_RETURN(const auto text, read_file(path, kResultBytesMax));
  auto document = from_json(text);
  if (!document) return Error{document.code(), path + ": " + document.error().detail};
  return document;
}

}  // namespace holdfast::results
