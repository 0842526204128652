// The sink 'connector' = 'kafka'.
//
//   'none'           records are handed to the client; a crash may lose some
//   'at-least-once'  a checkpoint waits until the broker has them; after a crash some come again
//   'exactly-once'   they are kept until the checkpoint is complete, then sent as one transaction
//
// Exactly once. The checkpoint `epoch` holds the records since the one before. commit(epoch) sends
// them in one transaction, which also commits the number `epoch` as the offset of a consumer group
// that is this run's alone. After a crash begin() asks for that offset. It is `epoch`: they are
// there. It is less: the transaction was never completed, and is made anew from the checkpoint. So
// the broker alone decides, in the transaction itself.
//
// Two runs of one transactional id: the later one fences the earlier, whose next commit fails.
#include <chrono>
#include <optional>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/connector.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/kafka/connector.hpp>
#include <holdfast/stream/kafka/transactions.hpp>

namespace holdfast::stream::kafka {
namespace {

enum class Guarantee : std::uint8_t { kNone, kAtLeastOnce, kExactlyOnce };

// Records that wait for their checkpoint; more of them ask for one.
constexpr std::size_t kFullBytes = 4 << 20;

class KafkaSink final : public Sink {
 public:
  KafkaSink(Producer producer, std::unique_ptr<RowWriter> key, std::unique_ptr<RowWriter> value,
            Guarantee guarantee, std::unique_ptr<Transactions> transactions)
      : producer_(std::move(producer)),
        key_(std::move(key)),
        value_(std::move(value)),
        guarantee_(guarantee),
        transactions_(std::move(transactions)) {}

  Status begin(std::uint64_t epoch, std::string_view state) override {
    if (transactions_ == nullptr) return {};
    HF_RETURN_IF_ERROR(transactions_->begin(producer_));
    if (epoch == 0) return begin_run(), Status();
    HF_RETURN_IF_ERROR(take_state(state));
    if (waiting_.empty()) return {};
    HF_ASSIGN_OR_RETURN(const auto known, transactions_->marked(run_));
    if (known == 0 && may_be_forgotten()) {
      return Error{Errc::kCorrupt,
                   "the checkpoint is more than a day old, and Kafka knows no transaction of this "
                   "run: it may have forgotten the last one (offsets.retention.minutes), so that "
                   "records could be lost or come twice; begin anew, with another checkpoint "
                   "directory"};
    }
    if (known > epoch) {
      return Error{Errc::kInvalidOption,
                   "the topic has the records of checkpoint " + std::to_string(known) +
                       " of this run; this checkpoint is an older one, of number " +
                       std::to_string(epoch)};
    }
    if (known == epoch) return forget(epoch);
    return commit(epoch);
  }
  // Where Kafka has forgotten the last transaction, it is taken for completed: a savepoint may be
  // older than offsets.retention.minutes.
  Status begin_from(std::uint64_t epoch, std::string_view state) override {
    if (transactions_ == nullptr) return {};
    HF_RETURN_IF_ERROR(transactions_->begin(producer_));
    HF_RETURN_IF_ERROR(take_state(state));
    if (!waiting_.empty()) {
      HF_ASSIGN_OR_RETURN(const auto known, transactions_->marked(run_));
      const bool forgotten = known == 0 && may_be_forgotten();
      if (known < epoch && !forgotten) HF_RETURN_IF_ERROR(commit(epoch));
    }
    return begin_run(), Status();
  }

  Status write(const sql::Row& row) override {
    key_bytes_.clear();
    value_bytes_.clear();
    if (key_ != nullptr) HF_RETURN_IF_ERROR(key_->append(row, key_bytes_));
    HF_RETURN_IF_ERROR(value_->append(row, value_bytes_));
    // Here, not when it is sent: a checkpoint that has it would be of no use any more.
    HF_RETURN_IF_ERROR(producer_.check_size(key_bytes_.size() + value_bytes_.size()));
    if (transactions_ == nullptr) return producer_.send(key(), value_bytes_);
    ByteWriter record;
    record.number(key_ == nullptr ? 0 : 1);
    record.text(key_bytes_);
    record.text(value_bytes_);
    waiting_ += record.take();
    return {};
  }
  bool full() const override { return waiting_.size() >= kFullBytes; }
  Status prepare(std::uint64_t) override {
    return guarantee_ == Guarantee::kAtLeastOnce ? producer_.flush() : Status();
  }
  Status commit(std::uint64_t epoch) override {
    if (transactions_ == nullptr || waiting_.empty()) return {};
    HF_RETURN_IF_ERROR(transactions_->make(producer_, run_, epoch, [this] { return send_all(); }));
    return forget(epoch);
  }
  std::string state() const override {
    if (transactions_ == nullptr) return {};
    ByteWriter bytes;
    bytes.text(run_);
    bytes.number(marked_);
    bytes.text(waiting_);
    bytes.number(now_seconds());
    return bytes.take();
  }
  bool transactional() const override { return transactions_ != nullptr; }

