// stream_page.hpp: what running queries do, as a page, as numbers for Prometheus, and as lines of a
// terminal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/monitor.hpp>

#include "stream_server.hpp"

namespace holdfast::tools {

extern const std::string_view kStreamPage;  // The page; it asks for /state.json each second.

// All queries as JSON: what the page reads.
std::string state_json(const stream::Monitor& monitor);
// In the text format of Prometheus.
std::string prometheus_text(const stream::Monitor& monitor);

// Serves /, /state.json and /metrics; `monitor` outlives it. Errors: kNotFound (the module is not
// there: what to install), kIo (the port is taken).
Result<std::unique_ptr<WebServer>> serve_page(std::uint16_t port, const stream::Monitor& monitor);

// A line per query on standard error, renewed in place, from begin to end of its life.
class TerminalView {
 public:
  explicit TerminalView(const stream::Monitor& monitor);
  ~TerminalView();

 private:
  struct Painter;
  std::unique_ptr<Painter> painter_;
};

}  // namespace holdfast::tools
