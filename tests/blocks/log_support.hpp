// log_support.hpp: what the tests of logs share.
#pragma once

#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/blocks/log/log.hpp>

namespace holdfast::blocks {

inline Record bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string text(Record record) {
  return {reinterpret_cast<const char*>(record.data()), record.size()};
}

using Entries = std::vector<std::pair<std::uint64_t, std::string>>;  // LSN and record.

inline Result<Entries> entries(const Log& log, Lsn from = {}) {
  Entries found;
  auto reader = log.read(from);
  for (;;) {
    HF_ASSIGN_OR_RETURN(const bool more, reader.next());
    if (!more) return found;
    found.emplace_back(reader.lsn().value, text(reader.record()));
  }
}
inline std::vector<std::string> records(const Log& log, Lsn from = {}) {
  std::vector<std::string> found;
  auto all = entries(log, from).value();
  for (auto& [lsn, record] : all)
    found.push_back(std::move(record));
  return found;
}

// Every word differs from the others and from record to record.
inline std::string pattern(std::uint64_t number, std::size_t length) {
  std::string made(length, '\0');
  for (std::size_t i = 0; i < length; ++i)
    made[i] = static_cast<char>(mix64(number * 0x10001 + i / 8 + 1) >> (8 * (i % 8)));
  return made;
}

struct LogKind {
  LogFormat format = LogFormat::kChecksum;
  bool padded = true;

  LogOptions options(std::uint64_t segment_bytes = 64 * KiB, std::uint32_t lanes = 4) const {
    LogOptions options;
    options.format = format;
    options.padded = padded;
    options.segment_bytes = segment_bytes;
    options.lanes = lanes;
    return options;
  }
  std::string name() const {
    std::string text(blocks::name(format));
    for (auto& c : text)
      c = c == '-' ? '_' : c;
    return text + (padded ? "_padded" : "_dense");
  }
  friend std::ostream& operator<<(std::ostream& out, const LogKind& kind) {
    return out << kind.name();
  }
};

inline std::vector<LogKind> all_kinds() {
  std::vector<LogKind> kinds;
  for (int format = 1; format <= 7; ++format) {
    for (const bool padded : {true, false}) {
      const LogKind kind{static_cast<LogFormat>(format), padded};
      if (kind.options().validate()) kinds.push_back(kind);
    }
  }
  return kinds;
}

inline Region dram(std::uint64_t size_bytes) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = size_bytes;
  options.reserve_bytes = size_bytes;
  return Region::open("dram?granularity=line", options).value();
}

}  // namespace holdfast::blocks