 private:
  void begin_run() {
    run_ = random_name();
    marked_ = 0;
    waiting_.clear();
  }
  Status take_state(std::string_view state) {
    ByteReader bytes(state);
    run_ = bytes.text();
    marked_ = bytes.number();
    waiting_ = bytes.text();
    // Earlier builds did not say when.
    taken_seconds_ = bytes.ok() && bytes.at_end() ? 0 : bytes.number();
    if (!bytes.ok() || !bytes.at_end() || run_.empty())
      return Error{Errc::kCorrupt, "the checkpoint has no state of the kafka sink"};
    return {};
  }
  static std::uint64_t now_seconds() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(now).count());
  }
  // Whether the broker's not knowing a transaction of the checkpoint does not say that there was
  // none: it keeps offsets of groups without members for a week, if it was not told otherwise.
  bool may_be_forgotten() const {
    if (taken_seconds_ == 0) return marked_ != 0;
    constexpr std::uint64_t kDay = 24 * 60 * 60;
    return now_seconds() > taken_seconds_ + kDay;
  }
  std::optional<std::string_view> key() const {
    return key_ == nullptr ? std::nullopt : std::optional<std::string_view>(key_bytes_);
  }
  Status forget(std::uint64_t epoch) {
    waiting_.clear();
    marked_ = epoch;
    return {};
  }
  Status send_all() {
    ByteReader bytes(waiting_);
    while (!bytes.at_end()) {
      const bool has_key = bytes.number() != 0;
      const auto key = bytes.text(), value = bytes.text();
      if (!bytes.ok()) return Error{Errc::kCorrupt, "the checkpoint's records for Kafka"};
      HF_RETURN_IF_ERROR(
          producer_.send(has_key ? std::optional<std::string_view>(key) : std::nullopt, value));
    }
    return {};
  }

  Producer producer_;
  std::unique_ptr<RowWriter> key_, value_;
  Guarantee guarantee_;
  std::unique_ptr<Transactions> transactions_;  // Of kExactlyOnce alone.
  std::string run_;                             // Of this run and those that resume it.
  std::uint64_t marked_ = 0;                    // The last epoch that had records, and was sent.
  std::uint64_t taken_seconds_ = 0;             // When the checkpoint was, since 1970.
  std::string waiting_;                         // Records since the last checkpoint.
  std::string key_bytes_, value_bytes_;
};

Result<Guarantee> guarantee_of(TableOptions& options) {
  const auto word = options.text("sink.delivery-guarantee").value_or("at-least-once");
  if (word == "none") return Guarantee::kNone;
  if (word == "at-least-once") return Guarantee::kAtLeastOnce;
  if (word == "exactly-once") return Guarantee::kExactlyOnce;
  return options.wrong("sink.delivery-guarantee", "'none', 'at-least-once' or 'exactly-once'");
}

}  // namespace

Result<std::unique_ptr<Sink>> open_kafka_sink(const sql::Table& table,
                                              const std::vector<sql::Column>& columns,
                                              TableOptions& options, const Output&) {
  const auto topic = options.text("topic").value_or("");
  if (topic.empty() || topic.find(';') != std::string::npos)
    return options.wrong("topic", "one topic");
  HF_ASSIGN_OR_RETURN(const auto guarantee, guarantee_of(options));
  HF_ASSIGN_OR_RETURN(const auto scopes,
                      key_columns_of(columns, all_of(columns, Carrier::kMessage), options));
  HF_ASSIGN_OR_RETURN(auto value, write_format_of(columns, scopes.value, options));
  std::unique_ptr<RowWriter> key;
  if (!scopes.key.columns.empty()) {
    HF_ASSIGN_OR_RETURN(auto format, write_format_of(columns, scopes.key, options));
    key = std::move(format.writer);
  }
  const auto partitioner = options.text("sink.partitioner").value_or("default");
  if (partitioner != "default" && partitioner != "fixed")
    return options.wrong("sink.partitioner", "'default' or 'fixed'");
  for (const auto& option : table.options) {
    const bool of_reading = option.key.starts_with("scan.") ||
                            option.key == "malformed-records.path" ||
                            option.key == "properties.auto.offset.reset";
    if (of_reading) options.text(option.key);
  }
  const auto prefix = options.text("sink.transactional-id-prefix");
  const bool exactly = guarantee == Guarantee::kExactlyOnce;
  if (exactly && (!prefix || prefix->empty()))
    return options.wrong("sink.transactional-id-prefix", "a name that no other query has");
  const auto id =
      exactly ? *prefix + (options.split().empty() ? "" : "-" + options.split()) : std::string();
  HF_ASSIGN_OR_RETURN(auto producer,
                      Producer::open(table, options, topic, id, partitioner == "fixed"));
  HF_ASSIGN_OR_RETURN(auto conf, conf_of(table, options));
  HF_RETURN_IF_ERROR(options.all_known());
  // Here already: a topic that is missing is said before the first row.
  HF_RETURN_IF_ERROR(partitions_of(producer.client(), topic));
  std::unique_ptr<Transactions> transactions;
  if (exactly) transactions = std::make_unique<Transactions>(std::move(conf), id, topic);
  return std::unique_ptr<Sink>(std::make_unique<KafkaSink>(std::move(producer), std::move(key),
                                                           std::move(value.writer), guarantee,
                                                           std::move(transactions)));
}

const struct Offer {
  Offer() { offer_connector("kafka", {open_kafka_source, open_kafka_sink, kafka_splits}); }
} offer;

}  // namespace holdfast::stream::kafka
