// changelog_sink.hpp: rows that come and go, on standard output: each with +I, -U, +U or -D before
// it, in the column `op`.
#pragma once

#include <memory>
#include <vector>

#include <holdfast/stream/sink.hpp>

namespace holdfast::stream {

// What it is given outlives the sink.
Result<std::unique_ptr<Sink>> open_changelog_sink(const std::vector<sql::Column>& columns,
                                                  const Output& output, OutputFormat format);

}  // namespace holdfast::stream
