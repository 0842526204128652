#include <holdfast/bench/memory/tier.hpp>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>

#include <holdfast/base/format.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/bench/durability.hpp>
#include <holdfast/bench/engine/team.hpp>
#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/memory/pages.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/memory/topology.hpp>

namespace holdfast::bench::memory {
namespace {

namespace fs = std::filesystem;

Error interruption() { return {Errc::kClosed, "interrupted"}; }
std::string errno_text() { return std::strerror(errno); }

// A file in the file system of devices would be DRAM under the name of a device that is not there.
bool among_devices(const fs::path& directory) {
  struct stat devices = {}, there = {};
  return ::stat("/dev", &devices) == 0 && ::stat(directory.c_str(), &there) == 0 &&
         devices.st_dev == there.st_dev;
}

// Turns to `node` for every page that this thread touches first, and back.
class PreferNode {
 public:
  explicit PreferNode(int node) {
    constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);
    std::vector<unsigned long> mask(static_cast<std::size_t>(node) / kWordBits + 1, 0);
    mask.back() = 1ul << (static_cast<std::size_t>(node) % kWordBits);
    ok_ = ::syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), mask.size() * kWordBits + 1) == 0;
  }
  ~PreferNode() { (void)::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0); }
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;
  bool ok() const { return ok_; }

 private:
  bool ok_ = false;
};

}  // namespace

std::string TierNeed::key() const {
  std::string key = spec + "|" + (prefault ? "p" : "-");
  for (std::size_t i = 0; i < nodes.size(); ++i)
    key += "|" + std::to_string(nodes[i]) + "*" + std::to_string(weights.empty() ? 1 : weights[i]);
  return key;
}

Result<std::string> path_for_target(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::is_character_file(status)) return path;
  if (fs::is_directory(status)) {
    if (!fs::is_empty(path, error) || error) {
      return Error{Errc::kInvalidOption,
                   path +
                       " is a directory that is not empty; give an empty one, or a path that "
                       "does not exist yet: the benchmark makes a file there and removes it"};
    }
    return (fs::path(path) / ("holdfast-bench-" + std::to_string(::getpid()))).string();
  }
  if (fs::exists(status)) {
    return Error{Errc::kAlreadyExists,
                 path +
                     " exists; the benchmark would overwrite it. Give a path that does not "
                     "exist yet, or an empty directory"};
  }
  auto parent = fs::path(path).parent_path();
  if (parent.empty()) parent = ".";
  if (!fs::is_directory(parent, error))
    return Error{Errc::kInvalidOption, path + ": there is no directory " + parent.string()};
  if (among_devices(parent)) {
    return Error{Errc::kInvalidOption,
                 path + ": there is no such device; see what there is with `holdfast mem`"};
  }
  return path;
}

std::uint64_t bytes_free_for(const std::string& path) {
  std::error_code error;
  if (fs::is_character_file(path, error)) return std::numeric_limits<std::uint64_t>::max();
  auto directory = fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  if (directory.empty()) directory = ".";
  const auto space = fs::space(directory, error);
  return error ? std::numeric_limits<std::uint64_t>::max() : space.available;
}

Result<std::unique_ptr<Tier>> Tier::open(const TierNeed& need) {
  std::unique_ptr<Tier> tier(new Tier());
  tier->need_ = need;
  HF_RETURN_IF_ERROR(tier->map());
  if (!need.nodes.empty())
    HF_RETURN_IF_ERROR(tier->spread());
  else if (need.prefault)
    HF_RETURN_IF_ERROR(tier->touch());
  tier->report_ = tier->region_->report();
  tier->report_.spec = need.spec;
  if (need.prefault) tier->examine();
  return tier;
}

Status Tier::check(const TierNeed& need) {
  HF_ASSIGN_OR_RETURN(const auto spec, RegionSpec::parse(need.spec));
  if (spec.kind != RegionSpec::Kind::kPath) return {};
  if (fs::is_character_file(spec.path)) return check_device(need, spec.path);
  Tier small;
  small.need_ = need;
  small.need_.bytes = 1;  // One unit.
  small.need_.prefault = false;
  return small.map();
}

Status Tier::check_device(const TierNeed& need, const std::string& path) {
  struct stat status = {};
  ::stat(path.c_str(), &status);
  std::error_code error;
  const auto sysfs = "/sys/dev/char/" + std::to_string(major(status.st_rdev)) + ":" +
                     std::to_string(minor(status.st_rdev)) + "/subsystem";
  if (fs::canonical(sysfs, error).string().find("/dax") == std::string::npos) {
    return Error{Errc::kInvalidOption,
                 path +
                     " is a character device but not a devdax; give a path that does not exist "
                     "yet, an empty directory or /dev/daxX.Y"};
  }
  if (need.erase_device) return {};
  return Error{Errc::kInvalidOption,
               path + " is a device, and all it holds would be lost; allow it with --erase-device"};
}

