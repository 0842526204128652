// Suite pmdk, transactions: what of ours replaces a range as a whole or not at all, by its size,
// and the floor: the range in place, one fence, not atomic.
//
//   8 B           one aligned word: it never tears, so store and persist are enough
//   16 to 256 B   LogField: redo record, fence, in place, fence
//   512 B, more   PageStore of pages of this size: two fences
//
// The difference to a transaction: each of these is one range; ranges of one transaction are one
// unit, also several of them, and of any size at any place.
#include <array>
#include <optional>

#include <holdfast/blocks/field/log_field.hpp>
#include <holdfast/blocks/page/page_store.hpp>
#include <holdfast/peers/blocks/pmdk_suite.hpp>

namespace holdfast::bench::blocks {
namespace {

using holdfast::blocks::Extent;
using holdfast::blocks::FieldLog;
using holdfast::blocks::Log;
using holdfast::blocks::LogField;
using holdfast::blocks::PageId;
using holdfast::blocks::PageStore;

class TransactionSubject : public BlockSubject {
 public:
  TransactionSubject(const Context& context, const ByteShape& shape)
      : BlockSubject(context), shape_(shape) {}
  bool supports(const std::string& operation) const override { return operation == "tx_add_range"; }
  results::Fields facts() const override {
    auto facts = shape_.facts();
    facts.set("calls", calls());
    return facts;
  }
  Status before(const Phase& phase) override {
    done_.assign(phase.threads, 0);
    return {};
  }
  Status after(const Phase& phase) override {
    for (unsigned i = 0; i < phase.threads; ++i)
      HF_RETURN_IF_ERROR(check_bytes(shape_, phase, i, done_[i], place_seed(context_, phase, i),
                                     [&](std::uint64_t offset) { return read(i, offset); }));
    return {};
  }

 protected:
  // replace(offset, content) for each of `ranges` ranges, then commit().
  template <class Replace, class Commit>
  Status each(PhaseThread& thread, unsigned ranges, Replace&& replace, Commit&& commit) {
    const auto& phase = thread.phase();
    const Places places(shape_, place_seed(context_, phase, thread.index()));
    ByteContent content(shape_, phase.number, thread.index());
    const auto status =
        timed_loop(thread, 8, ranges, std::uint64_t{ranges} * shape_.bytes, [&](std::uint64_t i) {
          for (auto range = i * ranges; range < (i + 1) * ranges; ++range)
            replace(places.at(range), content.copy(range));
          commit();
        });
    done_[thread.index()] = thread.operations;
    return status;
  }
  std::byte* area(unsigned thread) const { return memory() + thread * shape_.area_bytes; }
  virtual const char* calls() const = 0;
  virtual const std::byte* read(unsigned thread, std::uint64_t offset) {
    return area(thread) + offset;
  }

  const ByteShape shape_;
  std::vector<std::uint64_t> done_;  // By thread.
};

class InPlaceSubject final : public TransactionSubject {
 public:
  using TransactionSubject::TransactionSubject;
  bool supports(const std::string& operation) const override {
    return operation.starts_with("tx_add_range");
  }
  Status run(PhaseThread& thread) override {
    auto* const into = area(thread.index());
    const unsigned ranges = thread.phase().operation == "tx_add_range" ? 1 : kRangesPerTransaction;
    return each(
        thread, ranges,
        [&](std::uint64_t offset, const std::byte* content) {
          persist().write(into + offset, content, shape_.bytes);
        },
        [&] { persist().fence(); });
  }

 private:
  const char* calls() const override { return "Persist::write in place and fence: not atomic"; }
};

class WordSubject final : public TransactionSubject {
 public:
  using TransactionSubject::TransactionSubject;
  Status run(PhaseThread& thread) override {
    auto* const into = area(thread.index());
    return each(
        thread, 1,
        [&](std::uint64_t offset, const std::byte* content) {
          std::uint64_t word;
          std::memcpy(&word, content, sizeof word);
          auto* const to = reinterpret_cast<std::uint64_t*>(into + offset);
          persist().store(to, word);
          persist().persist(to, sizeof word);
        },
        [] {});
  }

