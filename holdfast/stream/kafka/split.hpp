// split.hpp: one partition of a topic, read forward.
//
// Threads  One at a time.
// Errors   kIo (what the broker said), kNotFound (the topic is gone), kCorrupt (records that were
//          not yet read are gone from the topic).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/stream/kafka/client.hpp>
#include <holdfast/stream/kafka/offsets.hpp>

namespace holdfast::stream::kafka {

class Split {
 public:
  // From offset `next`, up to but without `stop` (kEndless: without end). The consumer `client`
  // reads this partition, and outlives the split.
  Split(rd_kafka_t* client, TopicPartition at, std::int64_t next, std::int64_t stop);

  const TopicPartition& at() const { return at_; }
  std::string name() const { return at_.first + "-" + std::to_string(at_.second); }
  // Offset behind the last record that take() gave away.
  std::int64_t next() const { return next_; }
  std::int64_t stop() const { return stop_; }
  bool ended() const { return next_ >= stop_; }

  // The record that comes next, without its taking; null: none is there, after `wait_ms` at most,
  // or the split has ended. It lives until take().
  Result<const rd_kafka_message_t*> head(int wait_ms);
  void take();
  // Those at hand, the next one last; and how often there came more of them.
  const std::vector<Message>& waiting() const { return waiting_; }
  std::uint64_t fills() const { return fills_; }

 private:
  static constexpr std::size_t kBatch = 256;

  Status look_at(Message message);
  Status fill(int wait_ms);
  void end_behind_last();

  TopicPartition at_;
  std::int64_t next_, stop_;
  Queue queue_;
  std::vector<Message> waiting_;  // The next one last.
  bool is_last_ = false;          // Nothing before `stop_` comes behind those that wait.
  std::uint64_t fills_ = 0;
};

}  // namespace holdfast::stream::kafka
