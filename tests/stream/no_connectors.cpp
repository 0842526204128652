// For programs of some sources only, whose tests have tables and sinks of their own: there are no
// connectors and no formats.
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {

Result<std::unique_ptr<Source>> open_source(const sql::Table&, std::string_view) {
  return Error{Errc::kUnsupported, "there are no connectors here"};
}

std::unique_ptr<RowWriter> plain_writer(bool, const std::vector<sql::Column>&) { return nullptr; }

}  // namespace holdfast::stream
