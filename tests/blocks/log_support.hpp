// log_support.hpp: what the tests of logs share.
#pragma once

#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/baselines/log_formats.hpp>
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
  std::string streams = {};  // As of dram(); empty: as this CPU does.

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
    return text + (padded ? "_padded" : "_dense") +
           (streams.empty()   ? ""
            : streams == "on" ? "_streamed"
                              : "_written_back");
  }
  friend std::ostream& operator<<(std::ostream& out, const LogKind& kind) {
    return out << kind.name();
  }
};

// Ours and the published formats, dense and padded.
inline std::vector<LogKind> all_kinds() {
  baselines::register_log_formats();
  std::vector<LogKind> kinds;
  for (const auto format : log_detail::registered_formats()) {
    for (const bool padded : {true, false}) {
      const LogKind kind{format, padded};
      if (kind.options().validate()) kinds.push_back(kind);
    }
  }
  return kinds;
}
// Each on CPUs of both kinds: where streaming stores leave the cache, and where they do not.
inline std::vector<LogKind> all_kinds_both_ways() {
  auto kinds = all_kinds();
  for (auto& kind : kinds)
    kind.streams = "on";
  const auto streaming = kinds;
  for (auto kind : streaming) {
    kind.streams = "off";
    kinds.push_back(kind);
  }
  return kinds;
}

// `streams`: "on" or "off" instead of what this CPU does.
inline Region dram(std::uint64_t size_bytes, const std::string& streams = "") {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = size_bytes;
  options.reserve_bytes = size_bytes;
  return Region::open("dram?granularity=line" + (streams.empty() ? "" : "&nt_evicts=" + streams),
                      options)
      .value();
}

// Opens `log` again, once the object that holds it has gone.
inline Log reopened(Log log, Region& region) {
  const auto where = log.where();
  {
    const Log gone = std::move(log);
  }
  return Log::open(region, where).value();
}

}  // namespace holdfast::blocks
