// Suite page: what it costs to write a page back whole, by number of changed lines, beside the bare
// stores of these lines and one fence, and libpmemblk.
#include <holdfast/bench/blocks/page_suite.hpp>

#include <array>
#include <string>
#include <vector>

#include <holdfast/baselines/checksum_pages.hpp>

namespace holdfast::bench::blocks {
namespace {

using baselines::ChecksumPages;
using baselines::ChecksumPagesOptions;
using holdfast::blocks::FlushMethod;
using holdfast::blocks::InDram;
using holdfast::blocks::LineSet;
using holdfast::blocks::PageFlush;
using holdfast::blocks::PageId;
using holdfast::blocks::PageStore;
using holdfast::blocks::PageStoreOptions;

class PageSubject : public BlockSubject {
 public:
  PageSubject(const Context& context, const PageShape& shape, std::shared_ptr<DramPages> pages)
      : BlockSubject(context), shape_(shape), pages_(std::move(pages)) {}

  results::Fields facts() const override {
    results::Fields facts;
    facts.set("pages", shape_.pages);
    return facts;
  }
  Status run(PhaseThread& thread) override {
    PageChanges changes(shape_, *pages_, thread.index(), thread.phase().threads,
                        context_.options.seed + thread.phase().number * 1000);
    return timed_loop(thread, 8, 1, shape_.page_bytes, [&](std::uint64_t) {
      const auto& change = changes.next();
      if (const auto status = flush(change); !status) thread.wrong(status.error().message());
    });
  }
  Status after(const Phase& phase) override {
    return pages_->compare(phase.number, [&](std::uint64_t page, std::span<std::byte> out) {
      return read(page, out);
    });
  }

 protected:
  virtual Status flush(const PageChanges::Change& change) = 0;
  virtual Status read(std::uint64_t page, std::span<std::byte> out) = 0;

  const PageShape shape_;
  const std::shared_ptr<DramPages> pages_;
};

// The floor: the changed lines to their place, one fence. A crash leaves any of them.
class PageFenceSubject final : public PageSubject {
 public:
  using PageSubject::PageSubject;
  Status create() override {
    for (std::uint64_t page = 0; page < shape_.pages; ++page)
      persist().copy(at(page), pages_->page(page), shape_.page_bytes);
    return {};
  }

 private:
  std::byte* at(std::uint64_t page) const { return memory() + page * shape_.page_bytes; }
  Status flush(const PageChanges::Change& change) override {
    change.dirty.for_each_run([&](std::uint32_t first, std::uint32_t lines) {
      const auto offset = first * kCacheLineBytes;
      persist().stream(at(change.page) + offset, change.content + offset, lines * kCacheLineBytes);
    });
    persist().fence();
    return {};
  }
  Status read(std::uint64_t page, std::span<std::byte> out) override {
    std::memcpy(out.data(), at(page), out.size());
    return {};
  }
};

// In a store of pages over the whole region.
template <class Store, class Options>
class InStore : public PageSubject {
 public:
  InStore(const Context& context, const PageShape& shape, std::shared_ptr<DramPages> pages,
          const Options& options = {})
      : PageSubject(context, shape, std::move(pages)), options_(options) {
    options_.page_bytes = shape.page_bytes;
    options_.pages = shape.pages;
  }
  Status create() override {
    std::memset(memory(), 0, kPageBytes);  // Nothing of the one before.
    HF_ASSIGN_OR_RETURN(
        store_, Store::create(context_.region, holdfast::blocks::whole(context_.region), options_));
    for (std::uint32_t page = 0; page < shape_.pages; ++page)
      HF_RETURN_IF_ERROR(store_->flush(PageId{page}, {pages_->page(page), shape_.page_bytes}));
    return {};
  }
  void destroy() override { store_.reset(); }

 protected:
  std::unique_ptr<Store> store_;

 private:
  Status flush(const PageChanges::Change& change) override {
    return store_->flush({PageId{static_cast<std::uint32_t>(change.page)}, change.content,
                          &change.dirty, shape_.in_dram});
  }
  Status read(std::uint64_t page, std::span<std::byte> out) override {
    return store_->read(PageId{static_cast<std::uint32_t>(page)}, out);
  }

  Options options_;
};

class StoreSubject final : public InStore<PageStore, PageStoreOptions> {
 public:
  StoreSubject(const Context& context, const PageShape& shape, std::shared_ptr<DramPages> pages,
               FlushMethod method)
      : InStore(context, shape, std::move(pages), by(method)) {}
  results::Fields facts() const override {
    auto facts = PageSubject::facts();
    facts.set("method_alone", name(store_->method_for(shape_.dirty_lines, shape_.in_dram)));
    return facts;
  }

