#include "mem_command.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/memory/cpu.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/memory/topology.hpp>

#include "console.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

using nlohmann::json;

struct MemRequest {
  std::vector<std::string> specs;
  bool as_json = false;
};

// ---- A region's report, without changing what the spec names.

// Two huge pages: enough to see whether they are given.
constexpr std::uint64_t kProbeBytes = 4 * MiB;

RegionOptions probe_options(const RegionSpec& spec) {
  RegionOptions options;
  // No file is mapped by 1 GiB.
  const bool giant = spec.huge == HugePages::k1G && spec.kind != RegionSpec::Kind::kPath;
  options.size_bytes = options.unit_bytes = giant ? 1 * GiB : kProbeBytes;
  // A stripe on each node.
  if (spec.nodes.size() > 1)
    options.size_bytes = round_up(spec.nodes.size() * kNodeStripeBytes, options.unit_bytes);
  return options;
}

// Its pages must be touched before there is something to tell about them; a few do, of each stripe.
RegionReport report_of(Region& region, std::uint64_t stripes = 1) {
  for (std::uint64_t i = 0; i < stripes; ++i)
    static_cast<void>(
        region.prefault(i * kNodeStripeBytes, std::min(kProbeBytes, region.size_bytes())));
  return region.report();
}

Result<RegionReport> report_of(const RegionSpec& spec) {
  auto options = probe_options(spec);
  if (spec.kind != RegionSpec::Kind::kPath) {
    HF_ASSIGN_OR_RETURN(auto region, Region::open(spec.text, options));
    return report_of(region, std::max<std::uint64_t>(1, spec.nodes.size()));
  }
  options.access = RegionAccess::kOpenReadOnly;
  options.tolerate_damage = true;
  options.file_bytes = options.unit_bytes;  // The last file of a directory may be short.
  auto existing = Region::open(spec.text, options);
  struct stat status{};
  const bool directory = ::stat(spec.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  if (existing) return report_of(*existing);
  const bool link = std::filesystem::is_symlink(spec.path);
  if (existing.code() != Errc::kNotFound || (link && !directory))
    return std::move(existing).error();
  // What is not there yet is tried beside where it would be.
  auto parent = std::filesystem::path(spec.path).parent_path();
  if (parent.empty()) parent = ".";
  if (!directory && !std::filesystem::is_directory(parent)) {
    return Error{Errc::kNotFound, spec.path + " does not exist, and there is no directory " +
                                      parent.string() + " to try one in"};
  }
  auto place =
      (directory ? spec.path : parent.string()) + "/holdfast-mem-" + std::to_string(::getpid());
  options = probe_options(spec);
  options.access = RegionAccess::kCreate;
  options.layout = RegionLayout::kFile;
  auto probe = Region::open(place + parts_of(spec.text).options, options);
  if (!probe) return std::move(probe).error();
  auto report = report_of(*probe);
  ::unlink(place.c_str());
  report.spec = spec.text;
  report.kind = directory ? "a new region in this directory" : "a new region, not there yet";
  return report;
}

std::string durability_of(const RegionReport& report) {
  const bool assumed = report.granularity_source.starts_with("assumed");
  if (assumed && report.granularity != Granularity::kNone) return "as assumed, not as found";
  switch (report.granularity) {
    case Granularity::kByte: return "power: every store, once fenced";
    case Granularity::kLine: return "power: every line written back and fenced";
    case Granularity::kPage: return "process at once, power after sync (group commit)";
    case Granularity::kNone: return "no power durability";
  }
  return "unknown";
}

// ---- As JSON.

json json_of(const RegionReport& report) {
  return {{"spec", report.spec},
          {"kind", report.kind},
          {"file_system", report.file_system},
          {"granularity", name(report.granularity)},
          {"granularity_source", report.granularity_source},
          {"durability", durability_of(report)},
          {"mapping", report.mapping},
          {"page_bytes", report.page_bytes},
          {"page_reason", report.page_reason},
          {"write_back", name(report.write_back)},
          {"nt_evicts", report.nt_evicts},
          {"nt_evicts_source", report.nt_evicts_source},
          {"nodes", report.nodes},
          {"damage", report.damage}};
}

json json_of(const Cpu& cpu) {
  return {{"vendor", cpu.vendor},
          {"model", cpu.model},
          {"clflush", cpu.clflush},
          {"clflushopt", cpu.clflushopt},
          {"clwb", cpu.clwb},
          {"avx2", cpu.avx2},
          {"avx512", cpu.avx512},
          {"write_back", name(cpu.write_back)},
          {"copies", name(cpu.vectors)},
          {"nt_evicts", nt_evicts().value},
          {"nt_evicts_source", nt_evicts().source},
          {"nt_store_cached_ns", nt_evicts().cached_ns},
          {"nt_store_uncached_ns", nt_evicts().uncached_ns}};
}

// The firmware says nothing where the kernel has 0.
json known(std::uint64_t value) { return value == 0 ? json() : json(value); }

void add_devices(json& document, const Topology& topology) {
  const auto list = [&](const char* key) -> json& { return document[key] = json::array(); };
  auto& dax = list("dax");
  for (const auto& device : topology.dax) {
    dax.push_back({{"name", device.name},
                   {"driver", device.driver},
                   {"bytes", device.bytes},
                   {"align_bytes", device.align_bytes},
                   {"node", device.node},
                   {"persistence_domain", device.persistence_domain}});
  }
  auto& pmem = list("pmem");
  for (const auto& device : topology.pmem) {
    pmem.push_back({{"name", device.name},
                    {"bytes", device.bytes},
                    {"dax", device.dax},
                    {"node", device.node},
                    {"persistence_domain", device.persistence_domain},
                    {"mount_point", device.mount_point},
                    {"mount_options", device.mount_options}});
  }
  auto& cxl = list("cxl");
  for (const auto& device : topology.cxl) {
    cxl.push_back({{"name", device.name},
                   {"pmem_bytes", device.pmem_bytes},
                   {"ram_bytes", device.ram_bytes},
                   {"node", device.node},
                   {"firmware", device.firmware}});
  }
}

json json_of(const Topology& topology) {
  json document = {{"cpus", topology.cpus},
                   {"sockets", known(topology.sockets)},
                   {"cores", known(topology.cores)},
                   {"clock_mhz_max", known(topology.clock_mhz_max)},
                   {"memory_bytes", known(topology.memory_bytes)},
                   {"available_bytes", known(topology.available_bytes)},
                   {"transparent_huge_pages", topology.transparent_huge_pages},
                   {"tmpfs_huge_pages", topology.tmpfs_huge_pages}};
  const auto list = [&](const char* key) -> json& { return document[key] = json::array(); };
  auto& caches = list("caches");
  for (const auto& cache : topology.caches) {
    caches.push_back({{"level", cache.level},
                      {"type", cache.type},
                      {"bytes", cache.bytes},
                      {"line_bytes", cache.line_bytes},
                      {"count", cache.count},
                      {"shared_cpus", cache.shared_cpus}});
  }
  auto& nodes = list("nodes");
  for (const auto& node : topology.nodes) {
    nodes.push_back({{"id", node.id},
                     {"cpus", node.cpus},
                     {"memory_bytes", node.memory_bytes},
                     {"free_bytes", node.free_bytes},
                     {"distances", node.distances},
                     {"tier", node.tier < 0 ? json() : json(topology.tiers[node.tier].name)},
                     {"read_bandwidth_mb_per_s", known(node.read_bandwidth_mb_per_s)},
                     {"write_bandwidth_mb_per_s", known(node.write_bandwidth_mb_per_s)},
                     {"read_latency_ns", known(node.read_latency_ns)},
                     {"write_latency_ns", known(node.write_latency_ns)}});
  }
  auto& tiers = list("tiers");
  for (const auto& tier : topology.tiers) {
    tiers.push_back({{"name", tier.name}, {"nodes", tier.nodes}});
  }
  auto& pools = list("huge_page_pools");
  for (const auto& pool : topology.pools) {
    pools.push_back({{"page_bytes", pool.page_bytes},
                     {"pages_total", pool.pages_total},
                     {"pages_free", pool.pages_free}});
  }
  add_devices(document, topology);
  return document;
}

// ---- For people: a heading, then lines of "key  value".

void line(std::string_view key, std::string_view value) {
  const auto text = fmt::format("  {}  {}\n", pad_right(std::string(key), 14), value);
  standard_output().write(fit_terminal(text));
}

std::string or_none(const std::string& text, std::string_view otherwise) {
  return text.empty() ? std::string(otherwise) : text;
}

void print(const RegionReport& report) {
  out("{}\n", report.spec);
  line("kind", report.kind + (report.file_system.empty() ? "" : " on " + report.file_system));
  line("granularity", fmt::format("{}: {}", name(report.granularity), report.granularity_source));
  line("durability", durability_of(report));
  line("mapping", report.mapping);
  line("pages", fmt::format("{}: {}", format_bytes(report.page_bytes), report.page_reason));
  if (report.write_back != WriteBackInstruction::kNone) {
    line("write back", name(report.write_back));
    line("nt_evicts",
         fmt::format("{}: {}", report.nt_evicts ? "yes" : "no", report.nt_evicts_source));
  }
  line("nodes",
       report.nodes.empty() ? "not known" : fmt::format("{}", fmt::join(report.nodes, ", ")));
  for (const auto& damage : report.damage)
    line("damage", damage);
}

void print(const Cpu& cpu) {
  out("CPU\n");
  line("model", fmt::format("{} ({})", cpu.model, cpu.vendor));
  const auto has = [](bool is, const char* what) {
    return is ? std::string(what) + " " : std::string();
  };
  line("write back", fmt::format("{} (of {}{}{})", name(cpu.write_back), has(cpu.clwb, "clwb"),
                                 has(cpu.clflushopt, "clflushopt"), cpu.clflush ? "clflush" : ""));
  line("nt_evicts", fmt::format("{}: {}", nt_evicts().value ? "yes" : "no", nt_evicts().source));
  line("copies", name(cpu.vectors));
}

void print(const Topology& topology) {
  auto cpus = counted(topology.cpus, "CPU");
  if (topology.cores != 0) {
    cpus += ", " + counted(topology.cores, "core") + ", " + counted(topology.sockets, "socket");
  }
  if (topology.clock_mhz_max != 0)
    cpus += fmt::format(", up to {:.1f} GHz", topology.clock_mhz_max / 1e3);
  line("online", cpus);
  if (topology.memory_bytes != 0) {
    line("memory", fmt::format("{}, {} available", format_bytes(topology.memory_bytes),
                               format_bytes(topology.available_bytes)));
  }
  out("Caches\n");
  for (const auto& cache : topology.caches) {
    line(fmt::format("L{} {}", cache.level, cache.type),
         fmt::format("{} x {}, lines of {}, the first shared by CPU {}", cache.count,
                     format_bytes(cache.bytes), format_bytes(cache.line_bytes), cache.shared_cpus));
  }
  if (topology.caches.empty()) line("none told", "");
  out("Nodes\n");
  for (const auto& node : topology.nodes) {
    auto text = fmt::format("{}, {} free, CPUs {}, distances {}", format_bytes(node.memory_bytes),
                            format_bytes(node.free_bytes), or_none(node.cpus, "none (memory only)"),
                            fmt::join(node.distances, " "));
    if (node.tier >= 0) text += ", " + topology.tiers[node.tier].name;
    if (node.read_latency_ns != 0) {
      text += fmt::format("; firmware says {} / {} ns and {} / {} MB/s to read / write",
                          node.read_latency_ns, node.write_latency_ns, node.read_bandwidth_mb_per_s,
                          node.write_bandwidth_mb_per_s);
    }
    line(fmt::format("node:{}", node.id), text);
  }
  out("Tiers\n");
  for (const auto& tier : topology.tiers) {
    line(tier.name, fmt::format("nodes {}", fmt::join(tier.nodes, ", ")));
  }
  if (topology.tiers.empty()) line("none told", "");
  out("Huge pages\n");
  line("transparent", or_none(topology.transparent_huge_pages, "not in this kernel"));
  line("on tmpfs", or_none(topology.tmpfs_huge_pages, "not in this kernel"));
  for (const auto& pool : topology.pools) {
    line(fmt::format("pool of {}", format_bytes(pool.page_bytes)),
         fmt::format("{} free of {}", pool.pages_free, pool.pages_total));
  }
  out("Persistent and CXL memory\n");
  for (const auto& device : topology.dax) {
    line("/dev/" + device.name,
         fmt::format("devdax, {}, aligned to {}, node {}, driver {}, persistence domain {}",
                     format_bytes(device.bytes), format_bytes(device.align_bytes), device.node,
                     or_none(device.driver, "none"),
                     or_none(device.persistence_domain, "not told")));
  }
  for (const auto& device : topology.pmem) {
    line("/dev/" + device.name,
         fmt::format(
             "{}, {}, node {}, persistence domain {}, {}", format_bytes(device.bytes),
             device.dax ? "offers DAX" : "no DAX", device.node,
             or_none(device.persistence_domain, "not told"),
             device.mount_point.empty()
                 ? "not mounted"
                 : fmt::format("mounted on {} ({})", device.mount_point, device.mount_options)));
  }
  for (const auto& device : topology.cxl) {
    line("CXL " + device.name,
         fmt::format("{} persistent, {} volatile, node {}", format_bytes(device.pmem_bytes),
                     format_bytes(device.ram_bytes), device.node));
  }
  if (topology.dax.empty() && topology.pmem.empty() && topology.cxl.empty()) line("none", "");
}

// ---- The verb.

int run_mem(const MemRequest& request) {
  int exit_code = 0;
  json regions = json::array();
  bool first = true;
  for (const auto& text : request.specs) {
    const auto spec = RegionSpec::parse(text);
    auto report = spec ? report_of(*spec) : Result<RegionReport>(spec.error());
    if (!report) {
      complain("holdfast mem", plain(report.error()));
      exit_code = std::max(exit_code, report.code() == Errc::kInvalidOption ? 2 : 1);
      regions.push_back({{"spec", text}, {"error", plain(report.error())}});
      continue;
    }
    if (request.as_json) {
      regions.push_back(json_of(*report));
    } else {
      out("{}", first ? "" : "\n");
      print(*report);
    }
    first = false;
  }
  if (request.as_json) {
    json document = {{"schema", "holdfast.mem/1"}};
    if (request.specs.empty()) {
      document["cpu"] = json_of(cpu());
      document["topology"] = json_of(read_topology());
    } else {
      document["regions"] = regions;
    }
    // Paths may hold bytes that are no UTF-8.
    out("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
  } else if (request.specs.empty()) {
    print(cpu());
    print(read_topology());
  }
  return exit_code;
}

}  // namespace

void add_mem_command(CLI::App& root, int& exit_code) {
  auto* mem =
      root.add_subcommand("mem", "What memory this machine has, and what a region on it would be");
  auto request = std::make_shared<MemRequest>();
  mem->add_option("SPEC", request->specs,
                  "dram, node:N, a file, a directory or /dev/daxX.Y, with ?huge=2M|1G|off, "
                  "?granularity=byte|line|page|none, ?nt_evicts=on|off");
  mem->add_flag("--json", request->as_json, "One JSON document instead of text");
  mem->footer(
      "Options of a SPEC (the same for every region and store):\n"
      "  huge=2M|1G|off         the pages that it is mapped with; without it the kernel chooses\n"
      "  granularity=byte|line|page|none\n"
      "                         what survives a power loss without a system call, if you know it "
      "better than the machine says: everything executed, flushed lines, synced pages, nothing. It "
      "is believed, and shown as \"assumed\"\n"
      "  nt_evicts=on|off       whether a non-temporal store to a cached line leaves the cache\n"
      "Examples:\n"
      "  holdfast mem                            # the machine\n"
      "  holdfast mem ./here /dev/shm node:0     # what a region there would be\n"
      "  holdfast mem '/mnt/pmem/x?huge=2M'");
  mem->callback([request, &exit_code] { exit_code = run_mem(*request); });
}

}  // namespace holdfast::tools
