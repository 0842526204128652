// region.hpp: a mapped range of one memory tier, opened from a spec string.
// Public header.
//
//   dram                      anonymous memory, any node
//   node:N                    anonymous memory on NUMA node N
//   node:N,M,…                the same in stripes of 32 MiB, on these nodes in turn
//   /path/to/file             one file: fsdax, plain, or tmpfs
//   /path/to/directory        a directory of equal files segment-000000, segment-000001, …; with
//                             RegionOptions.file_bytes the last one may be shorter
//   /dev/daxX.Y               a devdax
//   …?huge=2M|1G|off          huge pages for the mapping, where the tier allows them; without it,
//                             2 MiB pages where the kernel gives them without a pool
//   …?granularity=byte|line|page|none   what survives a power loss; overrides what was found out
//   …?nt_evicts=on|off        overrides the CPU's property, for experiments; reported as "assumed"
//   several: …?huge=2M&granularity=line
//
// Guarantee  The range [data(), data() + size_bytes()) stays where it is until the Region is
//            destroyed; grow and shrink change its end only. Opening takes an exclusive lock
//            (shared if read-only) that ends with the Region or with the process, however it dies.
// Page tiers Where granularity() is kPage, the mapping is read-only and write() is the way in.
//            Elsewhere the mapping is written to with persist(), and write() is copy + persist.
// Crashes    A file or segment appears whole or not at all; an interrupted grow or shrink leaves a
//            region of a size between the old and the new one, whose bytes beyond the old size are
//            zero.
// Damage     A file that is missing, too short or of odd size is kCorrupt at open and names the
//            file. Not covered: a file truncated by somebody else while it is open. The kernel then
//            answers a load from the missing part with SIGBUS; the lock keeps Holdfast's own
//            processes from it.
// Sharing    Several objects may live in one region, each in an extent of its own. claim() notices
//            two that overlap.
// Reading    A file on a disk is mapped for random reads: a fault reads its page and nothing ahead.
//            Call advise() before a range is read from end to end, or read_ahead() for it. fetch()
//            brings many ranges at once, and tells errors of the device.
// Threads    All of it from any thread, but grow() and shrink() from one at a time.
// Errors     kBusy (locked; names the pid), kNotFound, kAlreadyExists, kCorrupt, kIo, kNoSpace,
//            kUnsupported, kInvalidOption.
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
#include <holdfast/memory/claim.hpp>
#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast {

enum class RegionAccess : std::uint8_t {
  kOpen,          // Must exist; read and write. Anonymous memory never exists.
  kOpenReadOnly,  // Must exist; shares the lock, maps read-only, writes nothing.
  // Must not exist (a directory may, if empty, and a file of no bytes; a devdax does).
  kCreate,
  kOpenOrCreate,
};

// What a path that does not exist yet becomes. One that ends in '/' becomes a directory in any
// case.
enum class RegionLayout : std::uint8_t { kDirectory, kFile };

struct RegionOptions {
  RegionAccess access = RegionAccess::kOpenOrCreate;
  RegionLayout layout = RegionLayout::kDirectory;
  // When created: multiple of unit_bytes. An existing region keeps its size. A devdax gives all it
  // has, and its contents as they are: a structure created on it must not expect zeros.
  std::uint64_t size_bytes = 64 * MiB;
  // The step of grow() and shrink(), and the size of a directory's files. Multiple of 4096. An
  // existing directory keeps its own.
  std::uint64_t unit_bytes = 64 * MiB;
  // Not 0: a directory's files have this size, a multiple of unit_bytes. The last file is as long
  // as the region needs, so a small region is small. An existing directory keeps its own; any
  // multiple of 4096 is taken then.
  std::uint64_t file_bytes = 0;
  // How far it may grow. Few addresses are set aside for it at first and more when they are needed;
  // where other mappings lie in the way by then, grow() is kNoSpace.
  std::uint64_t reserve_bytes = 16 * TiB;
  // Touch every page at open and grow, so that none is touched first in use.
  bool prefault = false;
  bool tolerate_damage = false;  // Read-only only: missing parts read as zeros and are reported.
  Status validate() const;       // kInvalidOption, naming the field, the value seen and the rule.
};

// What was really obtained, and why not better: for people (holdfast mem, tour) and for results.
struct RegionReport {
  std::string spec;         // As given.
  std::string kind;         // "dram", "node", "file", "directory", "devdax", "simulated".
  std::string file_system;  // "tmpfs", "ext4", …; empty where there is none.
  Granularity granularity = Granularity::kNone;
  // "sysfs persistence_domain=memory_controller (…)", "assumed (granularity=line); found: none, …"
  std::string granularity_source;
  // "MAP_SYNC", "MAP_SHARED, no MAP_SYNC: EOPNOTSUPP", "MAP_PRIVATE anonymous", …
  std::string mapping;
  std::uint64_t page_bytes = 0;  // Page size of the mapping really obtained (4096, 2 MiB, 1 GiB).
  std::string page_reason;       // Why not larger.
  WriteBackInstruction write_back = WriteBackInstruction::kNone;
  bool nt_evicts = false;
  std::string nt_evicts_source;
  std::vector<int> nodes;           // NUMA nodes that hold its pages (sampled).
  std::vector<std::string> damage;  // With tolerate_damage: what was missing.

