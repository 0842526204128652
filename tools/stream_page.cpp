#include "stream_page.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/format.hpp>
#include <holdfast/modules/modules.hpp>

#include "console.hpp"

namespace holdfast::tools {
namespace {

using nlohmann::json;
using stream::QueryState;
using stream::QueryView;

const char* word_of(QueryState state) {
  switch (state) {
    case QueryState::kRunning: return "running";
    case QueryState::kFinished: return "finished";
    case QueryState::kStopped: return "stopped";
    case QueryState::kFailed: return "failed";
  }
  return "?";
}

bool is_known(std::int64_t watermark_ms) {
  return watermark_ms != stream::kNoWatermark && watermark_ms != stream::kEndOfTime;
}

bool has_watermark(const QueryView& view) { return is_known(view.progress.watermark_ms); }

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

json page_json_of(const stream::OperatorProgress& one) {
  const auto known = [](const auto& number) { return number ? json(*number) : json(nullptr); };
  return json{{"node", one.node},
              {"what", one.what},
              {"rows_in", known(one.rows_in)},
              {"rows_out", known(one.rows_out)},
              {"late_rows", one.late_rows},
              {"rows_without_time", one.rows_without_time},
              {"state_entries", one.entries},
              {"state_bytes", one.state_bytes},
              {"watermark_ms", is_known(one.watermark_ms) ? json(one.watermark_ms) : json(nullptr)},
              {"seconds", known(one.seconds)}};
}

json page_json_of(const QueryView& view) {
  const auto& now = view.progress;
  json query{{"query", view.number},
             {"split", view.split},
             {"plan", view.plan},
             {"begun_ms", view.begun_ms},
             {"state", word_of(now.state)},
             {"compiled", now.compiled},
             {"workers", now.workers},
             {"place", now.place},
             {"rows_in", now.rows_in},
             {"rows_out", now.rows_out},
             {"late_rows", now.late_rows},
             {"rows_without_time", now.rows_without_time},
             {"malformed", now.malformed},
             {"malformed_samples", now.malformed_samples},
             {"checkpoints", now.checkpoints},
             {"last_epoch", now.last_epoch},
             {"last_checkpoint_ms", now.last_checkpoint_ms},
             {"last_checkpoint_seconds", now.last_checkpoint_seconds},
             {"longest_checkpoint_seconds", now.longest_checkpoint_seconds},
             {"state_bytes", now.state_bytes},
             {"waiting_seconds", now.waiting_seconds},
             {"working_seconds", std::max(0.0, now.working_seconds - now.writing_seconds)},
             {"writing_seconds", now.writing_seconds},
             {"checkpoint_seconds", now.checkpoint_seconds},
             {"error", now.error},
             {"sample", view.sample}};
  query["operators"] = json::array();
  for (const auto& one : now.operators)
    query["operators"].push_back(page_json_of(one));
  query["watermark_ms"] = has_watermark(view) ? json(now.watermark_ms) : json(nullptr);
  return query;
}

// One number of each query.
struct Metric {
  const char* name;
  const char* type;
  const char* help;
  double (*value)(const QueryView&);
};
constexpr std::array kMetrics{
    Metric{"rows_in_total", "counter", "Rows taken from the source, in this run",
           [](const QueryView& view) { return double(view.progress.rows_in); }},
    Metric{"rows_out_total", "counter", "Rows given to the sink, in this run",
           [](const QueryView& view) { return double(view.progress.rows_out); }},
    Metric{"late_rows_total", "counter", "Rows that came behind the watermark and were dropped",
           [](const QueryView& view) { return double(view.progress.late_rows); }},
    Metric{"rows_without_time_total", "counter", "Rows whose time is NULL, dropped",
           [](const QueryView& view) { return double(view.progress.rows_without_time); }},
    Metric{"malformed_records_total", "counter", "Records that could not be read in whole",
           [](const QueryView& view) { return double(view.progress.malformed); }},
    Metric{"checkpoints_total", "counter", "Checkpoints completed, in this run",
           [](const QueryView& view) { return double(view.progress.checkpoints); }},
    Metric{"checkpoint_last_seconds", "gauge", "How long the last checkpoint took",
           [](const QueryView& view) { return view.progress.last_checkpoint_seconds; }},
    Metric{"checkpoint_longest_seconds", "gauge", "How long the longest checkpoint took",
           [](const QueryView& view) { return view.progress.longest_checkpoint_seconds; }},
    Metric{"state_bytes", "gauge", "About how much the state took at the last checkpoint",
           [](const QueryView& view) { return double(view.progress.state_bytes); }},
    Metric{"waiting_seconds_total", "counter", "Time in which the source had no rows",
           [](const QueryView& view) { return view.progress.waiting_seconds; }},
    Metric{"working_seconds_total", "counter", "Time of reading and computing rows",
           [](const QueryView& view) {
             return std::max(0.0, view.progress.working_seconds - view.progress.writing_seconds);
           }},
    Metric{"writing_seconds_total", "counter", "Time in which the sink took rows: back-pressure",
           [](const QueryView& view) { return view.progress.writing_seconds; }},
    Metric{"checkpoint_seconds_total", "counter", "Time of checkpoints",
           [](const QueryView& view) { return view.progress.checkpoint_seconds; }},
    Metric{"workers", "gauge", "Threads that are at work on its rows",
           [](const QueryView& view) { return double(view.progress.workers); }},
    Metric{"running", "gauge", "1 while the query runs",
           [](const QueryView& view) {
             return view.progress.state == QueryState::kRunning ? 1.0 : 0.0;
           }},
};

// A label's value: backslash, quote and line end are escaped.
std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return escaped;
}

void append_metric(const char* name, const char* type, const char* help, std::string& text) {
  text += fmt::format("# HELP holdfast_stream_{} {}\n# TYPE holdfast_stream_{} {}\n", name, help,
                      name, type);
}

void append_value(const char* name, const QueryView& view, double value, std::string& text) {
  text += fmt::format("holdfast_stream_{}{{query=\"{}\",split=\"{}\"}} {}\n", name, view.number,
                      label(view.split), value);
}

// One number of each operator; none: nobody counts it.
struct OperatorMetric {
  const char* name;
  const char* type;
  const char* help;
  std::optional<double> (*value)(const stream::OperatorProgress&);
};
std::optional<double> rows_number_of(const std::optional<std::uint64_t>& count) {
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}
constexpr std::array kOperatorMetrics{
    OperatorMetric{"operator_rows_in_total", "counter", "Rows an operator took, in this run",
                   [](const stream::OperatorProgress& one) { return rows_number_of(one.rows_in); }},
    OperatorMetric{
        "operator_rows_out_total", "counter", "Rows an operator gave, in this run",
        [](const stream::OperatorProgress& one) { return rows_number_of(one.rows_out); }},
    OperatorMetric{"operator_late_rows_total", "counter", "Rows an operator dropped as late",
                   [](const stream::OperatorProgress& one) {
                     return std::optional(static_cast<double>(one.late_rows));
                   }},
    OperatorMetric{"operator_state_entries", "gauge", "Entries of an operator's state in memory",
                   [](const stream::OperatorProgress& one) {
                     return std::optional(static_cast<double>(one.entries));
                   }},
    OperatorMetric{"operator_state_bytes", "gauge", "About the bytes of these entries",
                   [](const stream::OperatorProgress& one) {
                     return std::optional(static_cast<double>(one.state_bytes));
                   }},
    OperatorMetric{"operator_watermark_lag_seconds", "gauge",
                   "How far an operator's watermark is behind the clock",
                   [](const stream::OperatorProgress& one) -> std::optional<double> {
                     if (!is_known(one.watermark_ms)) return std::nullopt;
                     return static_cast<double>(now_ms() - one.watermark_ms) / 1000;
                   }},
    OperatorMetric{"operator_seconds_total", "counter", "Time an operator was at work, by samples",
                   [](const stream::OperatorProgress& one) { return one.seconds; }},
};

// The first word of what the plan says of it: Scan, Filter, Group.
std::string_view kind_of(const stream::OperatorProgress& one) {
  return std::string_view(one.what).substr(0, one.what.find(' '));
}

void append_operators(const std::vector<QueryView>& views, std::string& text) {
  for (const auto& metric : kOperatorMetrics) {
    append_metric(metric.name, metric.type, metric.help, text);
    for (const auto& view : views) {
      for (const auto& one : view.progress.operators) {
        const auto value = metric.value(one);
        if (!value) continue;
        text += fmt::format(
            "holdfast_stream_{}{{query=\"{}\",split=\"{}\",node=\"{}\",operator=\"{}\"}} {}\n",
            metric.name, view.number, label(view.split), one.node, label(kind_of(one)), *value);
      }
    }
  }
}

}  // namespace

