// medium.hpp: a simulated persistent medium. It records every store made through memory/persist.hpp
// and knows, at any moment, what is durable and what is pending under a Model.
//
// Holds     Three images of one size: the arena, which the program maps and changes; the recorded
//           image, which the arena must equal if every store was reported; the durable image,
//           which is what a crash leaves at the least. And, for each line (or sector), the pending
//           stores in program order.
// Images    A medium with a parent can take the shape of any crash state of the parent. load()
//           takes time in proportion to the lines that differ, not to the size. The image lies at
//           another address than its parent.
// Threads   The reporting calls lock. A crash point runs under that lock, so the medium does not
//           change meanwhile.
// Costs     One comparison of arena and record per fence: in proportion to the size.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <holdfast/crash/model.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/memory/trace.hpp>

namespace holdfast::crash {

// A store that the medium may or may not hold: a whole aligned word, or one byte of a partial one.
struct PendingStore {
  std::uint64_t sequence = 0;   // Order of execution within this medium.
  std::uint64_t value = 0;      // Low `bytes` bytes.
  std::uint64_t marked_by = 0;  // One bit per thread that has written its line back since.
  std::source_location site;
  std::uint32_t thread = 0;
  std::uint8_t offset = 0;  // In its line.
  std::uint8_t bytes = 8;   // 1 or 8.
  bool streamed = false;
};

// A state that a sector had since its last sync.
struct SectorVersion {
  std::uint64_t sequence = 0;
  std::source_location site;
  std::uint32_t thread = 0;
  std::array<std::byte, kSectorBytes> content{};
};

// What one thread asked of the medium. A redundant write-back found its line clean; a redundant
// fence or sync found nothing to make durable.
struct StepCounts {
  std::uint64_t fences = 0;
  std::uint64_t lines_written_back = 0;
  std::uint64_t lines_streamed = 0;
  std::uint64_t syncs = 0;
  std::uint64_t redundant_fences = 0;
  std::uint64_t redundant_write_backs = 0;
  std::uint64_t redundant_syncs = 0;

  std::uint64_t barriers() const { return fences + syncs; }
  StepCounts operator-(const StepCounts& earlier) const;
  StepCounts& operator+=(const StepCounts& other);
  friend bool operator==(const StepCounts&, const StepCounts&) = default;
};

struct MediumOptions {
  Model model;
  std::uint64_t size_bytes = 64 * KiB;  // Multiple of unit_bytes.
  std::uint64_t unit_bytes = 64 * KiB;  // Multiple of 4096.
  std::uint64_t max_size_bytes = 16 * MiB;
};

class Medium final : public TraceSink {
 public:
  explicit Medium(const MediumOptions& options, Medium* parent = nullptr);
  ~Medium() override;
  Medium(const Medium&) = delete;
  Medium& operator=(const Medium&) = delete;

  // A Region over this medium; any number may be alive, all see the same bytes.
  Region open();

  // Called at each crash point, before the step takes effect (kAfterResize, kStore: after it).
  std::function<void(PointKind, const std::source_location&)> on_point;
  // A mistake of the program under test that needs no crash to be one.
  std::function<void(std::string)> on_error;

  // Takes the parent's crash state in which `cells[i]` is in `states[i]`; no list: nothing pending
  // kept.
  void load(std::span<const std::uint32_t> cells, std::span<const CellState> states);
  // Takes what a kill of the parent's program leaves, the caches kept: each byte as it was after
  // store number `sequence`, and what was pending is so still. A line that was written back and not
  // fenced is as pending as one that was not: nobody is left to wait for it. `sequence` is not
  // before the parent's last fence, sync or resize.
  void load_killed(std::uint64_t sequence);

