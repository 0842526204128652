// connector.hpp: the connector 'kafka', in a module of its own: holdfast-peers-rdkafka.so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <holdfast/stream/format.hpp>
#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/source.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream::kafka {

// Which columns are in a record's key, and which in its value: 'key.format', 'key.fields',
// 'value.format', 'value.fields-include'.
struct KeyColumns {
  FormatScope key, value;
};
Result<KeyColumns> key_columns_of(const std::vector<sql::Column>& columns,
                                  const FormatScope& physical, TableOptions& options);

Result<std::unique_ptr<Source>> open_kafka_source(const sql::Table& table, TableOptions& options);
Result<std::vector<std::string>> kafka_splits(const sql::Table& table, TableOptions& options);
Result<std::unique_ptr<Sink>> open_kafka_sink(const sql::Table& table,
                                              const std::vector<sql::Column>& columns,
                                              TableOptions& options, const Output& output);

}  // namespace holdfast::stream::kafka
