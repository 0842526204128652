#include <holdfast/bench/blocks/interference_tasks.hpp>

#include <algorithm>

#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/bench/memory/tier.hpp>

namespace holdfast::bench::blocks {

using baselines::HashBuckets;
using baselines::Machinery;
using holdfast::blocks::Log;
using holdfast::blocks::LogAppender;
using holdfast::blocks::LogOptions;
using holdfast::blocks::PageId;
using holdfast::blocks::PageStore;
using holdfast::blocks::PageStoreOptions;

std::string_view name(Task task) {
  switch (task) {
    case Task::kScan: return "scan";
    case Task::kScanDram: return "scan-dram";
    case Task::kLookup: return "lookup";
    case Task::kLookupDram: return "lookup-dram";
    case Task::kLog: return "log";
    case Task::kPage: break;
  }
  return "page";
}

// Goes over its share of the range again and again.
class Workbench::ScanWork final : public Work {
 public:
  ScanWork(std::byte* base, std::uint64_t first_byte, std::uint64_t bytes, bool small)
      : base_(base),
        first_(first_byte),
        end_(first_byte + bytes),
        at_(first_byte),
        count_(small ? 1 : kAccesses) {}
  void step() override {
    memory::Accesses block;
    block.base = base_;
    block.first_byte = at_;
    block.step_bytes = kAccessBytes;
    block.lines = kAccessBytes / kCacheLineBytes;
    block.count = count_;
    block.lanes = &lanes_;
    memory::best_kernels().read[0][memory::size_class(block.lines)](block);
    read_.add(at_ / kCacheLineBytes, count_ * block.lines);
    at_ += bytes_per_step();
    if (at_ + bytes_per_step() > end_) at_ = first_;
  }
  unsigned operations_per_step() const override { return count_; }
  std::uint64_t bytes_per_step() const override { return count_ * kAccessBytes; }
  Status finish() override {
    for (unsigned lane = 0; lane < memory::kLanes; ++lane) {
      if (lanes_.sum[lane] != read_.lane(lane))
        return Error{Errc::kCorrupt, "wrong: what a scan read does not add up"};
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kAccessBytes = 256;
  static constexpr unsigned kAccesses = 64;
  std::byte* const base_;
  const std::uint64_t first_, end_;
  std::uint64_t at_;
  const unsigned count_;
  memory::Lanes lanes_;
  memory::LinesRead read_;
};

// One key after another, as transactions look them up.
class Workbench::LookupWork final : public Work {
 public:
  LookupWork(const HashBuckets& table, std::uint64_t seed, bool small)
      : table_(table),
        buckets_(table),
        random_(seed),
        keys_(small ? 1 : kKeys),
        found_(keys_.size()) {}
  void step() override {
    for (auto& key : keys_)
      key = buckets_.key(random_.below(buckets_.nodes()), 0);
    table_.lookup_many(keys_, found_, Machinery::kLoop);
    for (std::size_t i = 0; i < keys_.size(); ++i)
      wrong_ += found_[i] != value_of(keys_[i]);
  }
  unsigned operations_per_step() const override { return static_cast<unsigned>(keys_.size()); }
  std::uint64_t bytes_per_step() const override { return keys_.size() * Buckets::kNodeBytes; }
  Status finish() override {
    if (wrong_ == 0) return {};
    return Error{Errc::kCorrupt, std::to_string(wrong_) + " lookups gave a wrong value"};
  }

 private:
  static constexpr std::size_t kKeys = 64;
  const HashBuckets& table_;
  const Buckets buckets_;
  Random random_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::optional<std::uint64_t>> found_;
  std::uint64_t wrong_ = 0;
};

class Workbench::LogWork final : public Work {
 public:
  LogWork(Workbench& bench, LogAppender appender, unsigned thread, bool small)
      : bench_(bench),
        appender_(std::move(appender)),
        source_(kRecordBytes, thread),
        thread_(thread),
        count_(small ? 1 : kAppends) {}
  void step() override {
    for (unsigned i = 0; i < count_ && failure_; ++i) {
      const auto record = source_.record(0, appended_);
      appended_ += append_in_ring(*bench_.log_, failure_, [&] { return appender_.append(record); });
    }
  }
  unsigned operations_per_step() const override { return count_; }
  std::uint64_t bytes_per_step() const override { return count_ * kRecordBytes; }
  Status finish() override {
    bench_.appended_[thread_] = appended_;
    return failure_;
  }

 private:
  static constexpr unsigned kAppends = 16;
  Workbench& bench_;
  LogAppender appender_;
  RecordSource source_;
  const unsigned thread_, count_;
  std::uint64_t appended_ = 0;
  Status failure_;
};

// Whole pages to random places, as a buffer pool propagates them.
class Workbench::PageWork final : public Work {
 public:
  PageWork(const Workbench& bench, unsigned thread)
      : store_(*bench.page_store_),
        page_bytes_(bench.page_shape_.page_bytes),
        changes_(bench.page_shape_, *bench.dram_pages_, thread, bench.threads_, bench.seed_) {}
  void step() override {
    const auto& change = changes_.next();
    const auto status = store_.flush(
        {PageId{static_cast<std::uint32_t>(change.page)}, change.content, &change.dirty});
    if (!status && failure_) failure_ = status;
  }
  unsigned operations_per_step() const override { return 1; }
  std::uint64_t bytes_per_step() const override { return page_bytes_; }
  Status finish() override { return failure_; }

 private:
  PageStore& store_;
  const std::uint32_t page_bytes_;
  PageChanges changes_;
  Status failure_;
};

Status Workbench::prepare() {
  if (prepared_) return {};
  auto& region = context_.region;
  // A quarter each for the scan, the table and the pages with their spare slots; the rest logs.
  const auto quarter = round_down(context_.options.region_bytes / 4, 2 * MiB);
  const auto threads = context_.options.threads_most();
  scan_bytes_ = quarter;
  memory::fill_content(region.data(), quarter, threads);
  const auto fill = [&](Region& where, std::optional<HashBuckets>& table) -> Status {
    HF_ASSIGN_OR_RETURN(auto opened, HashBuckets::open(where, {quarter, quarter}));
    table.emplace(std::move(opened));
    Buckets(*table).fill(*table, where.persist());
    return {};
  };
  HF_RETURN_IF_ERROR(fill(region, table_));
  if (context_.report.kind != "dram") {
    HF_ASSIGN_OR_RETURN(dram_, open_dram(2 * quarter));
    memory::fill_content(dram_->data(), quarter, threads);
    HF_RETURN_IF_ERROR(fill(*dram_, table_dram_));
  }
  page_extent_ = {2 * quarter, quarter};
  log_extent_ = {3 * quarter, quarter};
  page_shape_.pages = quarter / page_shape_.page_bytes * 3 / 4;
  page_shape_.dirty_lines = page_shape_.page_bytes / static_cast<std::uint32_t>(kCacheLineBytes);
  dram_pages_.emplace(page_shape_);
  std::memset(region.data() + page_extent_.offset_bytes, 0,
              kPageBytes);  // Nothing of the one before.
  PageStoreOptions options;
  options.page_bytes = page_shape_.page_bytes;
  options.pages = page_shape_.pages;
  HF_ASSIGN_OR_RETURN(page_store_, PageStore::create(region, page_extent_, options));
  for (std::uint32_t page = 0; page < page_shape_.pages; ++page)
    HF_RETURN_IF_ERROR(
        page_store_->flush(PageId{page}, {dram_pages_->page(page), page_shape_.page_bytes}));
  prepared_ = true;
  return {};
}

Status Workbench::begin(unsigned threads, std::uint64_t seed) {
  threads_ = threads;
  seed_ = seed;
  ++phases_;
  LogOptions options;
  options.lanes = std::clamp(threads + 1, 1u, 64u);  // The log's own is left to itself.
  HF_ASSIGN_OR_RETURN(auto log, Log::replace(context_.region, log_extent_, options));
  log_.emplace(std::move(log));
  appended_.assign(threads, 0);
  return {};
}

Result<std::unique_ptr<Work>> Workbench::work(Task task, unsigned thread, bool small) {
  const auto share = round_down(scan_bytes_ / threads_, 16 * KiB);
  const auto seed = seed_ + thread;
  switch (task) {
    case Task::kScan:
      return std::unique_ptr<Work>(
          std::make_unique<ScanWork>(context_.region.data(), thread * share, share, small));
    case Task::kScanDram:
      return std::unique_ptr<Work>(
          std::make_unique<ScanWork>(dram_->data(), thread * share, share, small));
    case Task::kLookup:
      return std::unique_ptr<Work>(std::make_unique<LookupWork>(*table_, seed, small));
    case Task::kLookupDram:
      return std::unique_ptr<Work>(std::make_unique<LookupWork>(*table_dram_, seed, small));
    case Task::kLog: {
      HF_ASSIGN_OR_RETURN(auto appender, log_->appender());
      return std::unique_ptr<Work>(
          std::make_unique<LogWork>(*this, std::move(appender), thread, small));
    }
    case Task::kPage: break;
  }
  return std::unique_ptr<Work>(std::make_unique<PageWork>(*this, thread));
}

Status Workbench::check() {
  const bool logged = std::any_of(appended_.begin(), appended_.end(), [](auto n) { return n > 0; });
  if (logged) {
    HF_RETURN_IF_ERROR(check_log(*log_, kRecordBytes, appended_));
  }
  log_.reset();
  return dram_pages_->compare(phases_, [&](std::uint64_t page, std::span<std::byte> out) {
    return page_store_->read(PageId{static_cast<std::uint32_t>(page)}, out);
  });
}

}  // namespace holdfast::bench::blocks
