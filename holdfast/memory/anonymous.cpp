// A region in anonymous memory: "dram", or bound to one NUMA node, or in stripes to several. It
// ends with its Region.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include <holdfast/memory/backings.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast::memory_detail {
namespace {

class AnonymousBacking final : public MappedBacking {
 public:
  AnonymousBacking(const RegionSpec& spec, const RegionOptions& options)
      : MappedBacking(spec, options) {
    kind_ = spec.kind == RegionSpec::Kind::kNode ? "node" : "dram";
  }

  Status open() {
    if (options_.access == RegionAccess::kOpen || options_.access == RegionAccess::kOpenReadOnly) {
      return Error{Errc::kNotFound, spec_.text +
                                        " is anonymous memory: it starts empty, and nothing "
                                        "is there to be opened; create it"};
    }
    medium_.granularity = spec_.granularity.value_or(Granularity::kNone);
    medium_.granularity_source =
        spec_.granularity ? "assumed (granularity=" + std::string(name(medium_.granularity)) +
                                "); found: none, anonymous memory"
                          : "anonymous memory";
    if (medium_.granularity == Granularity::kPage) {
      return Error{Errc::kUnsupported, spec_.text +
                                           ": anonymous memory has no file to write pages "
                                           "to; granularity byte, line or none is possible"};
    }
    if (spec_.kind == RegionSpec::Kind::kNode) HF_RETURN_IF_ERROR(check_nodes());
    mapping_ = "MAP_PRIVATE anonymous";
    unit_bytes_ = options_.unit_bytes;
    HF_RETURN_IF_ERROR(reserve(options_.size_bytes));
    return grow(options_.size_bytes);
  }

  Status grow(std::uint64_t new_size_bytes) override {
    HF_RETURN_IF_ERROR(reserve_up_to(new_size_bytes));
    const auto offset = size_bytes();
    auto status = map(offset, new_size_bytes - offset);
    if (!status) {
      static_cast<void>(addresses_.release(offset, new_size_bytes - offset));
      return status;
    }
    size_bytes_.store(new_size_bytes, std::memory_order_release);
    return {};
  }

  Status shrink(std::uint64_t new_size_bytes) override {
    const auto size = size_bytes();
    size_bytes_.store(new_size_bytes, std::memory_order_release);
    return addresses_.release(new_size_bytes, size - new_size_bytes);
  }

  RegionReport report() const override {
    auto report = MappedBacking::report();
    if (spec_.huge == HugePages::k2M && report.page_bytes < kHugePageBytes) {
      report.page_reason.append("; not from the pool: ").append(pool_refusal_);
    }
    return report;
  }

 private:
  std::string no_giant_reason() const override { return pool_refusal_; }

  Status check_nodes() const {
    for (const int node : spec_.nodes) {
      const auto name = "node" + std::to_string(node);
      struct stat status{};
      if (::stat(("/sys/devices/system/node/" + name).c_str(), &status) == 0) continue;
      const auto online = read_text("/sys/devices/system/node/online");
      return Error{Errc::kInvalidOption, spec_.text + ": there is no NUMA node " +
                                             std::to_string(node) + "; here are " +
                                             (online.empty() ? "none" : online)};
    }
    return {};
  }

  Status bind(std::uint64_t offset, std::uint64_t bytes) const {
    if (spec_.kind != RegionSpec::Kind::kNode) return {};
    if (spec_.nodes.size() == 1) return bind_to(spec_.nodes[0], offset, bytes);
    for (const auto end = offset + bytes; offset < end;) {
      const auto stripe = offset / kNodeStripeBytes;
      const auto to = std::min(end, (stripe + 1) * kNodeStripeBytes);
      HF_RETURN_IF_ERROR(bind_to(spec_.nodes[stripe % spec_.nodes.size()], offset, to - offset));
      offset = to;
    }
    return {};
  }

  Status bind_to(int node, std::uint64_t offset, std::uint64_t bytes) const {
    constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);
    std::vector<unsigned long> mask(static_cast<std::size_t>(node) / kWordBits + 1, 0);
    mask.back() = 1ul << (static_cast<std::size_t>(node) % kWordBits);
    if (::syscall(SYS_mbind, at(offset), bytes, MPOL_BIND, mask.data(), mask.size() * kWordBits + 1,
                  0) != 0) {
      return system_error("mbind to", spec_.text, errno);
    }
    return {};
  }

  // From the pool of huge pages, all of them present at once: a pool page that turns out to be
  // missing later would be a SIGBUS. False if that cannot be.
  bool map_from_pool(std::uint64_t offset, std::uint64_t bytes, std::uint64_t page_bytes) {
    const auto directory =
        "/sys/kernel/mm/hugepages/hugepages-" + std::to_string(page_bytes / KiB) + "kB/";
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB |
                      (std::countr_zero(page_bytes) << MAP_HUGE_SHIFT);
    pool_refusal_.clear();
    if (spec_.nodes.size() > 1 && page_bytes > kNodeStripeBytes) {
      pool_refusal_ = "stripes over several nodes have " + std::to_string(kNodeStripeBytes) +
                      " bytes, less than a page";
    } else if (offset % page_bytes != 0 || bytes % page_bytes != 0) {
      pool_refusal_ =
          "size and unit are no multiples of the page of " + std::to_string(page_bytes) + " bytes";
    } else if (::mmap(at(offset), bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
      pool_refusal_ = directory + "free_hugepages is " + read_text(directory + "free_hugepages") +
                      ", too few for " + std::to_string(bytes) + " bytes";
    } else if (auto bound = bind(offset, bytes); !bound) {
      pool_refusal_ = bound.error().detail;
    } else if (populate(at(offset), bytes, true) != 0) {
      pool_refusal_ = "the pool of huge pages has none left on this node";
    } else {
      return true;
    }
    static_cast<void>(addresses_.release(offset, bytes));
    return false;
  }

  Status map(std::uint64_t offset, std::uint64_t bytes) {
    if (spec_.huge == HugePages::k1G && map_from_pool(offset, bytes, kGiantPageBytes)) {
      mapping_ = "MAP_PRIVATE anonymous, MAP_HUGETLB 1 GiB";
      return {};
    }
    if (spec_.huge == HugePages::k2M && map_from_pool(offset, bytes, kHugePageBytes)) {
      mapping_ = "MAP_PRIVATE anonymous, MAP_HUGETLB 2 MiB";
      return {};
    }
    if (::mmap(at(offset), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
               -1, 0) == MAP_FAILED) {
      return system_error("mmap of " + std::to_string(bytes) + " bytes for", spec_.text, errno);
    }
    HF_RETURN_IF_ERROR(bind(offset, bytes));
    advise_pages(at(offset), bytes, spec_.huge);
    if (!options_.prefault) return {};
    if (const int error_number = populate(at(offset), bytes, true)) {
      return system_error("prefault of", spec_.text, error_number);
    }
    make_pages_huge(offset, bytes);
    return {};
  }

  std::string pool_refusal_;
};

}  // namespace

Result<std::unique_ptr<Backing>> open_anonymous(const RegionSpec& spec,
                                                const RegionOptions& options) {
  auto backing = std::make_unique<AnonymousBacking>(spec, options);
  HF_RETURN_IF_ERROR(backing->open());
  return std::unique_ptr<Backing>(std::move(backing));
}

}  // namespace holdfast::memory_detail
