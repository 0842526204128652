// The source 'connector' = 'kafka': the partitions of topics.
//
// Order  A table without a watermark gives the partitions' records as they come. With one, the
//        record comes next whose partition would have the lowest watermark behind it. So rows of
//        one partition are never late because another was read faster, and the order depends on
//        the records alone. A partition without records holds the others back, until it was idle
//        for 'scan.watermark.idle-timeout' (default: without end, as in Flink).
#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/kafka/connector.hpp>
#include <holdfast/stream/kafka/split.hpp>
#include <holdfast/stream/malformed.hpp>

namespace holdfast::stream::kafka {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();
constexpr int kWaitMs = 50;

struct Settings {
  OffsetChoice startup, bound;
  std::string reset;
  bool commits = false;  // The table names a group.
  std::chrono::milliseconds idle_timeout{0};
};

// How records become rows.
struct Formats {
  ReadFormat value;
  std::unique_ptr<RowReader> key;  // May be null.
};

std::string_view value_of(const rd_kafka_message_t& message) {
  return {static_cast<const char*>(message.payload), message.len};
}
std::string_view key_of(const rd_kafka_message_t& message) {
  return {static_cast<const char*>(message.key), message.key == nullptr ? 0 : message.key_len};
}

class KafkaSource final : public Source {
 public:
  KafkaSource(const sql::Table& table, Client client, std::vector<TopicPartition> partitions,
              Settings settings, Formats formats, Malformed malformed)
      : table_(table),
        client_(std::move(client)),
        partitions_(std::move(partitions)),
        settings_(std::move(settings)),
        formats_(std::move(formats)),
        malformed_(std::move(malformed)) {}

  Result<bool> next(sql::Row& row) override {
    if (!begun_) HF_RETURN_IF_ERROR(begin());
    rd_kafka_poll(client_.get(), 0);
    HF_ASSIGN_OR_RETURN(Lane * lane, next_lane());
    if (lane == nullptr) return false;
    std::swap(row, lane->row);
    lane->has_row = false;
    lane->watermark = lane->head_watermark;
    lane->split.take();
    return true;
  }
  bool ended() const override {
    return begun_ && std::all_of(lanes_.begin(), lanes_.end(),
                                 [](const Lane& lane) { return lane.split.ended(); });
  }

  std::string position() const override {
    ByteWriter bytes;
    bytes.number(malformed_.count());
    bytes.number(begun_ ? 1 : 0);
    bytes.number(lanes_.size());
    for (const auto& lane : lanes_) {
      bytes.text(lane.split.at().first);
      bytes.number(static_cast<std::uint64_t>(lane.split.at().second));
      bytes.number(static_cast<std::uint64_t>(lane.split.next()));
      bytes.number(static_cast<std::uint64_t>(lane.split.stop()));
      bytes.number(static_cast<std::uint64_t>(lane.watermark));
    }
    return bytes.take();
  }
  Status seek(std::string_view position) override {
    ByteReader bytes(position);
    malformed_.set_count(bytes.number());
    const bool begun = bytes.number() != 0;
    std::vector<Lane> lanes;
    for (auto count = bytes.number(); count > 0 && bytes.ok(); --count) {
      TopicPartition at{std::string(bytes.text()), 0};
      at.second = static_cast<std::int32_t>(bytes.number());
      const auto next = static_cast<std::int64_t>(bytes.number());
      const auto stop = static_cast<std::int64_t>(bytes.number());
      const auto watermark = static_cast<std::int64_t>(bytes.number());
      lanes.push_back(lane_of(std::move(at), next, stop));
      lanes.back().watermark = watermark;
    }
    if (!bytes.ok() || !bytes.at_end())
      return Error{Errc::kCorrupt, "the checkpoint has no offsets of partitions"};
    if (!begun) return {};  // It begins where the table says.
    HF_RETURN_IF_ERROR(add_new_partitions(lanes));
    lanes_ = std::move(lanes);
    return assign();
  }
  Status checkpointed() override {
    if (!settings_.commits || lanes_.empty()) return {};
    const Partitions list(rd_kafka_topic_partition_list_new(static_cast<int>(lanes_.size())));
    for (const auto& lane : lanes_) {
      const auto& [topic, partition] = lane.split.at();
      rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset =
          lane.split.next();
    }
    // For tools that show the group's lag. A failure costs nothing: the checkpoint has the offsets.
    rd_kafka_commit(client_.get(), list.get(), 1);
    return {};
  }
  std::string place() const override {
    std::string text;
    for (const auto& lane : lanes_)
      text += (text.empty() ? "" : ", ") + lane.split.name() + " at " +
              std::to_string(lane.split.next());
    return text.empty() ? "the beginning" : text;
  }
  std::uint64_t malformed() const override { return malformed_.count(); }
  std::vector<std::string> malformed_samples() const override { return malformed_.samples(); }