 private:
  const char* calls() const override { return "Persist::store, persist: one word"; }
};

template <std::size_t kBytes>
class FieldTransaction final : public TransactionSubject {
 public:
  using TransactionSubject::TransactionSubject;
  Status before(const Phase& phase) override {
    HF_RETURN_IF_ERROR(TransactionSubject::before(phase));
    // Behind the areas, a log for each thread.
    logs_.clear();
    for (unsigned i = 0; i < phase.threads; ++i) {
      const Extent extent{phase.threads * shape_.area_bytes + i * kLogBytes, kLogBytes};
      std::memset(memory() + extent.offset_bytes, 0, kPageBytes);
      HF_ASSIGN_OR_RETURN(auto log, Log::replace(context_.region, extent, log_options()));
      logs_.push_back(std::move(log));
    }
    return {};
  }
  Status run(PhaseThread& thread) override {
    auto* const into = area(thread.index());
    FieldLog log(context_.region, logs_[thread.index()]);
    return each(
        thread, 1,
        [&](std::uint64_t offset, const std::byte* content) {
          std::array<std::byte, kBytes> value;
          std::memcpy(value.data(), content, kBytes);
          const auto status = reinterpret_cast<Field*>(into + offset)->update(log, value);
          if (!status) thread.wrong(status.error().message());
        },
        [] {});
  }
  void destroy() override { logs_.clear(); }

 private:
  using Field = LogField<std::array<std::byte, kBytes>>;
  static_assert(sizeof(Field) == kBytes);
  static constexpr std::uint64_t kLogBytes = 2 * MiB;
  static holdfast::blocks::LogOptions log_options() {
    holdfast::blocks::LogOptions options;
    options.segment_bytes = 256 * KiB;
    options.lanes = 1;
    return options;
  }
  const char* calls() const override { return "LogField::update: one range"; }

  std::vector<Log> logs_;
};

class PageTransaction final : public TransactionSubject {
 public:
  using TransactionSubject::TransactionSubject;
  // One store for all threads; each has its share of the pages.
  Status create() override {
    std::memset(memory(), 0, kPageBytes);
    unsigned threads = 1;
    for (const auto count : context_.options.threads)
      threads = std::max(threads, count);
    holdfast::blocks::PageStoreOptions options;
    options.page_bytes = shape_.bytes;
    options.pages = threads * pages_per_thread();
    HF_ASSIGN_OR_RETURN(
        store_,
        PageStore::create(context_.region, holdfast::blocks::whole(context_.region), options));
    ByteContent content(shape_, 0, 0);
    for (std::uint64_t page = 0; page < options.pages; ++page)
      HF_RETURN_IF_ERROR(
          store_->flush(id(0, page * shape_.bytes), {content.copy(page), shape_.bytes}));
    found_.resize(shape_.bytes);
    return {};
  }
  Status run(PhaseThread& thread) override {
    return each(
        thread, 1,
        [&](std::uint64_t offset, const std::byte* content) {
          const auto status = store_->flush(id(thread.index(), offset), {content, shape_.bytes});
          if (!status) thread.wrong(status.error().message());
        },
        [] {});
  }
  void destroy() override { store_.reset(); }

 private:
  std::uint64_t pages_per_thread() const { return shape_.area_bytes / shape_.bytes; }
  PageId id(unsigned thread, std::uint64_t offset) const {
    return {static_cast<std::uint32_t>(thread * pages_per_thread() + offset / shape_.bytes)};
  }
  const char* calls() const override { return "PageStore::flush of a page of this size"; }
  const std::byte* read(unsigned thread, std::uint64_t offset) override {
    return store_->read(id(thread, offset), found_) ? found_.data() : nullptr;
  }

  std::unique_ptr<PageStore> store_;
  std::vector<std::byte> found_;
};

}  // namespace

std::vector<SubjectEntry> own_transaction_entries(const Context& context, const ByteShape& shape) {
  const auto ours = [&]() -> SubjectEntry {
    switch (shape.bytes) {
      case 8: return subject_entry<WordSubject>("holdfast", context, shape);
      case 16: return subject_entry<FieldTransaction<16>>("holdfast", context, shape);
      case 32: return subject_entry<FieldTransaction<32>>("holdfast", context, shape);
      case 64: return subject_entry<FieldTransaction<64>>("holdfast", context, shape);
      case 128: return subject_entry<FieldTransaction<128>>("holdfast", context, shape);
      case 256: return subject_entry<FieldTransaction<256>>("holdfast", context, shape);
      default: return subject_entry<PageTransaction>("holdfast", context, shape);
    }
  };
  return {subject_entry<InPlaceSubject>("fence", context, shape), ours()};
}

}  // namespace holdfast::bench::blocks
