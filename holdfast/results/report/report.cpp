#include <holdfast/results/report/report.hpp>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <holdfast/results/report/assets.hpp>
#include <holdfast/results/report/published.hpp>

namespace holdfast::results::report {
namespace {

using Json = nlohmann::ordered_json;

// A latency curve is read off at 0 %, then at every twentieth of a nine: 90 % is at 1, 99 % at 2.
constexpr double kCurveStep = 0.05;
constexpr double kNinesMax = 5;

// Nanoseconds at those percentiles, as far as there is at least one operation beyond: a histogram
// has hundreds of buckets, a picture of it does not need them.
std::vector<double> latency_curve(const Histogram& histogram) {
  std::vector<double> curve;
  if (histogram.count() == 0) return curve;
  for (int i = 0; i * kCurveStep <= kNinesMax + 1e-9; ++i) {
    const auto beyond = std::pow(10, -i * kCurveStep);
    if (i > 0 && beyond * static_cast<double>(histogram.count()) < 1) break;
    curve.push_back(static_cast<double>(i == 0 ? histogram.percentile(0)
                                               : histogram.percentile(100 * (1 - beyond))));
  }
  return curve;
}

Document for_the_page(const Document& document) {
  Document slim = document;
  for (auto& row : slim.rows) {
    auto curve = latency_curve(row.latency());
    Row kept;
    for (const auto& field : row.all()) {
      if (field.name != "latency_upper_ns" && field.name != "latency_count" &&
          field.name != "latency_curve_ns" && !field.name.ends_with("_samples"))
        kept.set(field.name, field.value);
    }
    if (!curve.empty()) kept.set("latency_curve_ns", std::move(curve));
    row = std::move(kept);
  }
  return slim;
}

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json claim_json(const Claim& claim) {
  auto where = Json::object();
  for (const auto& [name, value] : claim.where)
    where[name] = value;
  return {{"id", claim.id},
          {"operation", claim.operation},
          {"field", claim.field},
          {"where", std::move(where)},
          {"value", claim.value},
          {"low", json_number(claim.low)},
          {"high", json_number(claim.high)},
          {"how", claim.how},
          {"text", claim.text},
          {"system", claim.system},
          {"hardware_name", claim.hardware_name},
          {"hardware", claim.hardware},
          {"workload", claim.workload},
          {"note", claim.note},
          {"threads", claim.threads},
          {"place", claim.place}};
}

// JSON that may stand inside a script element: "</script" and "<!--" cannot occur.
std::string inside_a_script(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const auto letter : json) {
    if (letter == '<')
      safe += "\\u003c";
    else
      safe += letter;
  }
  return safe;
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const auto letter : text) {
    switch (letter) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

// `text` with each "@NAME@" replaced, in one pass: what is put in is not looked at again.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string_view>>& values) {
  std::string page;
  for (std::size_t at = 0; at < text.size();) {
    const auto mark = text.find('@', at);
    page += text.substr(at, mark == std::string_view::npos ? mark : mark - at);
    if (mark == std::string_view::npos) break;
    at = mark + 1;
    bool known = false;
    for (const auto& [name, value] : values) {
      if (!text.substr(mark).starts_with(name)) continue;
      page += value;
      at = mark + name.size();
      known = true;
    }
    if (!known) page += '@';
  }
  return page;
}

// What all the results are about; where they differ, no more than that Holdfast measured.
std::string title_of(const std::vector<NamedDocument>& results) {
  const std::map<std::string, std::string> titles = {{"bench run", "What this memory delivers"},
                                                     {"kv bench", "How the stores compare"},
                                                     {"blocks bench", "What the blocks cost"}};
  std::set<std::string> found;
  for (const auto& result : results) {
    const auto title = titles.find(result.document.command.text("name"));
    found.insert(title == titles.end() ? "Measured by Holdfast" : title->second);
  }
  return found.size() == 1 ? *found.begin() : "Measured by Holdfast";
}

}  // namespace

Result<std::string> to_html(const std::vector<NamedDocument>& results,
                            const ReportOptions& options) {
  const auto title = options.title.empty() ? title_of(results) : options.title;
  // The documents are put together as texts: they are JSON already, in the form that is documented.
  std::string documents;
  std::vector<const Document*> originals;
  for (const auto& [label, document] : results) {
    const auto name = Json(label).dump(-1, ' ', false, Json::error_handler_t::replace);
    documents += (documents.empty() ? "" : ",") + ("{\"label\":" + name) +
                 ",\"document\":" + to_json(for_the_page(document)) + "}";
    originals.push_back(&document);
  }
  auto published = Json::array();
  HF_ASSIGN_OR_RETURN(const auto claims, claims_for(originals));
  for (const auto& claim : claims)
    published.push_back(claim_json(claim));
  HF_ASSIGN_OR_RETURN(const auto papers, citations());
  Json rest = {
      {"title", title}, {"curve_step", kCurveStep}, {"published", published}, {"papers", papers}};
  if (results.size() == 2) {
    rest["comparison"] = Json::parse(to_json(
        compare(results[0].document, results[1].document, options.compare), options.compare));
    // Beside the values of the rows, whose they are.
    rest["comparison"]["before"] = results[0].label;
    rest["comparison"]["after"] = results[1].label;
  }
  if (options.prices) rest["prices"] = Json::parse(to_json(*options.prices));
  auto text = rest.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  const auto data = inside_a_script(text + ",\"results\":[" + documents + "]}");
  std::string script;
  for (const auto part : {kBase, kWords, kFrame, kCharts, kBenchmark, kAnswers, kSections})
    script += part;
  return filled(
      kPage,
      {{"@TITLE@", escaped(title)}, {"@STYLE@", kStyle}, {"@DATA@", data}, {"@SCRIPT@", script}});
}

}  // namespace holdfast::results::report