Status Tier::map() {
  HF_ASSIGN_OR_RETURN(auto spec, RegionSpec::parse(need_.spec));
  RegionOptions options;
  options.access = RegionAccess::kCreate;
  options.layout = RegionLayout::kFile;
  options.unit_bytes = 2 * MiB;
  options.size_bytes = round_up(need_.bytes, options.unit_bytes);
  options.reserve_bytes = options.size_bytes;
  options.prefault = false;  // See touch() and spread().
  auto text = need_.spec;
  std::string path;
  if (spec.kind == RegionSpec::Kind::kPath) {
    HF_ASSIGN_OR_RETURN(path, path_for_target(spec.path));
    text = path + parts_of(text).options;
    if (fs::is_character_file(path)) {
      HF_RETURN_IF_ERROR(check_device(need_, path));
      path.clear();  // Nothing to remove.
    }
  }
  auto region = Region::open(text, options);
  if (!path.empty()) ::unlink(path.c_str());
  HF_ASSIGN_OR_RETURN(auto opened, std::move(region));
  if (opened.granularity() == Granularity::kPage) {
    return Error{Errc::kUnsupported,
                 need_.spec +
                     " lies on a file system without DAX: stores would go to the page "
                     "cache, not to the medium. Measure the page cache with " +
                     need_.spec + "?granularity=none, or give a path that is mounted with -o dax"};
  }
  if (opened.size_bytes() < need_.bytes) {
    return Error{Errc::kNoSpace, need_.spec + " has " + format_bytes(opened.size_bytes()) + ", " +
                                     format_bytes(need_.bytes) + " are needed"};
  }
  region_ = std::make_unique<Region>(std::move(opened));
  return {};
}

// In parts of a tenth of a second, so that an interruption is not kept waiting.
Status Tier::touch() {
  constexpr auto kPart = 256 * MiB;
  for (std::uint64_t at = 0; at < bytes(); at += kPart) {
    if (interrupted()) return interruption();
    HF_RETURN_IF_ERROR(region_->prefault(at, std::min(kPart, bytes() - at)));
  }
  return {};
}

// The pages are touched for the first time in turn under the policy of their node: no mapping is
// split, whatever the weights are.
Status Tier::spread() {
  const auto parsed = RegionSpec::parse(need_.spec);
  const auto page = parsed && parsed->huge == HugePages::kOff ? kPageBytes : 2 * MiB;
  const auto pages = bytes() / page;
  const auto weight = [&](std::size_t i) { return need_.weights.empty() ? 1u : need_.weights[i]; };
  std::uint64_t round = 0;
  for (std::size_t i = 0; i < need_.nodes.size(); ++i)
    round += weight(i);
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < need_.nodes.size(); first += weight(i), ++i) {
    const PreferNode prefer(need_.nodes[i]);
    if (!prefer.ok())
      return Error{Errc::kInvalidOption, "node " + std::to_string(need_.nodes[i]) + " of region " +
                                             need_.name + ": " + errno_text()};
    for (auto turn = first; turn < pages; turn += round) {
      if (interrupted()) return interruption();
      for (auto at = turn; at < std::min(pages, turn + weight(i)); ++at) {
        if (const int code = memory_detail::populate(data() + at * page, page, true)) {
          return Error{Errc::kNoSpace, "node " + std::to_string(need_.nodes[i]) + " of region " +
                                           need_.name + ": " + std::strerror(code)};
        }
      }
    }
  }
  return {};
}

void Tier::examine() {
  const auto obtained = memory_detail::pages_obtained(data(), bytes());
  resident_bytes_ = obtained.resident_bytes;
  huge_bytes_ = obtained.huge_bytes;
  if (resident_bytes_ < bytes()) {
    warnings_.push_back("only " + format_bytes(resident_bytes_) + " of " + format_bytes(bytes()) +
                        " are present after prefaulting: page faults will be measured");
  }
  if (need_.nodes.empty()) return;
  // Which node really holds how much, from a sample of its pages.
  constexpr std::uint64_t kSamples = 4096;
  const auto samples = std::min(kSamples, bytes() / kPageBytes);
  std::vector<void*> addresses(samples);
  for (std::uint64_t i = 0; i < samples; ++i)
    addresses[i] = data() + bytes() / samples * i / kPageBytes * kPageBytes;
  std::vector<int> status(samples, -1);
  if (::syscall(SYS_move_pages, 0, samples, addresses.data(), nullptr, status.data(), 0) != 0)
    return;
  const double total = std::accumulate(need_.weights.begin(), need_.weights.end(), 0.0) +
                       (need_.weights.empty() ? static_cast<double>(need_.nodes.size()) : 0.0);
  for (std::size_t i = 0; i < need_.nodes.size(); ++i) {
    const auto count = std::count(status.begin(), status.end(), need_.nodes[i]);
    const auto share = static_cast<double>(count) / static_cast<double>(samples);
    node_shares_.push_back(share);
    const auto wanted = (need_.weights.empty() ? 1 : need_.weights[i]) / total;
    if (std::abs(share - wanted) > 0.05) {
      warnings_.push_back("node " + std::to_string(need_.nodes[i]) + " holds " +
                          std::to_string(static_cast<int>(share * 100)) + " % of the pages, not " +
                          std::to_string(static_cast<int>(wanted * 100)) + " %");
    }
  }
}

