#include "offsets.hpp"

#include <array>
#include <optional>
#include <string_view>

#include <holdfast/base/format.hpp>

namespace holdfast::stream::kafka {
namespace {

struct Word {
  std::string_view text;
  OffsetMode mode;
};
constexpr std::array kStartup{
    Word{"earliest-offset", OffsetMode::kEarliest}, Word{"latest-offset", OffsetMode::kLatest},
    Word{"group-offsets", OffsetMode::kGroup}, Word{"timestamp", OffsetMode::kTimestamp},
    Word{"specific-offsets", OffsetMode::kSpecific}};
constexpr std::array kBound{
    Word{"unbounded", OffsetMode::kNone}, Word{"latest-offset", OffsetMode::kLatest},
    Word{"group-offsets", OffsetMode::kGroup}, Word{"timestamp", OffsetMode::kTimestamp},
    Word{"specific-offsets", OffsetMode::kSpecific}};

// "partition:0,offset:42;partition:1,offset:300"
std::optional<std::map<std::int32_t, std::int64_t>> specific_of(std::string_view text) {
  std::map<std::int32_t, std::int64_t> offsets;
  while (!text.empty()) {
    const auto end = std::min(text.find(';'), text.size());
    const auto one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto comma = one.find(',');
    if (comma == std::string_view::npos || !one.starts_with("partition:")) return std::nullopt;
    const auto offset_text = one.substr(comma + 1);
    if (!offset_text.starts_with("offset:")) return std::nullopt;
    const auto partition = sql::value_of(one.substr(10, comma - 10), sql::kIntType);
    const auto offset = sql::value_of(offset_text.substr(7), sql::kBigIntType);
    if (!partition || !offset || partition->number < 0 || offset->number < 0) return std::nullopt;
    offsets[static_cast<std::int32_t>(partition->number)] =
        static_cast<std::int64_t>(offset->number);
  }
  return offsets;
}

template <std::size_t N>
Result<OffsetChoice> choice_of(TableOptions& options, const std::string& prefix,
                               const std::array<Word, N>& words, std::string_view otherwise) {
  const auto text = options.text(prefix + ".mode").value_or(std::string(otherwise));
  OffsetChoice choice;
  std::string allowed;
  bool found = false;
  for (const auto& word : words) {
    allowed += (allowed.empty() ? "'" : ", '") + std::string(word.text) + "'";
    if (word.text != text) continue;
    found = true;
    choice.mode = word.mode;
  }
  if (!found) return options.wrong(prefix + ".mode", "one of " + allowed);
  const auto specific = options.text(prefix + ".specific-offsets");
  HF_ASSIGN_OR_RETURN(choice.timestamp_ms, options.number(prefix + ".timestamp-millis", -1));
  if (choice.mode == OffsetMode::kTimestamp && choice.timestamp_ms < 0)
    return options.wrong(prefix + ".timestamp-millis", "milliseconds since 1970");
  if (choice.mode != OffsetMode::kSpecific) return choice;
  const auto offsets = specific_of(specific.value_or(""));
  if (!offsets || offsets->empty())
    return options.wrong(prefix + ".specific-offsets", "partition:0,offset:42;partition:1,…");
  choice.specific = *offsets;
  return choice;
}

Result<std::int64_t> edge_of(rd_kafka_t* client, const TopicPartition& at, bool latest) {
  std::int64_t low = 0, high = 0;
  const auto code = rd_kafka_query_watermark_offsets(client, at.first.c_str(), at.second, &low,
                                                     &high, kPatienceMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return broker_error("offsets of " + escape(at.first) + "-" + std::to_string(at.second), code);
  return latest ? high : low;
}

// By one question to the broker: committed offsets, or those of a time.
Result<std::vector<std::int64_t>> asked(rd_kafka_t* client, const OffsetChoice& choice,
                                        const std::vector<TopicPartition>& partitions) {
  const Partitions list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const auto& [topic, partition] : partitions) {
    auto* at = rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
    at->offset = choice.mode == OffsetMode::kTimestamp ? choice.timestamp_ms
                                                       : std::int64_t{RD_KAFKA_OFFSET_INVALID};
  }
  const auto code = choice.mode == OffsetMode::kTimestamp
                        ? rd_kafka_offsets_for_times(client, list.get(), kPatienceMs)
                        : rd_kafka_committed(client, list.get(), kPatienceMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return broker_error("offsets", code);
  std::vector<std::int64_t> offsets;
  for (const auto& [topic, partition] : partitions) {
    const auto* at = rd_kafka_topic_partition_list_find(list.get(), topic.c_str(), partition);
    if (at->err != RD_KAFKA_RESP_ERR_NO_ERROR)
      return broker_error("offsets of " + escape(topic), at->err);
    offsets.push_back(at->offset);
  }
  return offsets;
}

}  // namespace

Result<OffsetChoice> startup_of(TableOptions& options) {
  return choice_of(options, "scan.startup", kStartup, "group-offsets");
}
Result<OffsetChoice> bound_of(TableOptions& options) {
  return choice_of(options, "scan.bounded", kBound, "unbounded");
}

Result<std::vector<std::int64_t>> offsets_for(rd_kafka_t* client, const OffsetChoice& choice,
                                              const std::vector<TopicPartition>& partitions,
                                              const std::string& reset) {
  std::vector<std::int64_t> offsets(partitions.size(), kEndless);
  if (choice.mode == OffsetMode::kNone) return offsets;
  if (choice.mode == OffsetMode::kGroup || choice.mode == OffsetMode::kTimestamp) {
    HF_ASSIGN_OR_RETURN(offsets, asked(client, choice, partitions));
  }
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const auto name = escape(partitions[i].first) + "-" + std::to_string(partitions[i].second);
    if (choice.mode == OffsetMode::kSpecific) {
      const auto at = choice.specific.find(partitions[i].second);
      if (at == choice.specific.end())
        return Error{Errc::kInvalidOption, "'specific-offsets' has none for " + name};
      offsets[i] = at->second;
      continue;
    }
    const bool fixed = choice.mode == OffsetMode::kEarliest || choice.mode == OffsetMode::kLatest;
    if (!fixed && offsets[i] >= 0) continue;
    // No record is that young; the group has committed none.
    if (choice.mode == OffsetMode::kGroup && reset != "earliest" && reset != "latest") {
      return Error{Errc::kInvalidOption,
                   "the group has no offset of " + name +
                       ": say 'scan.startup.mode' = 'earliest-offset', or "
                       "'properties.auto.offset.reset' = 'earliest' or 'latest'"};
    }
    const bool latest = choice.mode == OffsetMode::kLatest ||
                        choice.mode == OffsetMode::kTimestamp ||
                        (choice.mode == OffsetMode::kGroup && reset == "latest");
    HF_ASSIGN_OR_RETURN(offsets[i], edge_of(client, partitions[i], latest));
  }
  return offsets;
}

}  // namespace holdfast::stream::kafka
