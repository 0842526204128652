// libpmemblk of PMDK 1.12, the peer of suite page. Loaded at run time: libpmem reads its settings
// when it is loaded, and they must say that this medium is to be taken for persistent memory, and
// which stores to use (the same as ours: DESIGN.md, section 3).
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <holdfast/bench/blocks/page_suite.hpp>

namespace holdfast::bench::blocks {
namespace {

struct Library {
  void* (*create)(const char* path, std::size_t block_bytes, std::size_t pool_bytes, mode_t mode);
  void (*close)(void* pool);
  int (*write)(void* pool, const void* content, long long block);
  int (*read)(void* pool, void* content, long long block);
  int (*is_pmem)(const void* address, std::size_t bytes);
  std::string missing;  // Empty, or why there is none.
};

Library load(bool nt_evicts) {
  Library library{};
  ::setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  if (!nt_evicts) ::setenv("PMEM_NO_MOVNT", "1", 1);
  void* const handle = ::dlopen("libpmemblk.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.missing = "libpmemblk1 is not installed";
    return library;
  }
  const auto find = [&](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, symbol));
    if (function == nullptr) library.missing = std::string("libpmemblk has no ") + symbol;
  };
  find(library.create, "pmemblk_create");
  find(library.close, "pmemblk_close");
  find(library.write, "pmemblk_write");
  find(library.read, "pmemblk_read");
  find(library.is_pmem, "pmem_is_pmem");  // Of libpmem, which it depends on.
  return library;
}

class PmemblkSubject final : public BlockSubject {
 public:
  PmemblkSubject(const Context& context, const PageShape& shape, std::shared_ptr<DramPages> pages,
                 const Library& library)
      : BlockSubject(context), shape_(shape), pages_(std::move(pages)), library_(library) {}
  ~PmemblkSubject() override { destroy(); }

  Status create() override {
    path_ = context_.peer_directory + "/pages.pmemblk";
    // Some 3 % of it are the library's own tables.
    const auto bytes = round_up(shape_.pages * shape_.page_bytes * 17 / 16 + 32 * MiB, 2 * MiB);
    pool_ = library_.create(path_.c_str(), shape_.page_bytes, bytes, 0600);
    if (pool_ == nullptr) return Error{Errc::kIo, "pmemblk_create: " + path_};
    if (library_.is_pmem(pool_, kPageBytes) == 0)
      return Error{Errc::kUnsupported,
                   "libpmem was loaded before PMEM_IS_PMEM_FORCE was set and would use msync"};
    for (std::uint64_t page = 0; page < shape_.pages; ++page) {
      if (library_.write(pool_, pages_->page(page), static_cast<long long>(page)) != 0)
        return Error{Errc::kIo, "pmemblk_write"};
    }
    return {};
  }
  bool counts_persists() const override { return false; }
  Fields facts() const override {
    Fields facts;
    facts.set("page_bytes", shape_.page_bytes);
    facts.set("dirty_lines", shape_.dirty_lines);
    facts.set("in_dram", "whole page");
    facts.set("pages", shape_.pages);
    return facts;
  }
  Status run(PhaseThread& thread) override {
    PageChanges changes(shape_, *pages_, thread.index(), thread.phase().threads,
                        context_.options.seed + thread.phase().number * 1000);
    return timed_loop(thread, 8, 1, shape_.page_bytes, [&](std::uint64_t) {
      const auto& change = changes.next();
      if (library_.write(pool_, change.content, static_cast<long long>(change.page)) != 0)
        thread.wrong("pmemblk_write failed");
    });
  }
  Status after(const Phase& phase) override {
    std::vector<std::byte> found(shape_.page_bytes);
    for (std::uint64_t page = phase.number % 16; page < shape_.pages; page += 16) {
      if (library_.read(pool_, found.data(), static_cast<long long>(page)) != 0 ||
          std::memcmp(found.data(), pages_->page(page), found.size()) != 0)
        return Error{Errc::kCorrupt, "wrong: pmemblk_read of page " + std::to_string(page)};
    }
    return {};
  }
  void destroy() override {
    if (pool_ != nullptr) library_.close(std::exchange(pool_, nullptr));
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  const PageShape shape_;
  const std::shared_ptr<DramPages> pages_;
  const Library& library_;
  std::string path_;
  void* pool_ = nullptr;
};

}  // namespace

SubjectEntry pmemblk_entry(const Context& context, const PageShape& shape,
                           std::shared_ptr<DramPages> pages) {
  static const Library library = load(context.region.persist().nt_evicts());
  if (!library.missing.empty()) return {"libpmemblk", {}, library.missing};
  return {"libpmemblk",
          [&context, shape, pages](unsigned) -> std::unique_ptr<Subject> {
            return std::make_unique<PmemblkSubject>(context, shape, pages, library);
          },
          ""};
}

}  // namespace holdfast::bench::blocks
