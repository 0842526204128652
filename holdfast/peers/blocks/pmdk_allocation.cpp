// Suite pmdk, allocation: Holdfast has no allocator of loose objects. Nearest to one are a page
// that did not exist (PageStore, from 64 B) and a record of the key-value store; both find what
// they hold again by a name after a crash, which an allocation alone does not, and both write it.
#include <filesystem>
#include <optional>

#include <holdfast/blocks/page/page_store.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/peers/blocks/pmdk_suite.hpp>

namespace holdfast::bench::blocks {
namespace {

using holdfast::blocks::PageId;
using holdfast::blocks::PageStore;

// Objects have numbers: thread t has those from t x share on. alloc(number) makes one that holds
// its stamp, free(number) ends it.
class AllocationSubject : public BlockSubject {
 public:
  AllocationSubject(const Context& context, const AllocationShape& shape)
      : BlockSubject(context), shape_(shape) {}
  bool supports(const std::string& operation) const override {
    return operation == "alloc" || operation == "free";
  }
  std::uint64_t operations_bound(const std::string&) const override { return shape_.objects; }
  results::Fields facts() const override {
    auto facts = shape_.facts();
    facts.set("calls", calls());
    return facts;
  }
  // `alloc` begins with nothing, `free` with all.
  Status before(const Phase& phase) override {
    done_.assign(phase.threads, 0);
    const bool frees = phase.operation == "free";
    for (std::uint64_t number = 0; number < shape_.objects; ++number) {
      if (frees) HF_RETURN_IF_ERROR(alloc(number));
    }
    return {};
  }
  Status run(PhaseThread& thread) override {
    const auto first = thread.index() * share(thread.phase());
    Status failure;
    const auto status = timed_loop(thread, 8, 1, shape_.bytes, [&](std::uint64_t i) {
      const auto one = thread.phase().operation == "alloc" ? alloc(first + i) : free(first + i);
      if (!one && failure) failure = one;
    });
    done_[thread.index()] = thread.operations;
    return failure ? status : failure;
  }
  // What should be there is, with its stamp; nothing else is. Then all goes.
  Status after(const Phase& phase) override {
    const bool frees = phase.operation == "free";
    for (std::uint64_t number = 0; number < shape_.objects; ++number) {
      const auto thread = number / share(phase);
      const bool done = thread < phase.threads && number % share(phase) < done_[thread];
      const bool expected = done != frees;
      if (holds(number) != expected)
        return Error{Errc::kCorrupt, "wrong: object " + std::to_string(number) +
                                         (expected ? " is not there" : " is there")};
      if (expected) HF_RETURN_IF_ERROR(free(number));
    }
    return {};
  }

 protected:
  std::uint64_t share(const Phase& phase) const {
    return std::max<std::uint64_t>(1, shape_.objects / phase.threads);
  }
  // The content of an object: its stamp, then zeros. One buffer per thread.
  std::span<const std::byte> content(std::uint64_t number) const {
    thread_local std::vector<std::uint64_t> words;
    if (words.size() * 8 < shape_.bytes) words.resize(shape_.bytes / 8);
    words[0] = stamp(number);
    return std::as_bytes(std::span(words)).first(shape_.bytes);
  }
  static std::uint64_t stamp(std::uint64_t number) { return mix64(number + 1) | 1; }
  virtual Status alloc(std::uint64_t number) = 0;
  virtual Status free(std::uint64_t number) = 0;
  virtual bool holds(std::uint64_t number) = 0;
  virtual const char* calls() const = 0;

  const AllocationShape shape_;
  std::vector<std::uint64_t> done_;  // By thread.
};

// The floor: a word of the object's place says that it is there.
class BareSubject final : public AllocationSubject {
 public:
  using AllocationSubject::AllocationSubject;
  Status create() override {
    for (std::uint64_t number = 0; number < shape_.objects; ++number)
      *word(number) = 0;
    return {};
  }

