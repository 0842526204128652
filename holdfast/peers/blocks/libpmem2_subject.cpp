// libpmem2 (PMDK 1.12) in suite pmdk, at each of its three granularities, in one process.
//
// Byte and line: pmem2_map_from_existing() takes the granularity as given, so both work on the
// region's own memory. Page: a map made this way hangs in msync of no bytes (1.12.1: it counts what
// is left by the length it reserved itself, which is none), so the peer maps a file of its own;
// there the library decides, and on a file system for which it finds lines or bytes the row says
// so. PMEM2_FORCE_GRANULARITY is not used: it would hold for the whole process.
#include <fcntl.h>
#include <libpmem2.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>
#include <holdfast/peers/blocks/pmdk_bytes.hpp>

namespace holdfast::bench::blocks {
namespace {

using O = ByteOperation;

struct Libpmem2Calls : ByteCalls {
  explicit Libpmem2Calls(const std::string& granularity) : granularity_(granularity) {}

  Status open(const Context& context, const ByteShape& shape) {
    HF_RETURN_IF_ERROR(check_pmdk_environment(context));
    const auto status = granularity_ == "page" ? map_file(context, shape) : map_region(context);
    if (!status) return status;
    flush_ = ::pmem2_get_flush_fn(map_);
    persist_ = ::pmem2_get_persist_fn(map_);
    drain_ = ::pmem2_get_drain_fn(map_);
    copy_ = ::pmem2_get_memcpy_fn(map_);
    set_ = ::pmem2_get_memset_fn(map_);
    return {};
  }
  void close() {
    if (map_ != nullptr) ::pmem2_map_delete(&map_);
    if (source_ != nullptr) ::pmem2_source_delete(&source_);
    map_ = nullptr, source_ = nullptr;
    if (!path_.empty()) ::unlink(path_.c_str());
    path_.clear();
  }
  bool has(O operation) const {
    return operation != O::kMemcpy && operation != O::kMemset && operation != O::kMsync &&
           operation != O::kDeepPersist && operation != O::kUnknown;
  }
  std::byte* area(const Context&) const {
    return static_cast<std::byte*>(::pmem2_map_get_address(map_));
  }
  results::Fields facts(const Context& context) const {
    results::Fields facts;
    facts.set("store_granularity", granularity_);
    facts.set("mapped", granularity_ == "page" ? "a file of its own" : "the region");
    add_pmdk_facts(facts, context);
    if (granularity_ == "page") pages_.add_facts(facts);
    return facts;
  }
  bool flush(std::byte* to, std::size_t bytes) const { return flush_(to, bytes), true; }
  bool persist(std::byte* to, std::size_t bytes) const { return persist_(to, bytes), true; }
  void copy_nodrain(std::byte* to, const std::byte* from, std::size_t bytes) const {
    copy_(to, from, bytes, PMEM2_F_MEM_NODRAIN);
  }
  void copy_persist(std::byte* to, const std::byte* from, std::size_t bytes) const {
    copy_(to, from, bytes, 0);
  }
  void set_nodrain(std::byte* to, unsigned char byte, std::size_t bytes) const {
    set_(to, byte, bytes, PMEM2_F_MEM_NODRAIN);
  }
  void set_persist(std::byte* to, unsigned char byte, std::size_t bytes) const {
    set_(to, byte, bytes, 0);
  }
  void drain() const {
    if (drain_ != nullptr) drain_();
  }

 private:
  static Error failed(const char* call) {
    return {Errc::kIo, std::string(call) + ": " + ::pmem2_errormsg()};
  }
  Status map_region(const Context& context) {
    const auto bytes = context.options.region_bytes;
    if (::pmem2_source_from_anon(&source_, bytes) != 0) return failed("pmem2_source_from_anon");
    if (::pmem2_map_from_existing(
            &map_, source_, context.region.data(), bytes,
            granularity_ == "byte" ? PMEM2_GRANULARITY_BYTE : PMEM2_GRANULARITY_CACHE_LINE) != 0)
      return failed("pmem2_map_from_existing");
    return {};
  }
  Status map_file(const Context& context, const ByteShape& shape) {
    path_ = context.peer_directory + "/pmem2";
    unsigned threads = 1;
    for (const auto count : context.options.threads)
      threads = std::max(threads, count);
    const auto bytes = round_up(threads * shape.area_bytes, 2 * MiB);
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) {
      if (file >= 0) ::close(file);
      return Error{Errc::kIo, "making " + path_ + " of " + std::to_string(bytes) + " bytes"};
    }
    pmem2_config* config = nullptr;
    const bool mapped =
        ::pmem2_source_from_fd(&source_, file) == 0 && ::pmem2_config_new(&config) == 0 &&
        ::pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_PAGE) == 0 &&
        ::pmem2_map_new(&map_, config, source_) == 0;
    const auto error = failed("pmem2_map_new");
    if (config != nullptr) ::pmem2_config_delete(&config);
    ::close(file);
    if (!mapped) return error;
    if (::pmem2_map_get_store_granularity(map_) != PMEM2_GRANULARITY_PAGE)
      return Error{Errc::kUnsupported, "libpmem2 finds a finer granularity than a page for " +
                                           path_ +
                                           "; give a --peer-directory on a tmpfs or a disk"};
    pages_.obtain(context, ::pmem2_map_get_address(map_), bytes);
    std::memset(::pmem2_map_get_address(map_), 1, bytes);  // Every page present, as the region's.
    return {};
  }

  std::string granularity_, path_;
  PoolPages pages_;
  pmem2_source* source_ = nullptr;
  pmem2_map* map_ = nullptr;
  pmem2_flush_fn flush_ = nullptr;
  pmem2_persist_fn persist_ = nullptr;
  pmem2_drain_fn drain_ = nullptr;
  pmem2_memcpy_fn copy_ = nullptr;
  pmem2_memset_fn set_ = nullptr;
};

SubjectEntry entry(const Context& context, const ByteShape& shape, const std::string& granularity) {
  return byte_entry("libpmem2-" + granularity, context, shape, Libpmem2Calls(granularity));
}

const modules::Offer offer{"libpmem2", entry};

}  // namespace
}  // namespace holdfast::bench::blocks
