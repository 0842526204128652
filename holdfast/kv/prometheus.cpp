#include <holdfast/kv/prometheus.hpp>

#include <cstdio>

namespace holdfast::kv {
namespace {

// Values of labels: backslash, quote and newline are escaped.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
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

// Buckets by powers of two of nanoseconds, from the first that holds a call to the last.
void append_histogram(std::string& out, const std::string& name, const std::string& labels,
                      const LatencyCounts& counts) {
  constexpr std::size_t kParts = 4;
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < LatencyCounts::kBuckets; ++bucket) {
    below += counts.buckets[bucket];
    // The last bucket has no bound; that is +Inf below.
    if (bucket % kParts != kParts - 1 || bucket + 1 == LatencyCounts::kBuckets || below == 0)
      continue;
    out += name + "_bucket{" + labels + ",le=\"" + seconds(LatencyCounts::largest_ns(bucket)) +
           "\"} " + std::to_string(below) + '\n';
    if (below == counts.calls) break;
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

  const std::string name = "holdfast_store_verb_duration_seconds";
  bool described = false;
  for (std::size_t i = 0; i < kTimedVerbs; ++i) {
    const auto verb = static_cast<TimedVerb>(i);
    if (latencies.of(verb).calls == 0) continue;
    if (!described) describe(out, name, "How long the calls took that were timed.", "histogram");
    described = true;
    append_histogram(out, name, label + ",verb=\"" + std::string(kv::name(verb)) + '"',
                     latencies.of(verb));
  }
  return out;
}

}  // namespace holdfast::kv
