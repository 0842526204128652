// region.hpp: a mapped range of one memory tier, opened from a spec string.
//
//   dram                      anonymous memory, any node        durability none
//   node:N                    anonymous memory on NUMA node N   durability none
//   /path/to/file             one file: fsdax, plain, or tmpfs
//   /path/to/directory        a directory of equal files segment-000000, segment-000001, …
//   /dev/daxX.Y               a devdax
//   …?huge=2M|1G|off          huge pages for the mapping, where the tier allows them
//   …?granularity=byte|line|page|none   what survives a power loss; overrides what was found out
//   …?nt_evicts=on|off        overrides the CPU's property, for experiments; reported as "assumed"
//   several: …?huge=2M&granularity=line
//
// Guarantee  The range [data(), data() + size_bytes()) stays where it is until the Region is destroyed;
//            grow and shrink change its end only. Opening takes an exclusive lock (shared if read-only).
// Page tiers Where granularity() is kPage the mapping is read-only and write() is the way in; elsewhere
//            the mapping is written to with persist() and write() is a copy + persist of it.
// Threads    data(), size_bytes(), write(), sync() from any thread; grow() and shrink() from one at a time.
// Errors     kBusy (locked; names the pid), kNotFound, kIo, kNoSpace, kUnsupported, kInvalidOption.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast {

enum class RegionAccess : std::uint8_t {
  kOpen,          // Must exist; read and write.
  kOpenReadOnly,  // Must exist; shares the lock, maps read-only, writes nothing.
  kCreate,        // Must not exist (a directory may, if empty).
  kOpenOrCreate,
};

struct RegionOptions {
  RegionAccess access = RegionAccess::kOpenOrCreate;
  std::uint64_t size_bytes = 64 * MiB;       // When created. Multiple of unit_bytes; a devdax uses all it has.
  std::uint64_t unit_bytes = 64 * MiB;       // grow() and shrink() go by this; a directory's file size. Multiple of 4096.
  std::uint64_t reserve_bytes = 16 * TiB;    // Addresses set aside to grow into; halved until the system agrees.
  bool prefault = false;                     // Touch every page at open and grow, so that no first touch falls into use.
  bool tolerate_damage = false;              // Read-only only: missing or short files read as zeros and are reported.
  Status validate() const;
};

// What was really obtained, and why not better: for people (holdfast mem, tour) and for results.
struct RegionReport {
  std::string spec;               // As given.
  std::string kind;               // "dram", "node", "file", "directory", "devdax", "simulated".
  std::string file_system;        // "tmpfs", "ext4", …; empty where there is none.
  Granularity granularity = Granularity::kNone;
  std::string granularity_source; // "sysfs persistence_domain=memory_controller", "assumed (granularity=line)", …
  std::string mapping;            // "MAP_SYNC", "MAP_SHARED, no MAP_SYNC: EOPNOTSUPP", "MAP_PRIVATE anonymous", …
  std::uint64_t page_bytes = 0;   // Page size of the mapping really obtained (4096, 2 MiB, 1 GiB).
  std::string page_reason;        // Why not larger.
  WriteBackInstruction write_back = WriteBackInstruction::kNone;
  bool nt_evicts = false;
  std::string nt_evicts_source;
  std::vector<int> nodes;         // NUMA nodes that hold its pages (sampled).
  std::vector<std::string> damage;  // With tolerate_damage: what was missing.
};

namespace memory_detail {
class Backing;
}

class Region {
 public:
  static Result<Region> open(std::string_view spec, const RegionOptions& options = {});
  // For the crash checker and for tests: a Region over any backing.
  explicit Region(std::unique_ptr<memory_detail::Backing> backing);
  Region(Region&&) noexcept;
  Region& operator=(Region&&) noexcept;
  ~Region();  // Unmaps and unlocks; does not sync.

  std::byte* data() const { return data_; }
  std::uint64_t size_bytes() const;
  std::uint64_t unit_bytes() const;
  std::uint64_t max_size_bytes() const;  // How far grow() can go: the reservation, or the device.
  Granularity granularity() const { return granularity_; }
  bool read_only() const;
  const Persist& persist() const { return persist_; }

  // Page tiers: hands `bytes` to the kernel at `offset` (survives the process, not yet power loss).
  // Elsewhere: copy + persist. Errors: kIo, kNoSpace, kReadOnly.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes, HOLDFAST_SITE);
  // Everything written before is durable against power loss when it returns (page tiers: fdatasync of
  // the files written to; line and byte tiers: nothing to do; none: nothing that could be done).
  // A failed sync is reported once as kIo and for ever after as kReadOnly; it is never retried.
  Status sync(HOLDFAST_SITE);

  // New bytes read as zero, also after a crash. Durable on return. Errors: kNoSpace (nothing changed), kIo.
  Status grow(std::uint64_t new_size_bytes, HOLDFAST_SITE);
  // Gives the space beyond back to the system. Durable on return.
  Status shrink(std::uint64_t new_size_bytes, HOLDFAST_SITE);
  // Makes every page of the range present (write faults), so that no later first touch is slow.
  Status prefault(std::uint64_t offset, std::uint64_t bytes);

  RegionReport report() const;

 private:
  std::unique_ptr<memory_detail::Backing> backing_;
  std::byte* data_ = nullptr;
  Granularity granularity_ = Granularity::kNone;
  Persist persist_ = Persist::none();
};

}  // namespace holdfast
