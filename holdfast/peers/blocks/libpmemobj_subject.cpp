// libpmemobj (PMDK 1.12) in suite pmdk: snapshots in transactions, atomic and transactional
// allocation, locks that lie in the pool. Each in a pool of its own in the peers' directory.
#include <libpmemobj.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>
#include <holdfast/peers/blocks/pmdk_locks.hpp>

namespace holdfast::bench::blocks {
namespace {

Error failed(const char* call) {
  return {Errc::kIo, std::string(call) + ": " + ::pmemobj_errormsg()};
}

// A pool file that goes away with it.
class Pool {
 public:
  ~Pool() { close(); }
  Status create(const Context& context, std::uint64_t bytes) {
    HF_RETURN_IF_ERROR(check_pmdk_environment(context));
    path_ = context.peer_directory + "/pool.pmemobj";
    int prefault = 1;  // Every page present, as the region's.
    ::pmemobj_ctl_set(nullptr, "prefault.at_create", &prefault);
    pool_ = ::pmemobj_create(path_.c_str(), "holdfast", round_up(bytes, 2 * MiB), 0600);
    if (pool_ == nullptr) return failed("pmemobj_create");
    pages_.obtain(context, pool_, round_up(bytes, 2 * MiB));
    return {};
  }
  void close() {
    if (pool_ != nullptr) ::pmemobj_close(std::exchange(pool_, nullptr));
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
    path_.clear();
  }
  PMEMobjpool* get() const { return pool_; }
  void add_facts(results::Fields& facts, const Context& context) const {
    add_pmdk_facts(facts, context);
    pages_.add_facts(facts);
  }

 private:
  PMEMobjpool* pool_ = nullptr;
  PoolPages pages_;
  std::string path_;
};

// work() between begin and commit; it returns 0 or what the library said. Without a jump buffer the
// library reports failures as values.
template <class Work>
bool transaction(PMEMobjpool* pool, Work&& work) {
  if (::pmemobj_tx_begin(pool, nullptr, TX_PARAM_NONE) != 0) return false;
  if (work() == 0) ::pmemobj_tx_commit();
  return ::pmemobj_tx_end() == 0;
}

class TransactionSubject final : public BlockSubject {
 public:
  TransactionSubject(const Context& context, const ByteShape& shape)
      : BlockSubject(context), shape_(shape) {}

  Status create() override {
    unsigned threads = 1;
    for (const auto count : context_.options.threads)
      threads = std::max(threads, count);
    HF_RETURN_IF_ERROR(pool_.create(context_, threads * (shape_.area_bytes + MiB) + 32 * MiB));
    areas_.resize(threads, OID_NULL);
    for (auto& area : areas_) {
      if (::pmemobj_zalloc(pool_.get(), &area, shape_.area_bytes, 1) != 0)
        return failed("pmemobj_zalloc");
    }
    return {};
  }
  bool supports(const std::string& operation) const override {
    return operation.starts_with("tx_add_range");
  }
  bool counts_persists() const override { return false; }
  results::Fields facts() const override {
    auto facts = shape_.facts();
    facts.set("calls", "pmemobj_tx_begin, tx_add_range, memcpy, tx_commit");
    pool_.add_facts(facts, context_);
    return facts;
  }
  Status before(const Phase& phase) override {
    done_.assign(phase.threads, 0);
    return {};
  }
  Status run(PhaseThread& thread) override {
    const auto& phase = thread.phase();
    const unsigned ranges = phase.operation == "tx_add_range" ? 1 : kRangesPerTransaction;
    const Places places(shape_, place_seed(context_, phase, thread.index()));
    ByteContent content(shape_, phase.number, thread.index());
    const auto area = areas_[thread.index()];
    auto* const into = static_cast<std::byte*>(::pmemobj_direct(area));
    const auto status =
        timed_loop(thread, 4, ranges, std::uint64_t{ranges} * shape_.bytes, [&](std::uint64_t i) {
          const bool good = transaction(pool_.get(), [&] {
            for (auto range = i * ranges; range < (i + 1) * ranges; ++range) {
              const auto offset = places.at(range);
              if (const int code = ::pmemobj_tx_add_range(area, offset, shape_.bytes); code != 0)
                return code;
              std::memcpy(into + offset, content.copy(range), shape_.bytes);
            }
            return 0;
          });
          if (!good) [[unlikely]]
            thread.wrong("a transaction was aborted");
        });
    done_[thread.index()] = thread.operations;
    return status;
  }
  Status after(const Phase& phase) override {
    for (unsigned i = 0; i < phase.threads; ++i) {
      const auto* const area = static_cast<const std::byte*>(::pmemobj_direct(areas_[i]));
      HF_RETURN_IF_ERROR(check_bytes(shape_, phase, i, done_[i], place_seed(context_, phase, i),
                                     [&](std::uint64_t offset) { return area + offset; }));
    }
    return {};
  }
  void destroy() override { pool_.close(); }

