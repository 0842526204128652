// buffer_manager.hpp: pages of a page store in DRAM. Fix one, change it, unfix it; the buffer
// manager writes it back.
// Public header.
//
//   auto page = buffers.fix(PageId{7}, Access::kWrite);      // Result<FixedPage>
//   page->write(128, bytes_of(record));                      // Marks the lines it touches.
//                                                            // Unfixed when `page` goes.
//   buffers.flush_all();                                     // Durable now.
//
// Guarantee  A page that was changed reaches the store whole or not at all (page_store.hpp), at
//            any time after its unfix, at the latest in flush() or flush_all(). A crash loses the
//            changes since a page's last flush. A program that must not lose them writes a log
//            first, and makes it durable up to what the pages hold in `before_flush`.
// Eviction   Clock: a page that was fixed lately gets a second chance; a page in use is never
//            evicted. A background thread flushes dirty pages ahead of the hand, in groups that
//            share fences, so that an eviction rarely waits.
// Latches    A fixed page is latched: any number of readers or one writer. Threads that fix
//            several at a time must do so in one order (say, ascending), or they wait for each
//            other without end. With all frames fixed, fix() fails; it does not wait for one.
//            flush(), flush_all() and free() wait for latches: do not call them with a page fixed.
// Threads    Any. A FixedPage stays on the thread that got it.
// Small on purpose: one table, one mutex around it, one latch per frame.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/blocks/page/page_store.hpp>

namespace holdfast::blocks {

struct BufferOptions {
  std::uint32_t frames = 1024;  // Pages in DRAM; 1 or more.
  // Flushes dirty pages once more than a quarter of the frames is dirty, and every so often.
  bool background = true;
  std::uint32_t background_interval_ms = 20;  // 1 to 60,000.
  // Called with the pages of each group before it is flushed, their latches held: makes durable
  // what must precede them. An error keeps them dirty.
  std::function<Status(std::span<const PageId>)> before_flush;
  Status validate() const;  // kInvalidOption, naming the field, the value seen and the rule.
};

enum class Access : std::uint8_t { kRead, kWrite };

// Readers together or one writer; threads that wait sleep. A frame holds now one page, now another,
// so latches have no order of their own. Callers fix pages in one order, so they do not wait in a
// circle. A FixedPage keeps one from function to function, which clang cannot follow.
class PageLatch {
 public:
  bool try_lock() {
    auto none = 0;
    return state_.compare_exchange_strong(none, kWriter, std::memory_order_acquire);
  }
  void lock() {
    while (!try_lock())
      wait_while([](int state) { return state != 0; });
  }
  void unlock() {
    state_.store(0, std::memory_order_release);
    state_.notify_all();
  }
  void lock_shared() {
    for (auto state = state_.load(std::memory_order_relaxed);;) {
      if (state == kWriter) {
        wait_while([](int now) { return now == kWriter; });
        state = state_.load(std::memory_order_relaxed);
      } else if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) {
        return;
      }
    }
  }
  void unlock_shared() {
    if (state_.fetch_sub(1, std::memory_order_release) == 1) state_.notify_all();
  }

 private:
  static constexpr int kWriter = -1;
  template <class F>
  void wait_while(F&& taken) {
    const auto state = state_.load(std::memory_order_relaxed);
    if (taken(state)) state_.wait(state, std::memory_order_relaxed);
  }
  std::atomic<int> state_{0};  // Readers, or kWriter.
};

class BufferManager;

// A page that stays where it is, latched, while this lives.
class FixedPage {
 public:
  FixedPage(FixedPage&& other) noexcept;
  FixedPage& operator=(FixedPage&& other) noexcept;
  ~FixedPage();

  PageId id() const;
  std::span<const std::byte> bytes() const;
  // With kWrite only. The bytes lie inside of the page: checked, our caller's mistake stops it.
  void write(std::uint32_t offset, std::span<const std::byte> bytes);
  // The range, to be changed in place; its lines count as dirty.
  std::span<std::byte> change(std::uint32_t offset, std::uint32_t bytes);

