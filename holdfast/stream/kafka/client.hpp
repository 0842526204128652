// client.hpp: what source and sink share of librdkafka: settings, errors, owners of its objects.
//
// Errors  kInvalidOption: a property that librdkafka does not have, or a value that it refuses.
//         kIo: what the broker said.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream::kafka {

inline constexpr int kPatienceMs = 15'000;  // For answers without which nothing goes on.

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, Destroyer<rd_kafka_conf_destroy>>;
using Client = std::unique_ptr<rd_kafka_t, Destroyer<rd_kafka_destroy>>;
using Partitions = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                   Destroyer<rd_kafka_topic_partition_list_destroy>>;
using Queue = std::unique_ptr<rd_kafka_queue_t, Destroyer<rd_kafka_queue_destroy>>;
using Message = std::unique_ptr<rd_kafka_message_t, Destroyer<rd_kafka_message_destroy>>;
using KafkaError = std::unique_ptr<rd_kafka_error_t, Destroyer<rd_kafka_error_destroy>>;
using Metadata = std::unique_ptr<const rd_kafka_metadata_t, Destroyer<rd_kafka_metadata_destroy>>;
using GroupMetadata = std::unique_ptr<rd_kafka_consumer_group_metadata_t,
                                      Destroyer<rd_kafka_consumer_group_metadata_destroy>>;

// Made of the options 'properties.NAME', each a setting of librdkafka (docs/connectors.md).
Result<Conf> conf_of(const sql::Table& table, TableOptions& options);
Status set(rd_kafka_conf_t* conf, const char* name, const std::string& value);
Result<Client> make_client(rd_kafka_type_t type, Conf conf);

Error broker_error(std::string_view what, rd_kafka_resp_err_t code);
Error broker_error(std::string_view what, const rd_kafka_error_t* error);

// How many partitions a topic has. Errors: kNotFound (there is no such topic), kIo (no broker
// answers).
Result<std::int32_t> partitions_of(rd_kafka_t* client, const std::string& topic);

}  // namespace holdfast::stream::kafka
