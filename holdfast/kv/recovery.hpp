// recovery.hpp: how an open rebuilds what DRAM lost. The table of cases is in recovery.cpp.
//
// Guarantee  After run() every acknowledged record is indexed, no torn tail can revive, nothing
//            that was handed out before (sequences, generations) is handed out again. Running it
//            twice changes nothing more. A read-only recovery writes nothing.
// Cost       clean: both images + a footer per run. Otherwise: the summaries; records are read only
//            in runs that were open and where two records claim one key. Parallel over runs.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/kv/order_image.hpp>
#include <holdfast/kv/rooms.hpp>
#include <holdfast/kv/run_scan.hpp>

namespace holdfast::kv {

class Recovery {
 public:
  Recovery(Rooms& rooms, RecoveryReport& report) : rooms_(rooms), report_(report) {}
  Status run();
  // After run(): the keys in order, if a clean close stored them and the store keeps an order.
  std::unique_ptr<StoredOrder> take_order() { return std::move(order_); }

 private:
  struct Found {
    std::uint64_t hash, sequence, offset, generation;
    RecordKind kind;
    std::uint16_t space;
    std::uint64_t room;  // Up to the next record.
    bool frames;         // Frames may lie in it.
  };
  struct Tombstone {
    std::uint64_t hash;
    Line line;
    std::uint16_t space;
  };
  // A thread's books of the indexes that it enters records into.
  struct Tallies {
    OffsetMap::Tally* own = nullptr;  // Of the store's own keys.
    std::map<std::uint16_t, OffsetMap::Tally*> of_spaces;
  };

  // What the threads find out beside the index.
  struct Gathered {
    std::vector<std::uint64_t> word_missing;  // Runs that are sealed, and whose word is not.
    std::vector<ScannedRun> scanned;
    std::vector<Tombstone> tombstones;
  };

  std::uint64_t limit_word(std::uint64_t at, std::uint64_t greatest, const char* name);
  Status read_table();
  // Pins the runs of the store's mark. Where the store is looked at as it was at the mark, they are
  // all there is.
  Status read_mark();
  // What the mark that is looked at says of the run; else null.
  const MarkedRun* viewed(std::uint64_t head) const { return view_ ? view_->find(head) : nullptr; }
  std::uint64_t read_run_words(std::uint64_t block, std::uint64_t blocks);
  Status fetch_ends(std::span<const std::uint64_t> heads);
  Status make_index();
  Status read_runs();
  void read_run(std::uint64_t head, Tallies& tallies);
  void index_sealed(std::uint64_t head, const SealedRun& run, Tallies& tallies);
  bool is_sound_member(const Found& found);
  void index_scanned(ScannedRun scanned, Tallies& tallies);
  void admit(const Found& found, Tallies& tallies);
  // The index that a record of this keyspace belongs to, and this thread's books of it; null: no
  // memory, which failure_ says.
  OffsetMap* map_of(std::uint16_t space, Tallies& tallies, OffsetMap::Tally*& tally);
  Found indexed(Line line) const;
  std::uint64_t extent(const Found& found) const;
  void drop_tombstones();
  void settle_spaces();
  void forget_space(std::uint16_t space);
  Status make_writable(std::uint64_t next_generation);
  void write_back_what_was_read();
  void note(std::uint64_t offset, std::string what) HF_EXCLUDES(mutex_);
  // The first failure of a thread, or of a step behind them; kCorrupt for defects that a writing
  // open does not pass over.
  void fail(Status why) HF_EXCLUDES(mutex_);
  Status failed() HF_EXCLUDES(mutex_);
  Status refuse_defects() HF_EXCLUDES(mutex_);
  static void raise(std::atomic<std::uint64_t>& value, std::uint64_t to) {
    for (std::uint64_t seen = value.load(); seen < to && !value.compare_exchange_weak(seen, to);) {
    }
  }

  static constexpr std::size_t kFetched = 64;
  static constexpr std::uint64_t kFetchedOfEachRun = 20 * KiB;

  Rooms& rooms_;
  RecoveryReport& report_;
  CleanMark mark_{};
  std::unique_ptr<StoredOrder> order_;
  std::optional<MarkImage> view_;  // The mark that is looked at.
  std::vector<std::uint64_t> runs_, images_, orphans_;
  Gathered gathered_;                           // From read_runs() on.
  std::vector<std::uint64_t> runs_of_dropped_;  // Spaces.
  std::atomic<std::uint64_t> max_sequence_{0}, superseded_{0};
  std::uint64_t max_generation_ = 0, shared_limit_ = 0;

  // Taken by threads that read runs side by side.
  Mutex mutex_;
  Gathered gathering_ HF_GUARDED_BY(mutex_);
  std::uint64_t defects_total_ HF_GUARDED_BY(mutex_) = 0;
  Status failure_ HF_GUARDED_BY(mutex_);
};

}  // namespace holdfast::kv
