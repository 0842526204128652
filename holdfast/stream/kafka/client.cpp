#include "client.hpp"

#include <holdfast/base/format.hpp>

namespace holdfast::stream::kafka {
namespace {

constexpr std::string_view kPrefix = "properties.";

// Settings of Java's client that librdkafka does not need.
bool is_of_java_alone(std::string_view name) {
  return name == "key.deserializer" || name == "value.deserializer" || name == "key.serializer" ||
         name == "value.serializer" || name == "max.poll.records";
}

// Messages of librdkafka about connections go to its log, which would be standard error: what
// matters comes back as an error.
void no_log(const rd_kafka_t*, int, const char*, const char*) {}

}  // namespace

Status set(rd_kafka_conf_t* conf, const char* name, const std::string& value) {
  char why[512];
  if (rd_kafka_conf_set(conf, name, value.c_str(), why, sizeof why) == RD_KAFKA_CONF_OK) return {};
  return Error{Errc::kInvalidOption, std::string("'properties.") + name + "': " + why};
}

Result<Conf> conf_of(const sql::Table& table, TableOptions& options) {
  Conf conf(rd_kafka_conf_new());
  rd_kafka_conf_set_log_cb(conf.get(), no_log);
  if (!options.text("properties.bootstrap.servers"))
    return options.wrong("properties.bootstrap.servers", "HOST:PORT");
  for (const auto& option : table.options) {
    if (!option.key.starts_with(kPrefix)) continue;
    options.text(option.key);
    const auto name = option.key.substr(kPrefix.size());
    if (is_of_java_alone(name)) continue;
    if (const Status done = set(conf.get(), name.c_str(), option.value); !done)
      return sql::error_at(option.at, done.error().detail);
  }
  return conf;
}

Result<Client> make_client(rd_kafka_type_t type, Conf conf) {
  char why[512];
  Client client(rd_kafka_new(type, conf.get(), why, sizeof why));
  if (!client) return Error{Errc::kInvalidOption, std::string("Kafka client: ") + why};
  static_cast<void>(conf.release());  // The client owns it now.
  return client;
}

Error broker_error(std::string_view what, rd_kafka_resp_err_t code) {
  return Error{code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
                       code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
                       code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
                   ? Errc::kNotFound
                   : Errc::kIo,
               "Kafka, " + std::string(what) + ": " + rd_kafka_err2str(code)};
}

Error broker_error(std::string_view what, const rd_kafka_error_t* error) {
  return Error{Errc::kIo, "Kafka, " + std::string(what) + ": " + rd_kafka_error_string(error)};
}

Result<std::int32_t> partitions_of(rd_kafka_t* client, const std::string& topic) {
  const std::unique_ptr<rd_kafka_topic_t, Destroyer<rd_kafka_topic_destroy>> handle(
      rd_kafka_topic_new(client, topic.c_str(), nullptr));
  if (!handle) return broker_error("topic " + escape(topic), rd_kafka_last_error());
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client, 0, handle.get(), &found, kPatienceMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return broker_error("topic " + escape(topic), code);
  const Metadata metadata(found);
  if (metadata->topic_cnt != 1) return Error{Errc::kNotFound, "Kafka: no topic " + escape(topic)};
  const auto& answer = metadata->topics[0];
  if (answer.err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return broker_error("topic " + escape(topic), answer.err);
  return answer.partition_cnt;
}

}  // namespace holdfast::stream::kafka