 private:
  struct Lane {
    Split split;
    sql::Row row;  // Of the split's head.
    bool has_row = false;
    std::uint64_t fills = 0;  // Of the split, of which the formats know.
    // Of the rows that were given, and with the head.
    std::int64_t watermark = kNoTime, head_watermark = kNoTime;
    Clock::time_point quiet_since;
    bool idle = false;
  };

  bool by_time() const { return table_.has_watermark && lanes_.size() > 1; }
  Lane lane_of(TopicPartition at, std::int64_t next, std::int64_t stop) const {
    return Lane{Split(client_.get(), std::move(at), next, stop),
                sql::Row(table_.columns.size()),
                false,
                0,
                kNoTime,
                kNoTime,
                Clock::now(),
                false};
  }

  Status begin() {
    HF_ASSIGN_OR_RETURN(const auto from, offsets_for(client_.get(), settings_.startup, partitions_,
                                                     settings_.reset));
    HF_ASSIGN_OR_RETURN(const auto to,
                        offsets_for(client_.get(), settings_.bound, partitions_, "latest"));
    for (std::size_t i = 0; i < partitions_.size(); ++i)
      lanes_.push_back(lane_of(partitions_[i], from[i], to[i]));
    return assign();
  }
  // Those that the topics got since the checkpoint: from their first record on.
  Status add_new_partitions(std::vector<Lane>& lanes) const {
    std::vector<TopicPartition> added;
    for (const auto& at : partitions_) {
      const bool known = std::any_of(lanes.begin(), lanes.end(),
                                     [&](const Lane& lane) { return lane.split.at() == at; });
      if (!known) added.push_back(at);
    }
    if (added.empty()) return {};
    OffsetChoice earliest;
    earliest.mode = OffsetMode::kEarliest;
    HF_ASSIGN_OR_RETURN(const auto from, offsets_for(client_.get(), earliest, added, ""));
    HF_ASSIGN_OR_RETURN(const auto to,
                        offsets_for(client_.get(), settings_.bound, added, "latest"));
    for (std::size_t i = 0; i < added.size(); ++i)
      lanes.push_back(lane_of(added[i], from[i], to[i]));
    return {};
  }
  Status assign() {
    const Partitions list(rd_kafka_topic_partition_list_new(static_cast<int>(lanes_.size())));
    for (const auto& lane : lanes_) {
      const auto& [topic, partition] = lane.split.at();
      rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset =
          lane.split.next();
    }
    begun_ = true;
    const auto code = rd_kafka_assign(client_.get(), list.get());
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? Status() : broker_error("assignment", code);
  }

