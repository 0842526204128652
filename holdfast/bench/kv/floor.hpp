// floor.hpp: what the hardware asks for each operation: no store, the shortest loop with the same
// memory traffic and the same persist primitive.
//
// A record is 24 bytes of header (sequence, checksum's place, sizes), the key and the value,
// rounded up to lines: 256 bytes for 16/200, as in our stores. Records are appended to 1 MiB chunks
// of the region, one chunk per thread at a time. The index is one DRAM table of 8-byte offsets in 2
// MiB pages with a perfect hash: record number -> random line, no collision, nothing to search, no
// latch, no recovery.
//
//   put        index line asked for; record appended, written back, one fence; offset stored
//   put_many   the same for a batch, one fence
//   overwrite  as put, and the old record's first line is read (where it was is only known from it)
//   get        index line -> record lines -> value copied out; each step needs the one before
//   get_many   all index lines of a batch asked for, then all record lines, then copied out
//   update8    index line -> one word of the record read, changed, stored, its line written back,
//              one fence
//   erase      index line -> the old record's first line read; one line appended, written back, one
//              fence; offset cleared
//
// So a floor pays the cache misses and the fence, which no durable store with this layout can
// avoid, and the benchmark's own cost of making keys and checking values, which all subjects pay.
//
// On page tiers (a plain file) the primitive is pwrite, and pwrite + fdatasync per call under
// `power`, on a preallocated zero-filled file that is mapped for random reads. The zeros are
// written in pieces of 64 KiB: in pieces of 4 MiB, as before, the page cache held them in large
// pages, each small write walked one of those, and the floor was slower than the stores.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/bench/kv/context.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::bench::kv {

// The floor's DRAM index.
class FloorIndex {
 public:
  FloorIndex() = default;
  ~FloorIndex();
  FloorIndex(const FloorIndex&) = delete;
  FloorIndex& operator=(const FloorIndex&) = delete;

  // Room for record numbers below `numbers`; keeps what is there. Errors: kNoSpace.
  Status reserve(std::uint64_t numbers);
  std::uint64_t* entry(std::uint64_t number) const {
    return entries_ + slot(number, slots_, reciprocal_);
  }

 private:
  static constexpr std::uint64_t kOdd =
      0x9e3779b1;  // Prime, so coprime to every smaller count of slots.
  // number * kOdd modulo slots: a bijection below `slots`, without a division.
  static std::uint64_t slot(std::uint64_t number, std::uint64_t slots, std::uint64_t reciprocal) {
    const auto x = number * kOdd;
    const auto remainder = x - scaled(x, reciprocal) * slots;
    return remainder >= slots ? remainder - slots : remainder;
  }
  void release();

  std::uint64_t* entries_ = nullptr;
  std::uint64_t numbers_ = 0, slots_ = 1, reciprocal_ = 0;
  std::uint64_t mapped_bytes_ = 0;
};

// Where the floor's records lie: a Region, or on page tiers a plain file.
class FloorMedium {
 public:
  ~FloorMedium() { remove(); }
  Status open(const std::string& spec, bool sync_each_call);
  // At least `bytes` more can be appended, prefaulted.
  Status reserve(std::uint64_t bytes);
  void remove();

  // A chunk of kChunkBytes nobody else has, or kNoOffset.
  std::uint64_t take_chunk();
  static constexpr std::uint64_t kChunkBytes = MiB;
  static constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

  std::byte* data() const { return data_; }
  const Persist& persist() const { return persist_; }
  bool is_file() const { return file_ >= 0; }
  bool sync_each_call() const { return sync_each_call_; }
  int file() const { return file_; }
  const RegionReport& report() const { return report_; }

 private:
  Status open_file(const std::string& path);
  Status grow_file(std::uint64_t size_bytes);

  std::optional<Region> region_;
  RegionReport report_;
  std::string path_;
  std::byte* data_ = nullptr;
  Persist persist_ = Persist::none();
  int file_ = -1;
  bool sync_each_call_ = false;
  std::uint64_t size_bytes_ = 0;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace holdfast::bench::kv
