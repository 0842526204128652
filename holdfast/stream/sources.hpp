// sources.hpp: the sources there are, each opened of its options.
#pragma once

#include <memory>

#include <holdfast/stream/source.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream {

Result<std::unique_ptr<Source>> open_file_source(const sql::Table& table, TableOptions& options);
Result<std::unique_ptr<Source>> open_socket_source(const sql::Table& table, TableOptions& options);
Result<std::unique_ptr<Source>> open_datagen_source(const sql::Table& table, TableOptions& options);

}  // namespace holdfast::stream
