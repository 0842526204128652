#include <holdfast/kv/prometheus.hpp>

#include <cstdio>

#include <holdfast/base/format.hpp>

namespace holdfast::kv {
namespace {

// Values of labels: backslash, quote and newline are escaped. The format is UTF-8, a path may be
// any bytes: one that is none becomes \xNN. Else a scraper would refuse the whole text.
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = utf8_sequence(text);
    if (bytes == 0) {
      char code[8];
      std::snprintf(code, sizeof code, "\\\\x%02x", static_cast<unsigned char>(text.front()));
      out += code;
    } else if (text.front() == '\n') {
      out += "\\n";
    } else {
      if (text.front() == '\\' || text.front() == '"') out += '\\';
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

struct Metric {
  const char* name;  // A counter's ends in _total.
  const char* help;
  std::uint64_t StoreStats::* value;
};

constexpr Metric kGauges[] = {
    {"records", "Live keys.", &StoreStats::records},
    {"live_bytes", "Bytes of live records on the medium, with headers and padding.",
     &StoreStats::live_bytes},
    {"used_bytes", "Bytes of blocks that are not free.", &StoreStats::used_bytes},
    {"medium_bytes", "Bytes that the store takes from the system.", &StoreStats::medium_bytes},
    {"blocks", "Blocks of the medium.", &StoreStats::blocks},
    {"free_blocks", "Blocks that are free.", &StoreStats::free_blocks},
    {"open_blocks", "Blocks that writers append to.", &StoreStats::open_blocks},
    {"dram_index_bytes", "Bytes of the index in DRAM.", &StoreStats::dram_index_bytes},
    {"dram_other_bytes", "Bytes of the other books in DRAM.", &StoreStats::dram_other_bytes},
    {"sessions", "Threads that have a session.", &StoreStats::sessions},
    {"snapshots_open", "Snapshots that are open.", &StoreStats::snapshots_open},
    {"displaced_records", "Records superseded without having been read, not yet counted as dead.",
     &StoreStats::displaced_records},
    {"newest_version", "Version of the newest write.", &StoreStats::newest_version},
    {"mark_version", "Version of the mark; 0: there is none.", &StoreStats::mark_version},
    {"mark_held_bytes", "Bytes of blocks that are kept for the mark alone.",
     &StoreStats::mark_held_bytes},
};
constexpr Metric kCounters[] = {
    {"fences_total", "Fences executed since open.", &StoreStats::fences},
    {"lines_written_back_total", "Cache lines written back since open.",
     &StoreStats::lines_written_back},
    {"syncs_total", "Syncs of the medium since open.", &StoreStats::syncs},
    {"reclaimed_blocks_total", "Blocks that reclamation freed since open.",
     &StoreStats::reclaimed_blocks},
    {"relocated_bytes_total", "Bytes that reclamation moved since open.",
     &StoreStats::relocated_bytes},
    {"tombstones_dropped_total", "Tombstones that reclamation dropped since open.",
     &StoreStats::tombstones_dropped},
    {"expired_records_total", "Expired records that reclamation came upon since open.",
     &StoreStats::expired_records},
    {"index_rehashes_total", "Growths of the index since open.", &StoreStats::index_rehashes},
    {"events_dropped_total", "Events that a slow listener never saw, since open.",
     &StoreStats::events_dropped},
};

void describe(std::string& out, const std::string& name, const char* help, const char* type) {
  out += "# HELP " + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
}

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(ns) * 1e-9);
  return text;
}

// Buckets by powers of two of nanoseconds, from 63 ns to 17 s, always the same: to Prometheus a
// series that begins with a value has not grown by it, so rate() would miss the first calls of a
// bucket.
void append_histogram(std::string& out, const std::string& name, const std::string& labels,
                      const LatencyCounts& counts) {
  constexpr std::size_t kParts = 4;
  constexpr std::uint64_t kLeastNs = 63, kMostNs = (std::uint64_t{1} << 34) - 1;
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < LatencyCounts::kBuckets; ++bucket) {
    below += counts.buckets[bucket];
    const std::uint64_t bound = LatencyCounts::largest_ns(bucket);
    if (bucket % kParts != kParts - 1 || bound < kLeastNs || bound > kMostNs) continue;
    out += name + "_bucket{" + labels + ",le=\"" + seconds(bound) + "\"} " + std::to_string(below) +
           '\n';
  }
  const auto calls = std::to_string(counts.calls);
  out += name + "_bucket{" + labels + ",le=\"+Inf\"} " + calls + '\n';
  out += name + "_sum{" + labels + "} " + seconds(counts.sum_ns) + '\n';
  out += name + "_count{" + labels + "} " + calls + '\n';
}

}  // namespace

std::string prometheus_text(const StoreStats& stats, const Latencies& latencies,
                            std::string_view store) {
  const std::string label = "store=\"" + escaped(store) + '"';
  std::string out;
  const auto append = [&](const Metric& metric, const char* type) {
    const std::string name = std::string("holdfast_store_") + metric.name;
    describe(out, name, metric.help, type);
    out += name + '{' + label + "} " + std::to_string(stats.*metric.value) + '\n';
  };
  for (const Metric& gauge : kGauges)
    append(gauge, "gauge");
  for (const Metric& counter : kCounters)
    append(counter, "counter");

  // All verbs, also those that were not called yet; none where nothing is or was timed.
  bool timed = latencies.one_in != 0;
  for (const LatencyCounts& counts : latencies.verbs)
    timed |= counts.calls != 0;
  if (!timed) return out;
  const std::string name = "holdfast_store_verb_duration_seconds";
  describe(out, name, "How long the calls took that were timed.", "histogram");
  for (std::size_t i = 0; i < kTimedVerbs; ++i) {
    const auto verb = static_cast<TimedVerb>(i);
    append_histogram(out, name, label + ",verb=\"" + std::string(kv::name(verb)) + '"',
                     latencies.of(verb));
  }
  return out;
}

}  // namespace holdfast::kv
