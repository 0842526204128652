// recovery.hpp: how an open rebuilds what DRAM lost. The table of cases is in recovery.cpp.
//
// Guarantee  After run() every acknowledged record is indexed, no torn tail can revive, nothing
// that
//            was handed out before (sequences, generations) is handed out again. Running it twice
//            changes nothing more. A read-only recovery writes nothing.
// Cost       clean: index image + a footer per run. Otherwise: the summaries; records are read only
// in
//            runs that were open and where two records claim one key. Parallel over runs.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

std::uint64_t clean_mark_checksum(const CleanMark& mark, std::uint64_t store_id);

// The footer of a sealed run and where its tail begins; false if it is not valid.
bool read_footer(const Medium& medium, const Geometry& geometry, const BlockTable& table,
                 std::uint64_t head, RunFooter& footer, const std::byte*& tail);

class Recovery {
 public:
  explicit Recovery(StoreCore& core) : core_(core) {}
  Status run();

 private:
  struct Found {
    std::uint64_t hash, sequence, offset, generation;
    std::uint32_t ordinal;
    RecordKind kind;
    std::uint64_t padded_bytes;  // With the frame behind it, if there is one:
    bool frames;                 // There may be one.
  };
  struct Scanned {
    std::uint64_t head;
    std::vector<Lane::Entry> entries;
    std::uint64_t used_bytes, frame_bytes;
  };
  struct Tombstone {
    std::uint64_t hash;
    Line line;
  };

  Status read_table();
  Status make_index();
  bool load_image();
  Status read_runs();
  void read_run(std::uint64_t head);
  void index_sealed(std::uint64_t head, const RunFooter& footer, const std::byte* tail);
  void scan_open(std::uint64_t head);
  void admit(const Found& found);
  Found indexed(std::uint64_t offset) const;
  std::uint64_t extent(std::uint64_t offset, std::uint64_t room, bool frames) const;
  void drop_tombstones();
  Status make_writable();
  void note(std::uint64_t offset, std::string what);
  static void raise(std::atomic<std::uint64_t>& value, std::uint64_t to) {
    for (std::uint64_t seen = value.load(); seen < to && !value.compare_exchange_weak(seen, to);) {
    }
  }

  StoreCore& core_;
  CleanMark mark_{};
  std::vector<std::uint64_t> runs_, images_, orphans_;
  std::vector<std::uint64_t> word_missing_;  // Runs that are sealed but whose word does not say so.
  std::vector<Scanned> scanned_;
  std::vector<Tombstone> tombstones_;
  std::atomic<std::uint64_t> max_sequence_{0}, superseded_{0};
  std::uint64_t max_generation_ = 0;
  std::uint64_t defects_total_ = 0;
  Status failure_;
  std::mutex mutex_;
};

}  // namespace holdfast::kv
