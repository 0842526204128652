// offsets.hpp: where reading of a topic begins and ends: 'scan.startup.mode', 'scan.bounded.mode'.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/kafka/client.hpp>

namespace holdfast::stream::kafka {

enum class OffsetMode : std::uint8_t {
  kEarliest,
  kLatest,
  kGroup,      // What the group has committed; else by 'properties.auto.offset.reset'.
  kTimestamp,  // The first record that is not older.
  kSpecific,
  kNone,  // Of the end: there is none.
};

struct OffsetChoice {
  OffsetMode mode = OffsetMode::kNone;
  std::int64_t timestamp_ms = 0;
  std::map<std::int32_t, std::int64_t> specific;  // By partition.
};

inline constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

using TopicPartition = std::pair<std::string, std::int32_t>;

Result<OffsetChoice> startup_of(TableOptions& options);
Result<OffsetChoice> bound_of(TableOptions& options);

// The offset for each of `partitions`; kEndless where there is none. `client` is a consumer.
// Errors: kIo, kInvalidOption ('specific-offsets' has none for a partition; the group has committed
// none and there is no reset).
Result<std::vector<std::int64_t>> offsets_for(rd_kafka_t* client, const OffsetChoice& choice,
                                              const std::vector<TopicPartition>& partitions,
                                              const std::string& reset);

}  // namespace holdfast::stream::kafka
