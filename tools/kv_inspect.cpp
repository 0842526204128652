// stats, verify, reclaim: the store as a whole.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <holdfast/kv/prometheus.hpp>

#include "console.hpp"
#include "kv_keys.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

using Json = nlohmann::ordered_json;
std::string_view granularity_name(Granularity granularity) {
  switch (granularity) {
    case Granularity::kByte: return "byte";
    case Granularity::kLine: return "line";
    case Granularity::kPage: return "page";
    case Granularity::kNone: return "none";
  }
  return "none";
}

// Strings from the system may be any bytes; JSON is UTF-8.
std::string text_of_json(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

void row(std::string_view name, std::string_view value) {
  standard_output().write(fit_terminal(fmt::format("  {:<24} {}\n", name, value)));
}
void row_count(std::string_view name, std::uint64_t value) { row(name, with_separators(value)); }
void row_bytes(std::string_view name, std::uint64_t value) {
  row(name, fmt::format("{} ({} bytes)", human_bytes(static_cast<double>(value)),
                        with_separators(value)));
}

double ratio(std::uint64_t numerator, std::uint64_t denominator) {
  return denominator == 0 ? 0 : static_cast<double>(numerator) / static_cast<double>(denominator);
}

// What `stats` tells of a store.
struct Told {
  kv::StoreStats stats;
  const kv::RecoveryReport& recovery;
  RegionReport region;
  Survival survival;
  bool typed = false;
};

Json stats_document(const KvTarget& target, const Told& told) {
  const auto& [stats, recovery, region, survival, typed] = told;
  return {
      {"store", target.spec},
      {"records", stats.records},
      {"live_bytes", stats.live_bytes},
      {"used_bytes", stats.used_bytes},
      {"medium_bytes", stats.medium_bytes},
      {"blocks", stats.blocks},
      {"free_blocks", stats.free_blocks},
      {"dram_index_bytes", stats.dram_index_bytes},
      {"dram_other_bytes", stats.dram_other_bytes},
      {"newest_version", stats.newest_version},
      {"mark_version", stats.mark_version},
      {"mark_held_bytes", stats.mark_held_bytes},
      {"open",
       {{"clean", recovery.clean},
        {"seconds", recovery.seconds},
        {"blocks_scanned", recovery.blocks_scanned},
        {"records_scanned", recovery.records_scanned},
        {"superseded", recovery.superseded},
        {"tombstones", recovery.tombstones},
        {"torn_bytes_dropped", recovery.torn_bytes_dropped}}},
      {"region",
       {{"kind", region.kind},
        {"file_system", region.file_system},
        {"granularity", granularity_name(region.granularity)},
        {"granularity_source", region.granularity_source},
        {"mapping", region.mapping},
        {"page_bytes", region.page_bytes},
        {"page_reason", region.page_reason}}},
      {"durability", survival.level},
  };
}

void print_stats(const KvTarget& target, const Told& told) {
  const auto& [stats, recovery, region, survival, typed] = told;
  out("{}\n", ink(stdout, Ink::kBold, target.spec));
  row_count("records", stats.records);
  row_bytes("live", stats.live_bytes);
  if (typed) row("keys and values", "of fixed types, made by a program; shown as hex digits");
  // Ratios of an almost empty store are of no use: a session has a block of its own, however little
  // is in it, and the index has a smallest size.
  const bool says_much = stats.live_bytes >= 4 * MiB;
  row("blocks in use",
      fmt::format("{}{}, {} of {} blocks free", human_bytes(static_cast<double>(stats.used_bytes)),
                  says_much
                      ? fmt::format(", {:.2f} x live", ratio(stats.used_bytes, stats.live_bytes))
                      : "",
                  stats.free_blocks, stats.blocks));
  row_bytes("taken from the medium", stats.medium_bytes);
  row("index in DRAM", fmt::format("{}{}", human_bytes(static_cast<double>(stats.dram_index_bytes)),
                                   stats.records >= 10'000
                                       ? fmt::format(", {:.1f} bytes per record",
                                                     ratio(stats.dram_index_bytes, stats.records))
                                       : ", its smallest size"));
  row_bytes("other DRAM", stats.dram_other_bytes);
  row_count("newest version", stats.newest_version);
  if (stats.mark_version != 0) row_count("mark at version", stats.mark_version);
  row("opened", fmt::format("{} in {}", recovery.clean ? "from a clean close" : "by recovery",
                            human_seconds(recovery.seconds)));
  if (recovery.torn_bytes_dropped != 0) row_bytes("torn tail dropped", recovery.torn_bytes_dropped);
  row("region", fmt::format("{}{}{}, {}", region.kind, region.file_system.empty() ? "" : " on ",
                            region.file_system, region.mapping));
  row("pages", fmt::format("{}{}{}", human_bytes(static_cast<double>(region.page_bytes)),
                           region.page_reason.empty() ? "" : "; ", region.page_reason));
  row("granularity",
      fmt::format("{} ({})", granularity_name(region.granularity), region.granularity_source));
  row("a synced record", survival.words);
}

int print_space_stats(const KvTarget& target, const kv::Store<>& store) {
  const auto space = store.space(target.space);
  if (!space) return report_error(target, space.error());
  const kv::SpaceStats stats = space->stats();
  if (target.json) {
    const Json document = {
        {"store", target.spec},           {"space", target.space},
        {"records", stats.records},       {"blocks", stats.blocks},
        {"live_bytes", stats.live_bytes}, {"dram_index_bytes", stats.dram_index_bytes}};
    out("{}\n", text_of_json(document));
    return kExitDone;
  }
  row("keyspace", visible(target.space));
  row_count("records", stats.records);
  row("live", fmt::format("{} in {} of its own", human_bytes(static_cast<double>(stats.live_bytes)),
                          counted(stats.blocks, "block")));
  row_bytes("index in DRAM", stats.dram_index_bytes);
  return kExitDone;
}

}  // namespace