results::Fields Tier::fields() const {
  results::Fields fields;
  fields.set("name", need_.name);
  fields.set("spec", need_.spec);
  fields.set("kind", report_.kind);
  if (!report_.file_system.empty()) fields.set("file_system", report_.file_system);
  fields.set("bytes", bytes());
  fields.set("resident_bytes", resident_bytes_);
  fields.set("huge_bytes", huge_bytes_);
  fields.set("page_bytes", report_.page_bytes);
  fields.set("page_reason", report_.page_reason);
  fields.set("mapping", report_.mapping);
  fields.set("granularity", holdfast::name(report_.granularity));
  fields.set("granularity_source", report_.granularity_source);
  fields.set("nt_evicts", report_.nt_evicts);
  fields.set("numa_nodes", std::vector<double>(report_.nodes.begin(), report_.nodes.end()));
  if (!node_shares_.empty()) fields.set("numa_node_shares", node_shares_);
  fields.set("durability", durability_of_stores(report_));
  if (!warnings_.empty()) fields.set("warnings", warnings_);
  return fields;
}

void Tier::prepare_content(std::uint64_t range_bytes, bool every_word, unsigned threads) {
  const bool usable = content_ == Content::kExact || (content_ == Content::kTagged && !every_word);
  if (usable && content_bytes_ >= range_bytes) return;
  fill_content(data(), bytes(), threads);
  content_ = Content::kExact;
  content_bytes_ = bytes();
}

void Tier::prepare_chase(std::uint64_t range_bytes, std::uint64_t window_bytes, std::uint64_t seed,
                         unsigned threads) {
  if (content_ == Content::kChase && content_bytes_ == range_bytes &&
      chase_window_ == window_bytes && chase_seed_ == seed) {
    return;
  }
  chase_starts_ = link_chase(data(), range_bytes, window_bytes, seed, threads);
  content_ = Content::kChase;
  content_bytes_ = range_bytes;
  chase_window_ = window_bytes;
  chase_seed_ = seed;
}

void fill_content(std::byte* base, std::uint64_t bytes, unsigned threads) {
  constexpr std::uint64_t kPiece = 2 * MiB;
  const auto& kernels = best_kernels();
  in_parallel(bytes / kPiece, threads, [&](std::uint64_t piece) {
    Accesses block;
    block.base = base;
    block.first_byte = piece * kPiece;
    block.step_bytes = 512;
    block.count = kPiece / 512;
    block.lines = 8;
    kernels.write[0][3][static_cast<std::size_t>(Flush::kNonTemporal)][0](block);
    fence();
  });
}

std::vector<std::uint64_t> link_chase(std::byte* base, std::uint64_t range_bytes,
                                      std::uint64_t window_bytes, std::uint64_t seed,
                                      unsigned threads) {
  constexpr auto kChaseStarts = Tier::kChaseStarts;
  const auto lines = range_bytes / kCacheLineBytes;
  const auto window = window_bytes == 0 ? lines : window_bytes / kCacheLineBytes;
  const auto windows = lines / window;
  // The order in which lines are visited: windows shuffled, then the lines of each. Any
  // permutation, read as an order of visits, is one cycle.
  const auto order = std::make_unique<std::uint32_t[]>(lines);
  std::vector<std::uint32_t> window_order(windows);
  std::iota(window_order.begin(), window_order.end(), 0u);
  const auto shuffle = [](std::uint32_t* items, std::uint64_t count, std::uint64_t shuffle_seed) {
    Random random(shuffle_seed);
    for (auto i = count; i > 1; --i)
      std::swap(items[i - 1], items[random.below(i)]);
  };
  shuffle(window_order.data(), windows, seed);
  in_parallel(windows, threads, [&](std::uint64_t i) {
    auto* items = order.get() + i * window;
    std::iota(items, items + window,
              static_cast<std::uint32_t>(std::uint64_t{window_order[i]} * window));
    shuffle(items, window, mix64(seed + i + 1));
  });
  constexpr std::uint64_t kPiece = 1 << 16;
  in_parallel((lines + kPiece - 1) / kPiece, threads, [&](std::uint64_t piece) {
    const auto end = std::min(lines, (piece + 1) * kPiece);
    for (auto position = piece * kPiece; position < end; ++position) {
      auto* line = reinterpret_cast<std::uint64_t*>(base + order[position] * kCacheLineBytes);
      const auto next = position + 1 == lines ? 0 : position + 1;
      line[0] = order[next] * kCacheLineBytes;
      line[1] = position;
    }
  });
  std::vector<std::uint64_t> starts(kChaseStarts);
  for (std::uint64_t i = 0; i < kChaseStarts; ++i)
    starts[i] =
        order[lines / kChaseStarts * i + lines % kChaseStarts * i / kChaseStarts] * kCacheLineBytes;
  return starts;
}

}  // namespace holdfast::bench::memory
