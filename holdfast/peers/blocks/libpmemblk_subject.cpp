// libpmemblk of PMDK 1.12, the peer of suite page: an array of blocks, each written as a whole or
// not at all by way of a free block and a map entry.
#include <libpmemblk.h>
#include <unistd.h>

#include <string>
#include <utility>

#include <holdfast/bench/blocks/page_suite.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>

namespace holdfast::bench::blocks {
namespace {

class PmemblkSubject final : public BlockSubject {
 public:
  PmemblkSubject(const Context& context, const PageShape& shape, std::shared_ptr<DramPages> pages)
      : BlockSubject(context), shape_(shape), pages_(std::move(pages)) {}
  ~PmemblkSubject() override { destroy(); }

  Status create() override {
    HF_RETURN_IF_ERROR(check_pmdk_environment(context_));
    path_ = context_.peer_directory + "/pages.pmemblk";
    // Some 3 % of it are the library's own tables.
    const auto bytes = round_up(shape_.pages * shape_.page_bytes * 17 / 16 + 32 * MiB, 2 * MiB);
    pool_ = ::pmemblk_create(path_.c_str(), shape_.page_bytes, bytes, 0600);
    if (pool_ == nullptr)
      return Error{Errc::kIo, "pmemblk_create " + path_ + ": " + ::pmemblk_errormsg()};
    pool_pages_.obtain(context_, pool_, bytes);
    for (std::uint64_t page = 0; page < shape_.pages; ++page) {
      if (::pmemblk_write(pool_, pages_->page(page), static_cast<long long>(page)) != 0)
        return Error{Errc::kIo, "pmemblk_write"};
    }
    return {};
  }
  bool counts_persists() const override { return false; }
  results::Fields facts() const override {
    results::Fields facts;
    facts.set("pages", shape_.pages);
    add_pmdk_facts(facts, context_);
    pool_pages_.add_facts(facts);
    return facts;
  }
  Status run(PhaseThread& thread) override {
    PageChanges changes(shape_, *pages_, thread.index(), thread.phase().threads,
                        context_.options.seed + thread.phase().number * 1000);
    return timed_loop(thread, 8, 1, shape_.page_bytes, [&](std::uint64_t) {
      const auto& change = changes.next();
      if (::pmemblk_write(pool_, change.content, static_cast<long long>(change.page)) != 0)
        thread.wrong("pmemblk_write failed");
    });
  }
  Status after(const Phase& phase) override {
    std::vector<std::byte> found(shape_.page_bytes);
    for (std::uint64_t page = phase.number % 16; page < shape_.pages; page += 16) {
      if (::pmemblk_read(pool_, found.data(), static_cast<long long>(page)) != 0 ||
          std::memcmp(found.data(), pages_->page(page), found.size()) != 0)
        return Error{Errc::kCorrupt, "wrong: pmemblk_read of page " + std::to_string(page)};
    }
    return {};
  }
  void destroy() override {
    if (pool_ != nullptr) ::pmemblk_close(std::exchange(pool_, nullptr));
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  const PageShape shape_;
  const std::shared_ptr<DramPages> pages_;
  std::string path_;
  PMEMblkpool* pool_ = nullptr;
  PoolPages pool_pages_;
};

SubjectEntry entry(const Context& context, const PageShape& shape,
                   std::shared_ptr<DramPages> pages) {
  return subject_entry<PmemblkSubject>("libpmemblk", context, shape, pages);
}

const modules::Offer offer{"libpmemblk", entry};

}  // namespace
}  // namespace holdfast::bench::blocks
