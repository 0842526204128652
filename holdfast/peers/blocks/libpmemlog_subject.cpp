// libpmemlog (PMDK 1.12) in suite log: one log file, shared by all threads, rewound when full.
#include <libpmemlog.h>
#include <sys/uio.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include <holdfast/bench/blocks/log_suite.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>

namespace holdfast::bench::blocks {
namespace {

class LibpmemlogSubject final : public BlockSubject {
 public:
  LibpmemlogSubject(const Context& context, const LogShape& shape)
      : BlockSubject(context), shape_(shape), path_(context.peer_directory + "/pmemlog") {}
  ~LibpmemlogSubject() override { LibpmemlogSubject::destroy(); }

  Status create() override {
    HF_RETURN_IF_ERROR(check_pmdk_environment(context_));
    pool_ = pmemlog_create(path_.c_str(), shape_.log_bytes, 0600);
    if (pool_ == nullptr)
      return Error{Errc::kIo, std::string("pmemlog_create: ") + pmemlog_errormsg()};
    pages_.obtain(context_, pool_, shape_.log_bytes);
    return {};
  }
  // Every page present, as the region's are.
  Status prefill() override {
    RecordSource source(4096, 0);
    const auto record = source.record(0, 0);
    while (pmemlog_append(pool_, record.data(), record.size()) == 0) {
    }
    pmemlog_rewind(pool_);
    return {};
  }
  bool supports(const std::string& operation) const override { return is_log_operation(operation); }
  // Its fences are its own; it does not tell.
  bool counts_persists() const override { return false; }
  results::Fields facts() const override {
    auto facts = shape_.facts();
    facts.set("layout", "dense");                    // Also beside padded logs of ours.
    facts.set("peer_locks", "one for all threads");  // Its own; it cannot be told to leave it out.
    add_pmdk_facts(facts, context_);
    pages_.add_facts(facts);
    return facts;
  }
  Status before(const Phase& phase) override {
    pmemlog_rewind(pool_);
    appended_.assign(phase.threads, 0);
    return {};
  }
  Status run(PhaseThread& thread) override {
    RecordSource source(shape_.record_bytes, thread.index());
    Status failure;
    const auto append = [&](const iovec* parts, int count) {
      while (pmemlog_appendv(pool_, parts, count) != 0) {
        if (errno != ENOSPC) {
          failure = Error{Errc::kIo, std::string("pmemlog_append: ") + pmemlog_errormsg()};
          return;
        }
        pmemlog_rewind(pool_);
      }
    };
    if (thread.phase().operation != "append_many") {
      const bool ready = thread.phase().operation == "append_ready";
      HF_RETURN_IF_ERROR(timed_loop(thread, 16, 1, shape_.record_bytes, [&](std::uint64_t i) {
        const auto record = ready ? source.ready_record(i) : source.record(0, i);
        while (pmemlog_append(pool_, record.data(), record.size()) != 0) {
          if (errno != ENOSPC) {
            failure = Error{Errc::kIo, std::string("pmemlog_append: ") + pmemlog_errormsg()};
            return;
          }
          pmemlog_rewind(pool_);
        }
      }));
    } else {
      iovec parts[16];
      HF_RETURN_IF_ERROR(
          timed_loop(thread, 4, 16, std::uint64_t{16} * shape_.record_bytes, [&](std::uint64_t i) {
            for (unsigned j = 0; j < 16; ++j) {
              const auto record = source.record(j, i * 16 + j);
              parts[j] = {const_cast<std::byte*>(record.data()), record.size()};
            }
            append(parts, 16);
          }));
    }
    appended_[thread.index()] = thread.operations;
    return failure;
  }
  Status after(const Phase&) override {
    struct Walk {
      RecordCheck check;
      std::uint32_t bytes;
      Status status;
    } walk{{shape_.record_bytes, appended_}, shape_.record_bytes, {}};
    pmemlog_walk(
        pool_, 0,
        [](const void* begin, size_t length, void* argument) {
          auto& state = *static_cast<Walk*>(argument);
          const auto* at = static_cast<const std::byte*>(begin);
          for (size_t done = 0; done + state.bytes <= length && state.status; done += state.bytes)
            state.status = state.check.next({at + done, state.bytes});
          return 0;
        },
        &walk);
    HF_RETURN_IF_ERROR(walk.status);
    if (pmemlog_tell(pool_) == 0) return {};  // Rewound by the last append: nothing to compare.
    return walk.check.finish();
  }
  void destroy() override {
    if (pool_ == nullptr) return;
    pmemlog_close(pool_);
    pool_ = nullptr;
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  LogShape shape_;
  std::string path_;
  PMEMlogpool* pool_ = nullptr;
  PoolPages pages_;
  std::vector<std::uint64_t> appended_;
};

SubjectEntry entry(const Context& context, const LogShape& shape) {
  return subject_entry<LibpmemlogSubject>("libpmemlog", context, shape);
}

const modules::Offer offer{"libpmemlog", entry};

}  // namespace
}  // namespace holdfast::bench::blocks
