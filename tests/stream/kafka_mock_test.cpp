// The connector 'kafka' beside the mock cluster of librdkafka: what a real broker shows seldom, or
// after a week. kafka_test.py has the real one.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <holdfast/stream/kafka/split.hpp>
#include <holdfast/stream/kafka/transactions.hpp>
#include <holdfast/stream/script.hpp>
#include <holdfast/stream/snapshot_store.hpp>

namespace {

// Offsets that hold no record, as the marker of a transaction does: the split never sees them.
std::set<std::int64_t> hidden_offsets;
// A consumer that is slow finds records and the end of the partition in one batch.
bool waits_for_the_end = false;

using Consume = ssize_t(rd_kafka_queue_t*, int, rd_kafka_message_t**, size_t);

}  // namespace

// In place of librdkafka's, which it calls.
extern "C" ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t* queue, int wait_ms,
                                                rd_kafka_message_t** messages, size_t size) {
  static auto* const real =
      reinterpret_cast<Consume*>(::dlsym(RTLD_NEXT, "rd_kafka_consume_batch_queue"));
  ssize_t got = 0;
  const auto ended = [&] {
    return got > 0 && messages[got - 1]->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
  };
  for (int tries = 0; tries < (waits_for_the_end ? 200 : 1) && !ended(); ++tries) {
    const auto more = real(queue, waits_for_the_end ? 50 : wait_ms, messages + got,
                           size - static_cast<size_t>(got));
    if (more < 0) return more;
    got += more;
  }
  const auto end = std::remove_if(messages, messages + got, [](rd_kafka_message_t* message) {
    const bool hides =
        message->err == RD_KAFKA_RESP_ERR_NO_ERROR && hidden_offsets.contains(message->offset);
    if (hides) rd_kafka_message_destroy(message);
    return hides;
  });
  return end - messages;
}

namespace holdfast::stream::kafka {
namespace {

struct DestroyCluster {
  void operator()(rd_kafka_mock_cluster_t* cluster) const {
    rd_kafka_mock_cluster_destroy(cluster);
  }
};

class KafkaMock : public testing::Test {
 protected:
  KafkaMock() {
    rd_kafka_mock_topic_create(cluster_.get(), "t", 1, 1);
    rd_kafka_mock_topic_create(cluster_.get(), "out", 1, 1);
    hidden_offsets.clear();
    waits_for_the_end = false;
  }
  ~KafkaMock() override { std::filesystem::remove_all(place_); }

