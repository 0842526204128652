// transactions.hpp: records to a topic, several of them as one transaction.
//
// Threads  One at a time.
// Errors   kIo: what the broker said, after librdkafka's own attempts; one that another producer of
//          the same transactional id has fenced off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/stream/kafka/client.hpp>

namespace holdfast::stream::kafka {

class Producer {
 public:
  // `transactional_id` may be empty. `fixed`: all records go to partition 0; else the hash of the
  // key decides, as in Java's client.
  static Result<Producer> open(const sql::Table& table, TableOptions& options, std::string topic,
                               const std::string& transactional_id, bool fixed);
  Producer(Producer&&) noexcept = default;
  ~Producer();

  rd_kafka_t* client() const { return client_.get(); }
  // Whether the client takes a record of so many bytes of key and value. Errors: kTooLarge.
  Status check_size(std::size_t bytes) const;
  // Hands a record to the client. Waits while its queue is full.
  Status send(std::optional<std::string_view> key, std::string_view value);
  // The broker has all of them.
  Status flush();

 private:
  // What the client tells of records, at an address that stays.
  struct Reports {
    rd_kafka_resp_err_t failed = RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  Producer(Client client, std::string topic, bool fixed, std::unique_ptr<Reports> reports);
  Status reported() const;

  std::unique_ptr<Reports> reports_;
  Client client_;
  std::string topic_;
  bool fixed_;
  std::size_t most_bytes_;  // Of a record.
};

class Transactions {
 public:
  // `conf`: settings with which a client can ask for offsets.
  Transactions(Conf conf, std::string id, std::string topic)
      : conf_(std::move(conf)), id_(std::move(id)), topic_(std::move(topic)) {}

  // Fences off earlier producers of the same id, and ends what they left.
  Status begin(Producer& producer);
  // The largest `epoch` of a transaction of `run` that was completed; 0: none.
  Result<std::uint64_t> marked(const std::string& run);
  // What `send` sends, and the mark `epoch`: all of it or nothing. Behind an error it is the one or
  // the other; marked() says which.
  Status make(Producer& producer, const std::string& run, std::uint64_t epoch,
              FunctionRef<Status()> send);

 private:
  std::string group_of(const std::string& run) const { return "holdfast-" + id_ + "-" + run; }

  Conf conf_;
  std::string id_, topic_;
};

}  // namespace holdfast::stream::kafka