  const Model& model() const { return options_.model; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  std::byte* data() const { return arena_; }
  const std::byte* durable() const { return durable_; }
  // Identifies the durable image (bytes and size); equal images have equal hashes in all media.
  std::uint64_t durable_hash() const { return hash_with(0); }
  // The hash of the durable image changed by cells whose hash_delta() add up to `delta`.
  std::uint64_t hash_with(std::uint64_t delta) const;
  // Identifies what a kill after the store number `sequence` leaves: the durable image and what is
  // pending. Nothing if nothing is: then it is the durable image itself.
  std::optional<std::uint64_t> killed_hash(std::uint64_t sequence) const;

  // The cells with anything pending, ascending.
  std::vector<std::uint32_t> dirty_cells() const;
  std::size_t cell_bytes() const { return page_mode() ? kSectorBytes : kCacheLineBytes; }
  bool page_mode() const { return options_.model.granularity == Granularity::kPage; }
  std::span<const PendingStore> pending_stores(std::uint32_t line) const { return lines_[line]; }
  std::span<const SectorVersion> pending_versions(std::uint32_t sector) const {
    return sectors_[sector];
  }
  // Content of a cell in a state; `out` has cell_bytes().
  void render(std::uint32_t cell, const CellState& state, std::byte* out) const;
  // Everything pending kept.
  CellState newest(std::uint32_t cell) const;
  // How the image's hash changes when the cell goes from durable to `state`.
  std::uint64_t hash_delta(std::uint32_t cell, const CellState& state) const;

  // The first pending store of `thread` after `sequence` whose loss would change a byte, outside of
  // the hint ranges; nothing if all of it is durable.
  struct PendingByte {
    std::uint64_t offset;
    std::source_location site;
  };
  std::optional<PendingByte> first_pending(std::uint32_t thread,
                                           std::uint64_t after_sequence) const;
  // Bytes that an operation may leave pending when it is acknowledged: hints that recovery can do
  // without.
  void declare_hint(std::uint64_t offset, std::uint64_t bytes);
  // Offset of a byte changed without a report, if any.
  std::optional<std::uint64_t> find_bypass() const;
  // Reports such a byte to on_error. While nothing moves. Where the program's threads are known,
  // every fence, sync, resize and Region::write does it as well.
  void check_bypass(const std::source_location& site);

  std::uint64_t sequence() const { return sequence_; }
  std::uint32_t thread_slot();  // Of the calling thread: 0, 1, … in order of appearance; below 64.
  StepCounts counts(std::uint32_t thread) const;
  // Redundant steps by "file:line".
  const std::map<std::string, std::uint64_t>& redundant_sites() const { return redundant_sites_; }
  std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

  // TraceSink.
  void on_store(const void* to, std::size_t bytes, const std::source_location& site) override;
  void on_stream(const void* to, std::size_t bytes, const std::source_location& site) override;
  void on_write_back(const void* begin, std::size_t bytes,
                     const std::source_location& site) override;
  void on_fence(const std::source_location& site) override;
  void on_region_call(const std::source_location& site) override;
  bool drops(Step step, const std::source_location& site) override;
  void on_wait() override;

  // What its Region does.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes);
  Status sync();
  Status resize(std::uint64_t new_size_bytes);  // Region has checked the size.
  const MediumOptions& options() const { return options_; }

 private:
  // The medium that a report by this thread is for: this one, or one further up that the thread
  // used last.
  Medium* owner_of(const void* address);
  Medium* bound_medium();
  bool contains(const void* address) const;
  void record(const void* to, std::size_t bytes, bool streamed, const std::source_location& site);
  void add_pending(std::uint64_t offset, std::size_t bytes, bool streamed, std::uint32_t thread,
                   const std::source_location& site);
  void fence(const std::source_location& site);
  void settle_line(std::uint32_t line, std::uint64_t thread_bit);
  void make_durable(std::uint64_t offset, const std::byte* bytes, std::size_t count);
  void set_clean(std::uint32_t cell);
  void set_dirty(std::uint32_t cell);
  void touch_line(std::uint32_t line);
  void restore_line(std::uint32_t line);
  void restore();
  void keep_pending(std::uint32_t cell, std::uint64_t sequence);
  void make_room(std::uint64_t size_bytes);
  void set_size(std::uint64_t size_bytes);
  void check_bypass_in_passing(const std::source_location& site);
  void count_redundant(const char* step, const std::source_location& site);
  void point(PointKind kind, const std::source_location& site);
  void error(std::string text);

  MediumOptions options_;
  Medium* parent_;
  Medium* child_ = nullptr;
  std::uint64_t size_bytes_;
  std::byte* arena_ = nullptr;  // What the program maps. No access beyond size_bytes_.
  std::byte* recorded_ = nullptr;
  std::byte* durable_ = nullptr;
  std::uint64_t bytes_hash_ = 0;  // Of durable_; zero words count nothing.

  std::vector<std::vector<PendingStore>> lines_;     // By line.
  std::vector<std::vector<SectorVersion>> sectors_;  // By sector; page mode.
  std::vector<std::uint32_t> dirty_;                 // Cells with anything pending, unordered.
  std::vector<std::uint32_t> dirty_position_;        // By cell: its place in dirty_ + 1, or 0.
  std::vector<std::uint32_t> touched_;  // Lines that may differ from the parent's durable.
  std::vector<bool> is_touched_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> hints_;  // [begin, end).

  // byte: stores of a thread since its last fence. They may be in its store buffer.
  struct Unfenced {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t sequence;
    std::source_location site;
  };
  struct Thread {
    std::uint64_t id = 0;
    StepCounts counts;
    std::vector<std::uint32_t> marked_lines;
    std::vector<Unfenced> unfenced;
  };
  std::vector<Thread> threads_;
  std::uint64_t sequence_ = 0;
  std::map<std::string, std::uint64_t> redundant_sites_;
  mutable std::recursive_mutex mutex_;
};

// "holdfast/kv/store.cpp:123": relative to the source tree where it lies in it.
std::string to_string(const std::source_location& site);

}  // namespace holdfast::crash