  // The lane whose row comes next; null: none for now.
  Result<Lane*> next_lane() {
    if (!by_time()) return any_lane();
    Lane* best = nullptr;
    Lane* missing = nullptr;
    for (auto& lane : lanes_) {
      HF_RETURN_IF_ERROR(look(lane, 0));
      if (lane.has_row) {
        if (best == nullptr || lane.head_watermark < best->head_watermark) best = &lane;
      } else if (!lane.split.ended() && !lane.idle) {
        missing = &lane;
      }
    }
    if (missing == nullptr) return best;
    Lane* const none = nullptr;
    HF_RETURN_IF_ERROR(look(*missing, kWaitMs));
    if (missing->has_row) return next_lane_is_known() ? next_lane() : none;
    return none;
  }
  bool next_lane_is_known() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
      return lane.has_row || lane.split.ended() || lane.idle;
    });
  }
  Result<Lane*> any_lane() {
    for (std::size_t tried = 0; tried < lanes_.size(); ++tried) {
      auto& lane = lanes_[turn_];
      HF_RETURN_IF_ERROR(look(lane, 0));
      if (lane.has_row) return &lane;  // The same again: its batch is at hand.
      turn_ = (turn_ + 1) % lanes_.size();
    }
    Lane* const none = nullptr;
    if (ended()) return none;
    auto& lane = lanes_[turn_];
    HF_RETURN_IF_ERROR(look(lane, kWaitMs));
    return lane.has_row ? &lane : none;
  }

  // Makes a row of the split's head, if there is one.
  Status look(Lane& lane, int wait_ms) {
    for (int without = 0; !lane.has_row && without < Malformed::kAtOnce; ++without) {
      HF_ASSIGN_OR_RETURN(const auto* message, lane.split.head(wait_ms));
      if (message == nullptr) return note_quiet(lane);
      lane.idle = false;
      lane.quiet_since = Clock::now();
      if (std::exchange(lane.fills, lane.split.fills()) != lane.split.fills()) expect(lane.split);
      HF_ASSIGN_OR_RETURN(lane.has_row, read(*message, lane));
      if (!lane.has_row) lane.split.take();
    }
    return {};
  }
  Status note_quiet(Lane& lane) {
    const auto timeout = settings_.idle_timeout;
    lane.idle = timeout.count() > 0 && Clock::now() - lane.quiet_since >= timeout;
    return {};
  }

  void expect(const Split& split) {
    const auto tell = [&split](RowReader* reader, auto part_of) {
      if (reader == nullptr || reader->at_once() < 2) return;
      std::vector<std::string_view> parts;
      for (auto at = split.waiting().rbegin(); at != split.waiting().rend(); ++at)
        if ((*at)->payload != nullptr) parts.push_back(part_of(**at));
      reader->expect(parts);
    };
    tell(formats_.value.reader.get(), value_of);
    tell(formats_.key.get(), key_of);
  }

  // False: there is no row of it.
  Result<bool> read(const rd_kafka_message_t& message, Lane& lane) {
    if (message.payload == nullptr) return false;  // As Flink: a tombstone is no row.
    const auto value = value_of(message);
    bool made = formats_.value.reader->read(value, lane.row, wrong_);
    HF_RETURN_IF_ERROR(formats_.value.reader->status());
    if (formats_.key != nullptr && wrong_.empty()) {
      made = formats_.key->read(key_of(message), lane.row, wrong_) && made;
      HF_RETURN_IF_ERROR(formats_.key->status());
    }
    if (!wrong_.empty()) {
      const auto place = lane.split.name() + ", offset " + std::to_string(message.offset);
      HF_ASSIGN_OR_RETURN(made, malformed_.take(place, wrong_, value, made));
    }
    if (made && by_time()) lane.head_watermark = std::max(lane.watermark, watermark_of(lane.row));
    return made;
  }
  // An expression that fails says so when the query takes the row.
  std::int64_t watermark_of(sql::Row& row) const {
    for (std::size_t i = 0; i < table_.computed.size(); ++i) {
      if (table_.computed[i] != nullptr && !sql::evaluate(*table_.computed[i], row, row[i]))
        return kNoTime;
    }
    sql::Value value;
    const bool known = bool(sql::evaluate(*table_.watermark, row, value)) && !value.null;
    return known ? static_cast<std::int64_t>(value.number) : kNoTime;
  }

  const sql::Table& table_;
  Client client_;
  std::vector<TopicPartition> partitions_;  // That the topics have.
  Settings settings_;
  Formats formats_;
  Malformed malformed_;
  std::vector<Lane> lanes_;
  std::size_t turn_ = 0;
  bool begun_ = false;
  std::string wrong_;
};

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(';', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Result<Settings> settings_of(TableOptions& options) {
  Settings settings;
  HF_ASSIGN_OR_RETURN(settings.startup, startup_of(options));
  HF_ASSIGN_OR_RETURN(settings.bound, bound_of(options));
  settings.commits = options.text("properties.group.id").has_value();
  settings.reset = options.text("properties.auto.offset.reset").value_or("none");
  const bool of_group =
      settings.startup.mode == OffsetMode::kGroup || settings.bound.mode == OffsetMode::kGroup;
  if (of_group && !settings.commits)
    return options.wrong("properties.group.id", "the group whose offsets are to be used");
  if (const auto timeout = options.text("scan.watermark.idle-timeout")) {
    const auto parsed = duration_of(*timeout, "scan.watermark.idle-timeout");
    if (!parsed) return options.wrong("scan.watermark.idle-timeout", "a time such as '10s'");
    settings.idle_timeout = *parsed;
  }
  return settings;
}

// The consumer never commits and never begins elsewhere than it was told.
Result<Client> consumer_of(const sql::Table& table, TableOptions& options) {
  HF_ASSIGN_OR_RETURN(auto conf, conf_of(table, options));
  const std::pair<const char*, const char*> fixed[] = {{"enable.auto.commit", "false"},
                                                       {"enable.auto.offset.store", "false"},
                                                       {"enable.partition.eof", "true"},
                                                       {"auto.offset.reset", "error"}};
  for (const auto& [name, value] : fixed)
    HF_RETURN_IF_ERROR(set(conf.get(), name, value));
  if (!options.text("properties.group.id"))
    HF_RETURN_IF_ERROR(set(conf.get(), "group.id", "holdfast"));  // Wanted, and never used.
  return make_client(RD_KAFKA_CONSUMER, std::move(conf));
}

}  // namespace