 private:
  const ByteShape shape_;
  Pool pool_;
  std::vector<PMEMoid> areas_;       // By thread.
  std::vector<std::uint64_t> done_;  // By thread.
};

class AllocationSubject final : public BlockSubject {
 public:
  AllocationSubject(const Context& context, const AllocationShape& shape, std::string api)
      : BlockSubject(context), shape_(shape), api_(std::move(api)) {}

  Status create() override {
    HF_RETURN_IF_ERROR(
        pool_.create(context_, 2 * shape_.objects * (shape_.bytes + 128) + 32 * MiB));
    volatile_ids_.assign(shape_.objects, OID_NULL);
    ids_ = volatile_ids_.data();
    if (api_ != "published") return {};
    if (::pmemobj_zalloc(pool_.get(), &id_array_, shape_.objects * sizeof(PMEMoid), 2) != 0)
      return failed("pmemobj_zalloc");
    ids_ = static_cast<PMEMoid*>(::pmemobj_direct(id_array_));
    return {};
  }
  bool supports(const std::string& operation) const override {
    return operation == "alloc" || operation == "free";
  }
  bool counts_persists() const override { return false; }
  std::uint64_t operations_bound(const std::string&) const override { return shape_.objects; }
  results::Fields facts() const override {
    auto facts = shape_.facts();
    facts.set("api", api_);
    pool_.add_facts(facts, context_);
    return facts;
  }
  Status before(const Phase& phase) override {
    done_.assign(phase.threads, 0);
    if (phase.operation != "free") return {};
    for (std::uint64_t number = 0; number < shape_.objects; ++number) {
      if (!alloc(number)) return failed("filling the pool");
    }
    return {};
  }
  Status run(PhaseThread& thread) override {
    const auto first = thread.index() * share(thread.phase());
    const bool frees = thread.phase().operation == "free";
    const auto status = timed_loop(thread, 8, 1, shape_.bytes, [&](std::uint64_t i) {
      if (!(frees ? free(first + i) : alloc(first + i))) [[unlikely]]
        thread.wrong(::pmemobj_errormsg());
    });
    done_[thread.index()] = thread.operations;
    return status;
  }
  // The pool holds the objects that it should, each with its stamp, and no other. Then all go.
  Status after(const Phase& phase) override {
    const bool frees = phase.operation == "free";
    std::uint64_t expected_objects = 0, objects = 0;
    for (auto id = ::pmemobj_first(pool_.get()); !OID_IS_NULL(id); id = ::pmemobj_next(id))
      objects += ::pmemobj_type_num(id) == kType;
    for (std::uint64_t number = 0; number < shape_.objects; ++number) {
      const auto thread = number / share(phase);
      const bool done = thread < phase.threads && number % share(phase) < done_[thread];
      const bool expected = done != frees;
      const auto* const word = static_cast<const std::uint64_t*>(::pmemobj_direct(ids_[number]));
      if ((word != nullptr) != expected)
        return wrong("object " + std::to_string(number) + (expected ? " is gone" : " is there"));
      if (!expected) continue;
      ++expected_objects;
      if (*word != stamp(number) || ::pmemobj_alloc_usable_size(ids_[number]) < shape_.bytes)
        return wrong("object " + std::to_string(number) + " holds something else");
      if (!free(number)) return failed("pmemobj_free");
    }
    if (objects != expected_objects)
      return wrong("the pool has " + std::to_string(objects) + " objects instead of " +
                   std::to_string(expected_objects));
    return {};
  }
  void destroy() override { pool_.close(); }

