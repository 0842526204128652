#include "transactions.hpp"

#include <limits>
#include <string>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::stream::kafka {
namespace {

constexpr int kAttempts = 10;

bool is_transient(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__TRANSPORT ||
         code == RD_KAFKA_RESP_ERR__WAIT_COORD ||
         code == RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT ||
         code == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
         code == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
         code == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE;
}

// Calls `step` until it holds or fails for good.
template <class Step>
Status retried(std::string_view what, Step step) {
  for (int attempt = 1;; ++attempt) {
    const KafkaError error(step());
    if (!error) return {};
    if (rd_kafka_error_is_retriable(error.get()) == 0 || attempt == kAttempts)
      return broker_error(what, error.get());
  }
}

// A setting of the client, also where nobody set it.
std::size_t most_bytes_of(rd_kafka_t* client) {
  char text[32] = {};
  std::size_t size = sizeof text;
  if (rd_kafka_conf_get(rd_kafka_conf(client), "message.max.bytes", text, &size) !=
      RD_KAFKA_CONF_OK)
    return std::numeric_limits<std::size_t>::max();
  return std::stoull(text);
}

}  // namespace

Producer::Producer(Client client, std::string topic, bool fixed, std::unique_ptr<Reports> reports)
    : reports_(std::move(reports)),
      client_(std::move(client)),
      topic_(std::move(topic)),
      fixed_(fixed),
      most_bytes_(most_bytes_of(client_.get())) {}

Producer::~Producer() {
  // Records of a run that failed are not waited for.
  if (client_) rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

Result<Producer> Producer::open(const sql::Table& table, TableOptions& options, std::string topic,
                                const std::string& transactional_id, bool fixed) {
  HF_ASSIGN_OR_RETURN(auto conf, conf_of(table, options));
  const auto report = [](rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
      static_cast<Reports*>(opaque)->failed = message->err;
  };
  auto reports = std::make_unique<Reports>();
  rd_kafka_conf_set_dr_msg_cb(conf.get(), report);
  rd_kafka_conf_set_opaque(conf.get(), reports.get());
  if (!options.text("properties.partitioner"))
    HF_RETURN_IF_ERROR(set(conf.get(), "partitioner", "murmur2_random"));  // Of Java's client.
  if (!options.text("properties.enable.idempotence"))
    HF_RETURN_IF_ERROR(set(conf.get(), "enable.idempotence", "true"));
  if (!transactional_id.empty())
    HF_RETURN_IF_ERROR(set(conf.get(), "transactional.id", transactional_id));
  HF_ASSIGN_OR_RETURN(auto client, make_client(RD_KAFKA_PRODUCER, std::move(conf)));
  return Producer(std::move(client), std::move(topic), fixed, std::move(reports));
}

Status Producer::check_size(std::size_t bytes) const {
  if (bytes <= most_bytes_) return {};
  return Error{Errc::kTooLarge,
               "a record for topic " + escape(topic_) + " has " + std::to_string(bytes) +
                   " bytes; the client takes " + std::to_string(most_bytes_) +
                   " ('properties.message.max.bytes'); allow more, also in the topic "
                   "(max.message.bytes), or filter such rows out"};
}

Status Producer::reported() const {
  if (reports_->failed == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return broker_error("a record for topic " + escape(topic_), reports_->failed);
}

Status Producer::send(std::optional<std::string_view> key, std::string_view value) {
  const auto bytes = key.value_or("");
  const char* const key_data = key ? bytes.data() : nullptr;
  for (;;) {
    const auto code = rd_kafka_producev(
        client_.get(), RD_KAFKA_V_TOPIC(topic_.c_str()),
        RD_KAFKA_V_PARTITION(fixed_ ? 0 : RD_KAFKA_PARTITION_UA),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key_data, bytes.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()), RD_KAFKA_V_END);
    // Serves the reports, and makes room where there is none.
    rd_kafka_poll(client_.get(), code == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 100 : 0);
    HF_RETURN_IF_ERROR(reported());
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL)
      return broker_error("a record for topic " + escape(topic_), code);
  }
}

Status Producer::flush() {
  // Each record ends by itself after message.timeout.ms, so this does too.
  while (rd_kafka_flush(client_.get(), 1000) == RD_KAFKA_RESP_ERR__TIMED_OUT) {
  }
  return reported();
}

Status Transactions::begin(Producer& producer) {
  return retried("transactions of " + escape(id_),
                 [&] { return rd_kafka_init_transactions(producer.client(), 2 * kPatienceMs); });
}

Result<std::uint64_t> Transactions::marked(const std::string& run) {
  Conf conf(rd_kafka_conf_dup(conf_.get()));
  // Behind transactions that are being completed, not before them.
  HF_RETURN_IF_ERROR(set(conf.get(), "isolation.level", "read_committed"));
  HF_RETURN_IF_ERROR(set(conf.get(), "group.id", group_of(run)));
  HF_RETURN_IF_ERROR(set(conf.get(), "enable.auto.commit", "false"));
  HF_ASSIGN_OR_RETURN(const auto client, make_client(RD_KAFKA_CONSUMER, std::move(conf)));
  const Partitions list(rd_kafka_topic_partition_list_new(1));
  auto* at = rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), 0);
  rd_kafka_resp_err_t failed = RD_KAFKA_RESP_ERR__TIMED_OUT;
  // A broker that is being restarted takes its time.
  for (int attempt = 0; attempt < kAttempts && is_transient(failed); ++attempt) {
    const auto code = rd_kafka_committed(client.get(), list.get(), kPatienceMs);
    failed = code != RD_KAFKA_RESP_ERR_NO_ERROR ? code : at->err;
  }
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) return broker_error("the last transaction", failed);
  return at->offset < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(at->offset);
}

Status Transactions::make(Producer& producer, const std::string& run, std::uint64_t epoch,
                          FunctionRef<Status()> send) {
  const KafkaError refused(rd_kafka_begin_transaction(producer.client()));
  if (refused) return broker_error("a transaction of " + escape(id_), refused.get());
  HF_RETURN_IF_ERROR(send());
  const Partitions mark(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(mark.get(), topic_.c_str(), 0)->offset =
      static_cast<std::int64_t>(epoch);
  const GroupMetadata group(rd_kafka_consumer_group_metadata_new(group_of(run).c_str()));
  HF_RETURN_IF_ERROR(retried("a transaction of " + escape(id_), [&] {
    return rd_kafka_send_offsets_to_transaction(producer.client(), mark.get(), group.get(),
                                                kPatienceMs);
  }));
  return retried("the end of a transaction of " + escape(id_),
                 [&] { return rd_kafka_commit_transaction(producer.client(), kPatienceMs); });
}

}  // namespace holdfast::stream::kafka