std::string state_json(const stream::Monitor& monitor) {
  json queries = json::array();
  for (const auto& view : monitor.views())
    queries.push_back(page_json_of(view));
  return json{{"now_ms", now_ms()}, {"queries", std::move(queries)}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

std::string prometheus_text(const stream::Monitor& monitor) {
  const auto views = monitor.views();
  std::string text;
  for (const auto& metric : kMetrics) {
    append_metric(metric.name, metric.type, metric.help, text);
    for (const auto& view : views)
      append_value(metric.name, view, metric.value(view), text);
  }
  append_metric("watermark_lag_seconds", "gauge", "How far the watermark is behind the clock",
                text);
  for (const auto& view : views) {
    if (!has_watermark(view)) continue;
    const auto lag = static_cast<double>(now_ms() - view.progress.watermark_ms) / 1000;
    append_value("watermark_lag_seconds", view, lag, text);
  }
  append_operators(views, text);
  return text;
}

Result<std::unique_ptr<WebServer>> serve_page(std::uint16_t port, const stream::Monitor& monitor) {
  HF_ASSIGN_OR_RETURN(const auto open, modules::function<OpenServer>("httplib"));
  return open(port, [&monitor](std::string_view path) -> Answer {
    if (path == "/") return {200, "text/html; charset=utf-8", std::string(kStreamPage)};
    if (path == "/state.json") return {200, "application/json", state_json(monitor)};
    if (path == "/metrics") return {200, "text/plain; version=0.0.4", prometheus_text(monitor)};
    return {404, "text/plain", "There are /, /state.json and /metrics.\n"};
  });
}

struct TerminalView::Painter {
  explicit Painter(const stream::Monitor& shown)
      : monitor(shown), terminal(::isatty(STDERR_FILENO) == 1), thread([this] { paint_all(); }) {}
  ~Painter() {
    {
      const Lock lock(mutex);
      ended = true;
    }
    changed.notify_all();
    thread.join();
  }

  void paint_all() {
    const Lock lock(mutex);
    while (!ended) {
      changed.wait_for(mutex, std::chrono::seconds(1));
      paint();
    }
  }
  void paint() {
    const auto views = monitor.views();
    std::string text;
    // In place: over the lines of the last time.
    if (terminal && lines > 0) text += fmt::format("\x1b[{}A", lines);
    for (const auto& view : views)
      text += (terminal ? "\x1b[2K" : "") + line_of(view) + "\n";
    lines = views.size();
    note("{}", text);
  }
  std::string line_of(const QueryView& view) {
    const auto& now = view.progress;
    auto& before = rows_before[{view.number, view.split}];
    const auto rate = format_rate(static_cast<double>(now.rows_in - std::min(before, now.rows_in)));
    before = now.rows_in;
    auto line = fmt::format("query {}{} {}: {} in ({}), {} out", view.number,
                            view.split.empty() ? "" : ", " + view.split, word_of(now.state),
                            with_separators(now.rows_in), rate, with_separators(now.rows_out));
    if (has_watermark(view))
      line += fmt::format(", watermark {} s behind",
                          with_separators(static_cast<std::uint64_t>(
                              std::max<std::int64_t>(0, now_ms() - now.watermark_ms) / 1000)));
    if (now.checkpoints > 0)
      line += fmt::format(", checkpoint {} took {}, {} of state", now.last_epoch,
                          format_nanoseconds(now.last_checkpoint_seconds * 1e9),
                          format_bytes(now.state_bytes));
    return line;
  }

  const stream::Monitor& monitor;
  const bool terminal;
  std::map<std::pair<std::size_t, std::string>, std::uint64_t> rows_before;
  std::size_t lines = 0;
  KernelMutex mutex;
  Condition changed;
  bool ended HF_GUARDED_BY(mutex) = false;
  std::thread thread;  // The last: it uses the others.
};

TerminalView::TerminalView(const stream::Monitor& monitor)
    : painter_(std::make_unique<Painter>(monitor)) {}
TerminalView::~TerminalView() = default;

}  // namespace holdfast::tools