 private:
  static constexpr std::uint64_t kType = 1;
  static Error wrong(const std::string& what) { return {Errc::kCorrupt, "wrong: " + what}; }
  static std::uint64_t stamp(std::uint64_t number) { return mix64(number + 1) | 1; }
  std::uint64_t share(const Phase& phase) const {
    return std::max<std::uint64_t>(1, shape_.objects / phase.threads);
  }
  bool alloc(std::uint64_t number) {
    auto& id = ids_[number];
    if (api_ != "transactional") {
      auto word = stamp(number);
      const auto construct = [](PMEMobjpool* pool, void* object, void* argument) {
        std::memcpy(object, argument, sizeof word);
        ::pmemobj_flush(pool, object, sizeof word);
        return 0;
      };
      return ::pmemobj_alloc(pool_.get(), &id, shape_.bytes, kType, construct, &word) == 0;
    }
    return transaction(pool_.get(), [&] {
      id = ::pmemobj_tx_alloc(shape_.bytes, kType);
      if (OID_IS_NULL(id)) return ENOMEM;
      *static_cast<std::uint64_t*>(::pmemobj_direct(id)) = stamp(number);
      return 0;
    });
  }
  bool free(std::uint64_t number) {
    auto& id = ids_[number];
    if (api_ != "transactional") {
      ::pmemobj_free(&id);
      return true;
    }
    const bool good = transaction(pool_.get(), [&] { return ::pmemobj_tx_free(id); });
    id = OID_NULL;
    return good;
  }

  const AllocationShape shape_;
  const std::string api_;
  Pool pool_;
  std::vector<PMEMoid> volatile_ids_;
  PMEMoid id_array_ = OID_NULL;
  PMEMoid* ids_ = nullptr;           // In DRAM or, published, in the pool.
  std::vector<std::uint64_t> done_;  // By thread.
};

struct PoolLocks {
  struct Slot {
    PMEMmutex mutex;
    PMEMrwlock shared;
    std::uint64_t counter;
    std::uint64_t padding[7];
  };
  Status open(const Context& context) {
    HF_RETURN_IF_ERROR(pool.create(context, 16 * MiB));
    const auto root = ::pmemobj_root(pool.get(), kLocksMax * sizeof(Slot));  // Zeros: unlocked.
    if (OID_IS_NULL(root)) return failed("pmemobj_root");
    slots = static_cast<Slot*>(::pmemobj_direct(root));
    return {};
  }
  void close() { pool.close(); }
  bool has(const std::string&) const { return true; }
  results::Fields facts(const Context& context) const {
    results::Fields facts;
    facts.set("calls", "PMEMmutex, PMEMrwlock");
    pool.add_facts(facts, context);
    return facts;
  }
  std::uint64_t& counter(unsigned i) { return slots[i].counter; }
  void lock_mutex(unsigned i) { ::pmemobj_mutex_lock(pool.get(), &slots[i].mutex); }
  void unlock_mutex(unsigned i) { ::pmemobj_mutex_unlock(pool.get(), &slots[i].mutex); }
  void lock_shared(unsigned i) { ::pmemobj_rwlock_rdlock(pool.get(), &slots[i].shared); }
  void unlock_shared(unsigned i) { ::pmemobj_rwlock_unlock(pool.get(), &slots[i].shared); }
  void lock_unique(unsigned i) { ::pmemobj_rwlock_wrlock(pool.get(), &slots[i].shared); }
  void unlock_unique(unsigned i) { ::pmemobj_rwlock_unlock(pool.get(), &slots[i].shared); }

  Pool pool;
  Slot* slots = nullptr;
};

SubjectEntry transaction_entry(const Context& context, const ByteShape& transactions) {
  return subject_entry<TransactionSubject>("libpmemobj", context, transactions);
}
SubjectEntry allocation_entry(const Context& context, const AllocationShape& shape,
                              const std::string& api) {
  return subject_entry<AllocationSubject>("libpmemobj-" + api, context, shape, api);
}
SubjectEntry locks_entry(const Context& context, const LockShape& shape) {
  return lock_entry<PoolLocks>("libpmemobj", context, shape);
}

const modules::Offer transactions{"libpmemobj", transaction_entry};
const modules::Offer allocations{"libpmemobj", allocation_entry};
const modules::Offer locks{"libpmemobj", locks_entry};

}  // namespace
}  // namespace holdfast::bench::blocks