Result<KeyColumns> key_columns_of(const std::vector<sql::Column>& columns,
                                  const FormatScope& physical, TableOptions& options) {
  KeyColumns scopes;
  const auto fields = options.text("key.fields");
  const auto include = options.text("value.fields-include").value_or("ALL");
  if (include != "ALL" && include != "EXCEPT_KEY")
    return options.wrong("value.fields-include", "'ALL' or 'EXCEPT_KEY'");
  scopes.key.prefix = "key.";
  scopes.value.prefix = options.text("value.format") ? "value." : "";
  const auto names = split_list(fields.value_or(""));
  for (const auto& name : names) {
    const auto at = std::find_if(physical.columns.begin(), physical.columns.end(),
                                 [&](std::size_t i) { return columns[i].name == name; });
    if (at == physical.columns.end()) return options.wrong("key.fields", "columns of the table");
    scopes.key.columns.push_back(*at);
  }
  const bool has_key = options.text("key.format").has_value();
  if (has_key == names.empty())
    return options.wrong(has_key ? "key.fields" : "key.format",
                         "'key.format' and 'key.fields' together");
  for (const auto i : physical.columns) {
    const bool of_key = std::find(scopes.key.columns.begin(), scopes.key.columns.end(), i) !=
                        scopes.key.columns.end();
    if (!of_key || include == "ALL") scopes.value.columns.push_back(i);
  }
  return scopes;
}

Result<std::unique_ptr<Source>> open_kafka_source(const sql::Table& table, TableOptions& options) {
  const auto topics = split_list(options.text("topic").value_or(""));
  if (topics.empty()) return options.wrong("topic", "a topic, or several with ; between them");
  HF_ASSIGN_OR_RETURN(auto settings, settings_of(options));
  HF_ASSIGN_OR_RETURN(
      const auto scopes,
      key_columns_of(table.columns, all_physical(table, Carrier::kMessage), options));
  Formats formats;
  HF_ASSIGN_OR_RETURN(formats.value, read_format_of(table, scopes.value, options));
  bool ignore = formats.value.ignore_errors;
  if (!scopes.key.columns.empty()) {
    HF_ASSIGN_OR_RETURN(auto key, read_format_of(table, scopes.key, options));
    ignore = ignore && key.ignore_errors;
    formats.key = std::move(key.reader);
  }
  const auto name = options.text(scopes.value.prefix + "format").value_or("");
  HF_ASSIGN_OR_RETURN(
      auto malformed,
      Malformed::of(table, options, ignore, scopes.value.prefix + name + ".ignore-parse-errors"));
  for (const auto* of_writing :
       {"sink.delivery-guarantee", "sink.transactional-id-prefix", "sink.partitioner"})
    options.text(of_writing);
  HF_ASSIGN_OR_RETURN(auto client, consumer_of(table, options));
  HF_RETURN_IF_ERROR(options.all_known());
  std::vector<TopicPartition> partitions;
  for (const auto& topic : topics) {
    HF_ASSIGN_OR_RETURN(const auto count, partitions_of(client.get(), topic));
    for (std::int32_t i = 0; i < count; ++i)
      partitions.emplace_back(topic, i);
  }
  if (!options.split().empty()) {
    std::erase_if(partitions, [&](const TopicPartition& at) {
      return at.first + "-" + std::to_string(at.second) != options.split();
    });
  }
  return std::unique_ptr<Source>(
      std::make_unique<KafkaSource>(table, std::move(client), std::move(partitions),
                                    std::move(settings), std::move(formats), std::move(malformed)));
}

Result<std::vector<std::string>> kafka_splits(const sql::Table& table, TableOptions& options) {
  HF_ASSIGN_OR_RETURN(auto client, consumer_of(table, options));
  std::vector<std::string> splits;
  for (const auto& topic : split_list(options.text("topic").value_or(""))) {
    HF_ASSIGN_OR_RETURN(const auto count, partitions_of(client.get(), topic));
    for (std::int32_t i = 0; i < count; ++i)
      splits.push_back(topic + "-" + std::to_string(i));
  }
  return splits;
}

}  // namespace holdfast::stream::kafka