 private:
  static PageStoreOptions by(FlushMethod method) {
    PageStoreOptions options;
    options.method = method;
    return options;
  }
};

// In place with a checksum: one fence, torn pages are found but not mended.
using ChecksumSubject = InStore<ChecksumPages, ChecksumPagesOptions>;

// Copy-on-write without versions (section 3.2.2), for what they save: the new slot must be the
// page's before the old one stops being it, so there are three fences. A crash between the last two
// leaves two whole slots of one page, of which recovery would keep either and durably drop the
// other. One free slot per thread; which slot is a page's is known from DRAM.
class CowNoVersionSubject final : public PageSubject {
 public:
  using PageSubject::PageSubject;
  Status create() override {
    slots_.resize(shape_.pages);
    for (std::uint64_t page = 0; page < shape_.pages; ++page) {
      slots_[page] = page;
      persist().store(owner(page), page + 1);
      persist().copy(data(page), pages_->page(page), shape_.page_bytes);
    }
    for (std::uint64_t thread = 0; thread < free_.size(); ++thread)
      free_[thread].slot = shape_.pages + thread;
    return {};
  }
  Status before(const Phase& phase) override {
    threads_ = phase.threads;
    return {};
  }

 private:
  // Headers of a line, then slots. The free slots lie behind the pages'.
  std::uint64_t* owner(std::uint64_t slot) const {
    return reinterpret_cast<std::uint64_t*>(memory() + slot * kCacheLineBytes);
  }
  std::byte* data(std::uint64_t slot) const {
    return memory() + round_up((shape_.pages + free_.size()) * kCacheLineBytes, kPageBytes) +
           slot * shape_.page_bytes;
  }
  Status flush(const PageChanges::Change& change) override {
    auto& spare = free_[change.page % threads_].slot;
    const auto old = slots_[change.page];
    persist().stream(data(spare), change.content, shape_.page_bytes);
    persist().fence();
    persist().store(owner(spare), change.page + 1);
    persist().persist(owner(spare), sizeof(std::uint64_t));
    persist().store(owner(old), 0);
    persist().persist(owner(old), sizeof(std::uint64_t));
    slots_[change.page] = spare;
    spare = old;
    return {};
  }
  Status read(std::uint64_t page, std::span<std::byte> out) override {
    if (*owner(slots_[page]) != page + 1)
      return Error{Errc::kCorrupt, "wrong: page " + std::to_string(page) + " has no slot"};
    std::memcpy(out.data(), data(slots_[page]), out.size());
    return {};
  }

  struct alignas(kCacheLineBytes) Free {
    std::uint64_t slot = 0;
  };
  std::array<Free, 64> free_;  // By thread.
  std::vector<std::uint64_t> slots_;
  unsigned threads_ = 1;
};

}  // namespace

std::vector<Experiment> page_experiments(const Context& context) {
  PageShape shape;
  // Beyond the caches on both sides where the region allows it: 128 MiB of pages.
  shape.pages =
      std::min<std::uint64_t>(context.options.region_bytes / 2, 128 * MiB) / shape.page_bytes;
  // Filled once, and kept from experiment to experiment: what counts is that all agree with it.
  const auto pages = std::make_shared<DramPages>(shape);
  std::vector<Experiment> experiments;
  for (const auto in_dram : {InDram::kWholePage, InDram::kDirtyLines}) {
    for (const std::uint32_t dirty_lines :
         points(context.options, {1u, 4u, 8u, 16u, 32u, 64u, 128u, 256u})) {
      shape.dirty_lines = dirty_lines;
      shape.in_dram = in_dram;
      const bool whole_page = in_dram == InDram::kWholePage;
      if (!whole_page && dirty_lines == 256) continue;  // No clean lines: the same as above.
      Experiment experiment;
      experiment.name = "page 16 KiB " + std::to_string(dirty_lines) +
                        (dirty_lines == 1 ? " dirty line" : " dirty lines") +
                        (whole_page ? "" : " only in DRAM");
      experiment.what = "Section 3.2.4, figure 7: page flush by dirty lines and by threads";
      experiment.part = whole_page ? "page" : "page, only dirty lines in DRAM";
      experiment.parameters.set("page_bytes", shape.page_bytes);
      experiment.parameters.set("dirty_lines", dirty_lines);
      experiment.parameters.set("in_dram", whole_page ? "whole page" : "dirty lines");
      auto& subjects = experiment.plan.subjects;
      subjects.push_back(subject_entry<PageFenceSubject>("fence", context, shape, pages));
      subjects.push_back(
          subject_entry<StoreSubject>("cow", context, shape, pages, FlushMethod::kCopyOnWrite));
      subjects.push_back(
          subject_entry<StoreSubject>("ulog", context, shape, pages, FlushMethod::kMicroLog));
      subjects.push_back(
          subject_entry<StoreSubject>("hybrid", context, shape, pages, FlushMethod::kHybrid));
      if (whole_page) {
        subjects.push_back(
            subject_entry<CowNoVersionSubject>("cow-no-version", context, shape, pages));
        subjects.push_back(subject_entry<ChecksumSubject>("checksum", context, shape, pages));
        subjects.push_back(module_entry<const PageShape&, std::shared_ptr<DramPages>>(
            "libpmemblk", "libpmemblk", context, shape, pages));
      }
      experiment.plan.operations = {{"flush_page", {}}};
      experiment.plan.baseline = "fence";
      experiments.push_back(std::move(experiment));
    }
  }
  return experiments;
}

}  // namespace holdfast::bench::blocks