 private:
  std::uint64_t* word(std::uint64_t number) const {
    return reinterpret_cast<std::uint64_t*>(memory() + number * shape_.bytes);
  }
  Status set(std::uint64_t number, std::uint64_t value) {
    persist().store(word(number), value);
    persist().persist(word(number), sizeof value);
    return {};
  }
  Status alloc(std::uint64_t number) override { return set(number, stamp(number)); }
  Status free(std::uint64_t number) override { return set(number, 0); }
  bool holds(std::uint64_t number) override { return *word(number) == stamp(number); }
  const char* calls() const override { return "one word stored, one fence: no allocator"; }
};

class PageAllocation final : public AllocationSubject {
 public:
  using AllocationSubject::AllocationSubject;
  Status create() override {
    std::memset(memory(), 0, kPageBytes);
    holdfast::blocks::PageStoreOptions options;
    options.page_bytes = shape_.bytes;
    options.pages = shape_.objects;
    HF_ASSIGN_OR_RETURN(
        store_,
        PageStore::create(context_.region, holdfast::blocks::whole(context_.region), options));
    found_.resize(shape_.bytes);
    return {};
  }
  void destroy() override { store_.reset(); }

 private:
  static PageId id(std::uint64_t number) { return {static_cast<std::uint32_t>(number)}; }
  Status alloc(std::uint64_t number) override { return store_->flush(id(number), content(number)); }
  Status free(std::uint64_t number) override { return store_->free(id(number)); }
  bool holds(std::uint64_t number) override {
    if (!store_->read(id(number), found_)) return false;
    std::uint64_t word;
    std::memcpy(&word, found_.data(), sizeof word);
    return word == stamp(number);
  }
  const char* calls() const override { return "PageStore::flush of a new page, free"; }

  std::unique_ptr<PageStore> store_;
  std::vector<std::byte> found_;
};

class StoreAllocation final : public AllocationSubject {
 public:
  using AllocationSubject::AllocationSubject;
  ~StoreAllocation() override { StoreAllocation::destroy(); }

  Status create() override {
    const auto& region = context_.options.region;
    if (region.starts_with("/dev/dax"))
      return Error{Errc::kUnsupported, "the store beside the suites' region needs a path or dram"};
    auto [place, spec_options] = parts_of(region);
    if (place.starts_with("/") || place.starts_with(".")) place = path_ = path();
    kv::StoreOptions options;
    options.initial_bytes =
        round_up(2 * shape_.objects * (shape_.bytes + 128) + 32 * MiB, 32 * MiB);
    options.prefault = true;
    HF_ASSIGN_OR_RETURN(auto store, kv::Store<>::open(place + spec_options, options));
    store_.emplace(std::move(store));
    return {};
  }
  void destroy() override {
    store_.reset();
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path() const { return context_.peer_directory + "/kv"; }
  struct Key {
    char bytes[8];
    std::string_view view() const { return {bytes, sizeof bytes}; }
  };
  static Key key(std::uint64_t number) {
    Key key;
    std::memcpy(key.bytes, &number, sizeof number);
    return key;
  }
  Status alloc(std::uint64_t number) override {
    const auto value = content(number);
    const auto put = store_->put(key(number).view(),
                                 {reinterpret_cast<const char*>(value.data()), value.size()});
    return put ? Status() : Status(put.error());
  }
  Status free(std::uint64_t number) override {
    const auto erased = store_->erase(key(number).view());
    if (!erased) return erased.error();
    return *erased ? Status() : Status(Error{Errc::kCorrupt, "wrong: erase found nothing"});
  }
  bool holds(std::uint64_t number) override {
    const auto size = store_->get(key(number).view(), found_);
    if (!size || found_.size() != shape_.bytes) return false;
    std::uint64_t word;
    std::memcpy(&word, found_.data(), sizeof word);
    return word == stamp(number);
  }
  const char* calls() const override { return "kv::Store::put of a new record, erase"; }

  std::optional<kv::Store<>> store_;
  std::string path_, found_;
};

}  // namespace

std::vector<SubjectEntry> own_allocation_entries(const Context& context,
                                                 const AllocationShape& shape) {
  std::vector<SubjectEntry> entries = {subject_entry<BareSubject>("fence", context, shape)};
  if (shape.bytes >= kCacheLineBytes)
    entries.push_back(subject_entry<PageAllocation>("holdfast-page", context, shape));
  entries.push_back(subject_entry<StoreAllocation>("holdfast-kv", context, shape));
  return entries;
}

}  // namespace holdfast::bench::blocks
