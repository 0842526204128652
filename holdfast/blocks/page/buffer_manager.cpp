#include <holdfast/blocks/page/buffer_manager.hpp>

#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::blocks {

Status BufferOptions::validate() const {
  if (frames < 1)
    return Error{Errc::kInvalidOption, "buffer manager: frames=0: allowed are 1 and more"};
  if (background_interval_ms < 1 || background_interval_ms > 60'000)
    return Error{Errc::kInvalidOption, "buffer manager: background_interval_ms=" +
                                           std::to_string(background_interval_ms) +
                                           ": allowed are 1 to 60,000"};
  return {};
}

// ---- FixedPage ----

FixedPage::FixedPage(FixedPage&& other) noexcept
    : buffers_(std::exchange(other.buffers_, nullptr)),
      frame_(other.frame_),
      access_(other.access_) {}

FixedPage& FixedPage::operator=(FixedPage&& other) noexcept {
  std::swap(buffers_, other.buffers_);
  std::swap(frame_, other.frame_);
  std::swap(access_, other.access_);
  return *this;
}

FixedPage::~FixedPage() {
  if (buffers_ != nullptr) buffers_->unfix(frame_, access_);
}

PageId FixedPage::id() const { return buffers_->frames_[frame_].page; }

std::span<const std::byte> FixedPage::bytes() const {
  return {buffers_->frames_[frame_].content, buffers_->store_.page_bytes()};
}

std::span<std::byte> FixedPage::change(std::uint32_t offset, std::uint32_t bytes) {
  HF_CHECK(access_ == Access::kWrite);
  HF_CHECK(offset <= buffers_->store_.page_bytes() &&
           bytes <= buffers_->store_.page_bytes() - offset);
  auto& frame = buffers_->frames_[frame_];
  if (bytes == 0) return {};
  frame.lines.mark(offset, HF_MUTANT("B01", bytes, bytes > 1 ? bytes - 1 : bytes));
  if (!frame.dirty.exchange(true)) buffers_->dirty_count_.fetch_add(1);
  return {frame.content + offset, bytes};
}

void FixedPage::write(std::uint32_t offset, std::span<const std::byte> bytes) {
  HF_CHECK(bytes.size() <= buffers_->store_.page_bytes());
  const auto to = change(offset, static_cast<std::uint32_t>(bytes.size()));
  if (!to.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
}

// ---- The table ----

BufferManager::BufferManager(PageStore& store, BufferOptions options)
    : store_(store),
      options_(std::move(options)),
      memory_(std::uint64_t{options_.frames} * store.page_bytes() + kCacheLineBytes),
      frames_(new Frame[options_.frames]),
      uses_(options_.frames) {
  auto* const first =
      memory_.data() + (0 - reinterpret_cast<std::uintptr_t>(memory_.data())) % kCacheLineBytes;
  for (std::uint32_t i = 0; i < options_.frames; ++i)
    frames_[i].content = first + std::uint64_t{i} * store.page_bytes();
}

Result<std::unique_ptr<BufferManager>> BufferManager::create(PageStore& store,
                                                             BufferOptions options) {
  HF_RETURN_IF_ERROR(options.validate());
  std::unique_ptr<BufferManager> buffers(new BufferManager(store, std::move(options)));
  if (!buffers->options_.background) return buffers;
  try {
    buffers->background_ = std::thread([made = buffers.get()] { made->run_background(); });
  } catch (const std::system_error& why) {
    return Error{Errc::kNoSpace,
                 std::string("buffer manager: the system has no thread for the background: ") +
                     why.what() + "; raise the limit of threads, or set background to false"};
  }
  return buffers;
}

BufferManager::~BufferManager() {
  {
    const Lock table(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (background_.joinable()) background_.join();
}

Result<FixedPage> BufferManager::fix(PageId page, Access access) {
  if (page.value >= store_.pages())
    return Error{Errc::kInvalidOption, "buffer manager: page " + std::to_string(page.value) +
                                           ": allowed are 0 to " +
                                           std::to_string(store_.pages() - 1)};
  for (;;) {
    UniqueLock table(mutex_);
    std::uint32_t number = 0;
    if (const auto found = table_.find(page.value); found != table_.end()) {
      number = found->second;
      auto& frame = frames_[number];
      auto& use = uses_[number];
      ++use.pins, ++use.held;
      use.referenced = true;
      ++counts_.hits;
      table.unlock();
      if (access == Access::kWrite)
        frame.latch.lock();
      else
        frame.latch.lock_shared();
      if (!frame.failed) return FixedPage(*this, number, access);
      unfix(number, access);  // The thread that read it failed; try again.
      continue;
    }
    HF_ASSIGN_OR_RETURN(number, take_frame(table));  // Pinned. May have let go of the table.
    auto& frame = frames_[number];
    auto& use = uses_[number];
    if (table_.contains(page.value)) {  // Somebody else was faster.
      --use.pins;
      continue;
    }
    ++counts_.misses;
    ++use.held;
    frame.page = page;
    use.mapped = use.referenced = true;
    frame.failed = false;
    table_[page.value] = number;
    HF_CHECK(frame.latch.try_lock());  // Nobody else knows this frame yet.
    table.unlock();
    if (auto status = load(frame, access); !status) {
      frame.failed = HF_MUTANT("B04", true, false);
      table.lock();
      table_.erase(page.value);
      uses_[number].mapped = false;
      table.unlock();
      unfix(number, Access::kWrite);
      return std::move(status).error();
    }
    if (access == Access::kWrite) return FixedPage(*this, number, access);
    frame.latch.unlock();
    frame.latch.lock_shared();  // Pinned meanwhile: it stays this page.
    if (!frame.failed) return FixedPage(*this, number, access);
    unfix(number, access);
  }
}

Status BufferManager::load(Frame& frame, Access access) {
  auto status = store_.read(frame.page, {frame.content, store_.page_bytes()});
  if (status.code() == Errc::kNotFound && !status && access == Access::kWrite) {
    std::memset(frame.content, 0, store_.page_bytes());
    return {};
  }
  return status;
}

// A frame without a page, pinned once. Two rounds of the hand take away every second chance; what
// is pinned then without being held is being written back, and soon free.
Result<std::uint32_t> BufferManager::take_frame(TableLock& table) {
  for (std::uint64_t turn = 0;; ++turn) {
    if (turn == 2 * std::uint64_t{options_.frames} + 1) {
      std::uint32_t held = 0;
      for (std::uint32_t i = 0; i < options_.frames; ++i)
        held += uses_[i].held != 0;
      if (held == options_.frames) break;
      apart(table, [] {
        std::this_thread::yield();
        return 0;
      });
      turn = 0;
    }
    const auto number = hand_;
    hand_ = hand_ + 1 == options_.frames ? 0 : hand_ + 1;
    auto& frame = frames_[number];
    auto& use = uses_[number];
    if (use.pins != 0) continue;
    if (std::exchange(use.referenced, false)) continue;
    ++use.pins;  // Nobody else evicts it; its page can still be found.
    if (use.mapped && frame.dirty.load()) {
      // A page without a pin is latched by no thread. We latch it before we release the table: a
      // thread that then finds the page waits for us. We hold pages, too, and must not wait for a
      // thread that wants them.
      HF_CHECK(frame.latch.try_lock());
      ++counts_.flushes_by_eviction;
      auto status = apart(table, [&] {
        auto* const victim = &frame;
        auto flushed = flush_frames({&victim, 1});
        frame.latch.unlock();
        return flushed;
      });
      if (!status) {
        --use.pins;
        return std::move(status).error();
      }
    }
    if (use.pins > 1 ||
        HF_MUTANT("B03", use.mapped && frame.dirty.load(), false)) {  // Wanted after all.
      --use.pins;
      continue;
    }
    if (use.mapped) {
      table_.erase(frame.page.value);
      use.mapped = false;
      ++counts_.evictions;
    }
    return number;
  }
  return Error{Errc::kNoSpace, "buffer manager: all " + std::to_string(options_.frames) +
                                   " frames are fixed; unfix some, or have more"};
}

void BufferManager::unfix(std::uint32_t number, Access access) {
  if (access == Access::kWrite)
    frames_[number].latch.unlock();
  else
    frames_[number].latch.unlock_shared();
  {
    const Lock table(mutex_);
    --uses_[number].held;
  }
  unpin(number);
}

void BufferManager::unpin(std::uint32_t number) {
  const Lock table(mutex_);
  --uses_[number].pins;
  if (dirty_count_.load() > options_.frames / 4 && options_.background) wake_.notify_one();
}

// ---- Back to the store ----

Status BufferManager::flush_frames(std::span<Frame* const> frames) {
  std::vector<PageId> pages;
  std::vector<PageFlush> flushes;
  for (auto* const frame : frames) {
    pages.push_back(frame->page);
    flushes.push_back({frame->page, frame->content, &frame->lines, InDram::kWholePage});
  }
  const auto before_flush = [&]() -> Status {
    return options_.before_flush ? options_.before_flush(pages) : Status{};
  };
  HF_RETURN_IF_ERROR(HF_MUTANT("B02", before_flush(), Status{}));
  HF_RETURN_IF_ERROR(store_.flush_many(flushes));
  HF_RETURN_IF_ERROR(HF_MUTANT("B02", Status{}, before_flush()));
  for (auto* const frame : frames) {
    HF_MUTANT("B06", frame->lines.clear(), void());
    frame->dirty.store(false);
    dirty_count_.fetch_sub(1);
  }
  return {};
}

Status BufferManager::clean(std::uint32_t number) {
  auto* const frame = &frames_[number];
  const Lock latch(frame->latch);
  if (!frame->dirty.load()) return {};
  return flush_frames({&frame, 1});
}

Status BufferManager::flush(PageId page) {
  UniqueLock table(mutex_);
  const auto found = table_.find(page.value);
  if (found == table_.end()) return {};
  const auto number = found->second;
  ++uses_[number].pins;
  table.unlock();
  auto status = clean(number);
  unpin(number);
  return status;
}

Status BufferManager::flush_all() {
  Status first;
  // In groups that share fences; what is fixed just now is waited for, one by one.
  flush_what_is_idle();
  for (std::uint32_t number = 0; number < options_.frames; ++number) {
    {
      const Lock table(mutex_);
      if (!uses_[number].mapped || !frames_[number].dirty.load()) continue;
      ++uses_[number].pins;
    }
    auto status = clean(number);
    unpin(number);
    if (!status && first) first = std::move(status);
  }
  return first;
}

Status BufferManager::free(PageId page) {
  auto fixed = fix(page, Access::kWrite);
  if (!fixed) return std::move(fixed).error();
  auto& frame = frames_[fixed->frame_];
  auto status = store_.free(page);
  if (!status && status.code() != Errc::kNotFound) return status;
  // Not in the store, but written to here: then it ends here.
  const bool only_here = !status && frame.dirty.load();
  if (HF_MUTANT("B05", frame.dirty.exchange(false), false)) dirty_count_.fetch_sub(1);
  HF_MUTANT("B05", frame.lines.clear(), void());
  frame.failed = true;  // A thread that waits for it looks again.
  {
    const Lock table(mutex_);
    table_.erase(page.value);
    uses_[fixed->frame_].mapped = false;
  }
  return only_here ? Status{} : status;
}

// Flushes what is dirty and not fixed, a group at a time. Returns how many pages; errors leave them
// dirty, for flush_all() or an eviction to report.
std::uint64_t BufferManager::flush_what_is_idle() {
  std::uint64_t flushed = 0;
  std::vector<std::uint32_t> group;
  std::vector<Frame*> frames;
  std::uint32_t number = 0;
  while (number < options_.frames) {
    group.clear(), frames.clear();
    {
      const Lock table(mutex_);
      for (; number < options_.frames && group.size() < PageStore::kGroup; ++number) {
        auto& frame = frames_[number];
        auto& use = uses_[number];
        if (!use.mapped || use.pins != 0 || !frame.dirty.load()) continue;
        if (!frame.latch.try_lock()) continue;
        ++use.pins;
        group.push_back(number), frames.push_back(&frame);
      }
    }
    if (group.empty()) break;
    if (flush_frames(frames)) flushed += group.size();
    for (const auto held : group)
      frames_[held].latch.unlock(), unpin(held);
  }
  return flushed;
}

void BufferManager::run_background() {
  UniqueLock table(mutex_);
  while (!stopping_) {
    wake_.wait_for(mutex_, std::chrono::milliseconds(options_.background_interval_ms));
    if (stopping_ || dirty_count_.load() == 0) continue;
    table.unlock();
    const auto flushed = flush_what_is_idle();
    table.lock();
    counts_.flushes_in_background += flushed;
  }
}

BufferManager::Counts BufferManager::counts() const {
  const Lock table(mutex_);
  return counts_;
}

}  // namespace holdfast::blocks