  // Whether only the spec says that flushes are durable here, and what was found is less.
  bool power_is_assumed() const;
};

// How a range will be read, as far as the kernel can make use of it.
enum class ReadAdvice : std::uint8_t {
  kNormal,      // The kernel reads ahead as the device is set up: up to megabytes around a fault.
  kRandom,      // Nothing is read ahead. What files on a disk are mapped with.
  kSequential,  // Much is read ahead, and what lies behind may be dropped soon.
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
  std::uint64_t max_size_bytes() const;  // How far grow() may go: reserve_bytes, or the device.
  Granularity granularity() const { return granularity_; }
  bool read_only() const;
  const Persist& persist() const { return persist_; }

  // Page tiers: hands the bytes to the kernel at `offset` (survives the process, not yet power
  // loss); of a failed write any part may have arrived. Elsewhere: copy + persist, with one fence.
  // Errors: kInvalidOption (outside of the region), kReadOnly, kIo, kNoSpace.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes, HF_SITE);
  // The same for several buffers, one after another from `offset` on, in one gathered system call
  // per file. Empty buffers are allowed.
  Status write(std::uint64_t offset, std::span<const std::span<const std::byte>> buffers, HF_SITE);
  // Every write() that returned before is durable against power loss when this returns. Page tiers:
  // fdatasync of the files written since their last one, some 100 µs each; concurrent calls wait
  // for one another. Line and byte tiers: nothing to do. None: nothing that could be done.
  // A failed sync is reported once as kIo and always after as kReadOnly. It is never retried,
  // since the kernel may have dropped what it could not write.
  Status sync(HF_SITE);

  // `new_size_bytes` is a multiple of unit_bytes(). New bytes read as zero, also after a crash.
  // Durable on return. Errors: kNoSpace (nothing changed), kInvalidOption, kReadOnly, kUnsupported
  // (devdax), kIo.
  Status grow(std::uint64_t new_size_bytes, HF_SITE);
  // Gives the space beyond back to the system. At least one unit stays. Durable on return.
  Status shrink(std::uint64_t new_size_bytes, HF_SITE);
  // Makes every page of the range present, so that no later first touch is slow (write faults; on
  // page and read-only mappings read faults). Changes no byte. Errors: kInvalidOption, kNoSpace.
  Status prefault(std::uint64_t offset, std::uint64_t bytes);

  // Says how the range (whole pages around it) will be read from now on, until it is said
  // otherwise. For files on a disk without DAX; elsewhere nothing is read ahead, and nothing is
  // done. A system call of some microseconds. What is grown later is mapped for random reads again.
  // The kernel may refuse, and reads are then as before. Errors: kInvalidOption (outside of the
  // region).
  Status advise(std::uint64_t offset, std::uint64_t bytes, ReadAdvice advice);

  // For files on a disk without DAX; elsewhere there is nothing to read, and all of it is there.
  // read_ahead() asks the kernel for all the ranges at once and does not wait for any. fetch() also
  // waits. Loads from the ranges then do not wait for the device, unless the kernel takes the pages
  // back first. Where the device fails, fetch() says so; a load would end the process (SIGBUS).
  // resident() says whether all of the range is in memory now. System calls of some 0.5 us for each
  // range. Errors: kInvalidOption (outside of the region), kIo (fetch only).
  Status read_ahead(std::span<const Extent> ranges);
  Status fetch(std::span<const Extent> ranges);
  bool resident(const Extent& range) const;

  // For an object that is about to use a range: until its Claim goes, no other object gets a range
  // that overlaps. `owner` says what the object is, for the error that the next claim gets. In a
  // read-only region any number may share. Errors: kBusy (names the ranges and the owner),
  // kInvalidOption (empty, or outside of the region).
  Result<Claim> claim(const Extent& extent, std::string_view owner);

  // Two fields of the report, without its cost.
  std::string_view kind() const;
  std::span<const std::string> damage() const;
  // Reads the page tables of the whole process through /proc: some ms per GiB that it has mapped.
  RegionReport report() const;

 private:
  std::unique_ptr<memory_detail::Backing> backing_;
  std::shared_ptr<memory_detail::Claims> claims_;
  std::byte* data_ = nullptr;
  Granularity granularity_ = Granularity::kNone;
  Persist persist_ = Persist::none();
};

}  // namespace holdfast