int kv_stats(const KvTarget& target, bool prometheus) {
  if (prometheus && !target.space.empty())
    return refuse(target, "--prometheus does not go with --space",
                  "Metrics are those of the whole store; leave --space out, or use --json.");
  bool typed = false;
  auto store = open_for_reading(target, &typed);
  if (!store) return report_error(target, store.error());
  if (!target.space.empty()) return print_space_stats(target, *store);
  const RegionReport region = store->region_report();
  const Told told{store->stats(), store->recovery(), region, survival_of(region), typed};
  if (prometheus) {
    standard_output().write(kv::prometheus_text(told.stats, store->latencies(), target.spec));
    return kExitDone;
  }
  if (target.json) {
    out("{}\n", text_of_json(stats_document(target, told)));
    return kExitDone;
  }
  print_stats(target, told);
  return kExitDone;
}

int kv_verify(const KvTarget& target) {
  bool typed = false;
  auto store = open_for_reading(target, &typed);
  if (!store) return report_error(target, store.error());
  const auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  const kv::VerifyReport report = keys->verify();
  if (target.json) {
    Json document = {{"store", target.spec},
                     {"ok", report.ok()},
                     {"blocks", report.blocks},
                     {"records", report.records},
                     {"tombstones", report.tombstones},
                     {"bytes", report.bytes},
                     {"defects_total", report.defects_total},
                     {"defects", Json::array()}};
    for (const kv::Defect& defect : report.defects) {
      document["defects"].push_back({{"offset_bytes", defect.offset}, {"what", defect.what}});
    }
    out("{}\n", text_of_json(document));
    return report.ok() ? kExitDone : kExitFailed;
  }
  for (const kv::Defect& defect : report.defects) {
    out("{}", fit_terminal(fmt::format("{} at byte {}: {}\n", ink(stdout, Ink::kBad, "damage"),
                                       defect.offset, visible(defect.what))));
  }
  if (report.defects_total > report.defects.size()) {
    out("… and {} more\n", with_separators(report.defects_total - report.defects.size()));
  }
  out("{}: {}, {}, {}, {} read and checked\n",
      report.ok() ? ink(stdout, Ink::kGood, "sound")
                  : ink(stdout, Ink::kBad, counted(report.defects_total, "defect")),
      counted(report.records, "record"), counted(report.tombstones, "tombstone"),
      counted(report.blocks, "block"), human_bytes(static_cast<double>(report.bytes)));
  if (const kv::RecoveryReport& opened = store->recovery(); opened.blocks_scanned != 0) {
    out("not closed when last written: {} more in {} that {} open, whole at this open\n",
        counted(opened.records_scanned, "record"), counted(opened.blocks_scanned, "block"),
        opened.blocks_scanned == 1 ? "was" : "were");
    if (opened.torn_bytes_dropped != 0)
      out("left out: {} behind them; nothing says that these were durable\n",
          human_bytes(static_cast<double>(opened.torn_bytes_dropped)));
  }
  return report.ok() ? kExitDone : kExitFailed;
}

int kv_reclaim(const KvTarget& target) {
  auto store = open_for_reclaiming(target.spec);
  if (!store) return report_error(target, store.error());
  const kv::StoreStats before = store->stats();
  if (const Status status = store->reclaim(); !status) return report_error(target, status.error());
  const kv::StoreStats after = store->stats();
  if (const Status status = store->close(); !status) return report_error(target, status.error());
  if (target.json) {
    const Json document = {{"store", target.spec},
                           {"live_bytes", after.live_bytes},
                           {"used_bytes_before", before.used_bytes},
                           {"used_bytes_after", after.used_bytes},
                           {"medium_bytes_before", before.medium_bytes},
                           {"medium_bytes_after", after.medium_bytes},
                           {"relocated_bytes", after.relocated_bytes - before.relocated_bytes}};
    out("{}\n", text_of_json(document));
    return kExitDone;
  }
  out("in use {} -> {} for {} live; medium {} -> {}; {} moved\n",
      human_bytes(static_cast<double>(before.used_bytes)),
      human_bytes(static_cast<double>(after.used_bytes)),
      human_bytes(static_cast<double>(after.live_bytes)),
      human_bytes(static_cast<double>(before.medium_bytes)),
      human_bytes(static_cast<double>(after.medium_bytes)),
      human_bytes(static_cast<double>(after.relocated_bytes - before.relocated_bytes)));
  return kExitDone;
}

}  // namespace holdfast::tools