 private:
  friend class BufferManager;
  FixedPage(BufferManager& buffers, std::uint32_t frame, Access access)
      : buffers_(&buffers), frame_(frame), access_(access) {}
  BufferManager* buffers_;
  std::uint32_t frame_;
  Access access_;
};

class BufferManager {
 public:
  // `store` outlives it. Errors: kInvalidOption.
  static Result<std::unique_ptr<BufferManager>> create(PageStore& store,
                                                       BufferOptions options = {});
  // Ends the background thread. Changes that were not flushed are lost: flush_all() first.
  ~BufferManager();

  // A page that does not exist yet is zeros to a writer, and comes to exist with its first flush.
  // Errors: kNotFound (a reader's page does not exist), kInvalidOption (page number), kNoSpace (all
  // frames are fixed), what the store's flush or before_flush says (evicting a dirty page).
  Result<FixedPage> fix(PageId page, Access access);
  // Durable when it returns; nothing to do for a page that is clean or not here. Waits until no
  // thread has it fixed. Errors: the store's, before_flush's.
  Status flush(PageId page);
  // All that were unfixed before the call. Goes on after an error and returns the first one.
  Status flush_all();
  // Removes the page, here and in the store. Waits until no thread has it fixed. Errors: kNotFound,
  // the store's.
  Status free(PageId page);

  struct Counts {
    std::uint64_t hits, misses, evictions, flushes_by_eviction, flushes_in_background;
  };
  Counts counts() const;

  BufferManager(const BufferManager&) = delete;
  BufferManager& operator=(const BufferManager&) = delete;

 private:
  friend class FixedPage;
  struct Frame {
    std::byte* content = nullptr;
    PageId page;  // Changes with the table's mutex held, where nobody has a pin.
    // Under `latch`; `dirty` may be peeked at.
    PageLatch latch;
    LineSet lines;
    std::atomic<bool> dirty{false};
    bool failed = false;  // Could not be read: threads that waited for it try again.
  };
  struct Use {                // Of a frame.
    std::uint32_t pins = 0;   // A pinned frame keeps its page.
    std::uint32_t held = 0;   // Of them, those of FixedPages, which only their owners end.
    bool mapped = false;      // Holds a page that the table knows.
    bool referenced = false;  // Fixed since the hand came by.
  };

  BufferManager(PageStore& store, BufferOptions options);
  using TableLock = UniqueLock<KernelMutex>;
  Result<std::uint32_t> take_frame(TableLock& table) HF_REQUIRES(mutex_);
  // Lets go of the table while `work` runs. clang cannot follow a guard that is passed on.
  template <class F>
  auto apart(TableLock& table, F&& work) HF_REQUIRES(mutex_) HF_NO_THREAD_SAFETY_ANALYSIS {
    table.unlock();
    auto result = work();
    table.lock();
    return result;
  }
  Status load(Frame& frame, Access access);
  // Latched exclusively, all of them, and dirty.
  Status flush_frames(std::span<Frame* const> frames);
  Status clean(std::uint32_t frame);  // Latches.
  void unfix(std::uint32_t frame, Access access);
  void unpin(std::uint32_t frame);
  std::uint64_t flush_what_is_idle();
  void run_background();

  PageStore& store_;
  const BufferOptions options_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Frame[]> frames_;

  mutable KernelMutex mutex_;
  std::unordered_map<std::uint32_t, std::uint32_t> table_ HF_GUARDED_BY(mutex_);  // Page to frame.
  std::vector<Use> uses_ HF_GUARDED_BY(mutex_);                                   // By frame.
  std::uint32_t hand_ HF_GUARDED_BY(mutex_) = 0;
  Counts counts_ HF_GUARDED_BY(mutex_){};
  std::atomic<std::uint32_t> dirty_count_{0};

  Condition wake_;
  bool stopping_ HF_GUARDED_BY(mutex_) = false;
  std::thread background_;
};

}  // namespace holdfast::blocks
