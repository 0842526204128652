// sinks.hpp: the sinks there are, each opened of its options.
#pragma once

#include <memory>
#include <vector>

#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream {

Result<std::unique_ptr<Sink>> open_file_sink(const sql::Table& table,
                                             const std::vector<sql::Column>& columns,
                                             TableOptions& options, const Output& output);
Result<std::unique_ptr<Sink>> open_print_sink(const sql::Table& table,
                                              const std::vector<sql::Column>& columns,
                                              TableOptions& options, const Output& output);
Result<std::unique_ptr<Sink>> open_blackhole_sink(const sql::Table& table,
                                                  const std::vector<sql::Column>& columns,
                                                  TableOptions& options, const Output& output);
// The sink of a plain SELECT.
std::unique_ptr<Sink> open_output_sink(const std::vector<sql::Column>& columns,
                                       const Output& output, OutputFormat format);

}  // namespace holdfast::stream
