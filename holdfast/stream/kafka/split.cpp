#include "split.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::stream::kafka {

Split::Split(rd_kafka_t* client, TopicPartition at, std::int64_t next, std::int64_t stop)
    : at_(std::move(at)),
      next_(next),
      stop_(stop),
      queue_(rd_kafka_queue_get_partition(client, at_.first.c_str(), at_.second)) {
  // A queue of its own, not the consumer's.
  rd_kafka_queue_forward(queue_.get(), nullptr);
}

Status Split::look_at(Message message) {
  switch (message->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
      if (message->offset < stop_)
        waiting_.push_back(std::move(message));
      else
        is_last_ = true;
      return {};
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      // Records of transactions leave gaps: the end may come without a record at `stop_`.
      if (message->offset >= stop_) is_last_ = true;
      return {};
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
      return Error{Errc::kCorrupt,
                   "Kafka, " + escape(name()) + ": the records from offset " +
                       std::to_string(next_) +
                       " on are not there any more (the topic's retention), and would be lost"};
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT: return {};  // The client tries again.
    default: return broker_error(escape(name()), message->err);
  }
}

Status Split::fill(int wait_ms) {
  std::array<rd_kafka_message_t*, kBatch> messages{};
  const auto got = rd_kafka_consume_batch_queue(queue_.get(), wait_ms, messages.data(), kBatch);
  if (got < 0) return broker_error(escape(name()), rd_kafka_last_error());
  Status status;
  for (ssize_t i = 0; i < got; ++i) {
    Message message(messages[static_cast<std::size_t>(i)]);
    if (status) status = look_at(std::move(message));
  }
  std::reverse(waiting_.begin(), waiting_.end());
  if (!waiting_.empty()) ++fills_;
  end_behind_last();
  return status;
}

Result<const rd_kafka_message_t*> Split::head(int wait_ms) {
  const rd_kafka_message_t* const none = nullptr;
  if (waiting_.empty() && !ended()) HF_RETURN_IF_ERROR(fill(wait_ms));
  return waiting_.empty() ? none : waiting_.back().get();
}

void Split::take() {
  next_ = waiting_.back()->offset + 1;
  waiting_.pop_back();
  end_behind_last();
}

void Split::end_behind_last() {
  if (is_last_ && waiting_.empty()) next_ = stop_;
}

}  // namespace holdfast::stream::kafka