  std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_.get()); }
  Client client(rd_kafka_type_t type) const {
    Conf conf(rd_kafka_conf_new());
    set(conf.get(), "bootstrap.servers", brokers()).value();
    if (type == RD_KAFKA_CONSUMER) {
      set(conf.get(), "group.id", "test").value();
      set(conf.get(), "enable.partition.eof", "true").value();
      set(conf.get(), "enable.auto.commit", "false").value();
    }
    return make_client(type, std::move(conf)).value();
  }
  void produce(int count) const {
    const auto producer = client(RD_KAFKA_PRODUCER);
    for (int i = 0; i < count; ++i) {
      auto text = std::to_string(i);
      ASSERT_EQ(rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_PARTITION(0),
                                  RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                  RD_KAFKA_V_VALUE(text.data(), text.size()), RD_KAFKA_V_END),
                RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    ASSERT_EQ(rd_kafka_flush(producer.get(), 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  std::int64_t records_in(const char* topic) const {
    const auto consumer = client(RD_KAFKA_CONSUMER);
    std::int64_t low = 0, high = 0;
    EXPECT_EQ(rd_kafka_query_watermark_offsets(consumer.get(), topic, 0, &low, &high, 20'000),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    return high - low;
  }
  // Assigned to it from its first record on.
  Client consumer() const {
    auto made = client(RD_KAFKA_CONSUMER);
    const Partitions list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), "t", 0)->offset = 0;
    EXPECT_EQ(rd_kafka_assign(made.get(), list.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
    return made;
  }
  static std::string make_place() {
    char name[] = "/dev/shm/holdfast_kafka_XXXXXX";
    return ::mkdtemp(name);
  }

  // A script whose state is in `place_`.
  Status run(const std::string& sql) const {
    HF_ASSIGN_OR_RETURN(auto script, Script::prepare(sql));
    ScriptOptions options;
    options.open_state = [this](std::size_t, const std::string&) {
      return Result<std::unique_ptr<StateStore>>(
          std::make_unique<SnapshotStore>(place_ + "/checkpoint"));
    };
    return script.run(options, std::atomic<bool>(false));
  }
  std::string exactly_once(const std::string& select, const std::string& more = "") const {
    return "CREATE TABLE n (v INT) WITH ('connector' = 'datagen', 'number-of-rows' = '20', "
           "'fields.v.kind' = 'sequence');\nCREATE TABLE o (s STRING) WITH ('connector' = "
           "'kafka', 'topic' = 'out', 'properties.bootstrap.servers' = '" +
           brokers() +
           "', 'format' = 'raw', 'sink.delivery-guarantee' = 'exactly-once', "
           "'sink.transactional-id-prefix' = 'test'" +
           more + ");\nINSERT INTO o " + select;
  }

  Client owner_ = [] {
    return make_client(RD_KAFKA_PRODUCER, Conf(rd_kafka_conf_new())).value();
  }();
  std::unique_ptr<rd_kafka_mock_cluster_t, DestroyCluster> cluster_{
      rd_kafka_mock_cluster_new(owner_.get(), 1)};
  std::string place_ = make_place();
};

// It said that it had ended as soon as a record at the bound was there: a checkpoint then left out
// the ones at hand.
TEST_F(KafkaMock, ASplitEndsBehindTheLastRecordThatItGave) {
  produce(30);
  const auto reader = consumer();
  Split split(reader.get(), {"t", 0}, 0, 10);
  for (int tries = 0; tries < 200 && split.waiting().empty(); ++tries)
    split.head(50).value();
  ASSERT_FALSE(split.waiting().empty());
  EXPECT_EQ(split.next(), 0);
  for (std::int64_t taken = 1; taken <= 10; ++taken) {
    for (int tries = 0; tries < 200 && split.head(50).value() == nullptr; ++tries) {
    }
    EXPECT_FALSE(split.ended());
    split.take();
    EXPECT_EQ(split.next(), taken);
  }
  EXPECT_TRUE(split.ended());
}

// librdkafka tells of the end once. It was not noted where records came with it, and the last of
// these was not at the bound, since a transaction's marker is no record: the query never ended.
TEST_F(KafkaMock, ASplitEndsWhereTheEndComesWithItsLastRecords) {
  produce(10);
  hidden_offsets = {9};
  waits_for_the_end = true;
  const auto reader = consumer();
  Split split(reader.get(), {"t", 0}, 0, 10);
  int taken = 0;
  for (int tries = 0; tries < 50 && !split.ended(); ++tries) {
    if (split.head(50).value() == nullptr) continue;
    split.take();
    ++taken;
  }
  EXPECT_EQ(taken, 9);
  EXPECT_TRUE(split.ended());
  EXPECT_EQ(split.next(), 10);
}

// And where nothing but the marker is left.
TEST_F(KafkaMock, ASplitWithoutRecordsEnds) {
  produce(2);
  hidden_offsets = {0, 1};
  const auto reader = consumer();
  Split split(reader.get(), {"t", 0}, 0, 2);
  for (int tries = 0; tries < 200 && !split.ended(); ++tries)
    EXPECT_EQ(split.head(50).value(), nullptr);
  EXPECT_TRUE(split.ended());
}

// A row that is too large was found when it was sent, behind the checkpoint, and then by each run.
TEST_F(KafkaMock, ARowThatIsTooLargeIsInNoCheckpoint) {
  const auto status = run(exactly_once("SELECT REPEAT('x', 1100000) FROM n"));
  ASSERT_EQ(status.code(), Errc::kTooLarge);
  EXPECT_NE(status.error().detail.find("message.max.bytes"), std::string::npos)
      << status.error().detail;
  EXPECT_FALSE(std::filesystem::exists(place_ + "/checkpoint"));
  EXPECT_EQ(records_in("out"), 0);
  const auto allowed = exactly_once("SELECT REPEAT('x', 1100) FROM n WHERE v < 3",
                                    ", 'properties.message.max.bytes' = '1000'");
  EXPECT_EQ(run(allowed).code(), Errc::kTooLarge);
}

// The broker was asked what it knew of the last transaction: after a week it has forgotten, and the
// records were sent again.
TEST_F(KafkaMock, AQueryThatHasFinishedWantsNoBroker) {
  const auto sql = exactly_once("SELECT CAST(v AS STRING) FROM n");
  run(sql).value();
  EXPECT_GE(records_in("out"), 20);
  cluster_.reset();
  run(sql).value();
}

}  // namespace
}  // namespace holdfast::stream::kafka
