// pages.hpp: addresses and the pages behind them: reservation, mapping, huge pages, prefault, and
// what the kernel really gave. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::memory_detail {

inline constexpr std::uint64_t kHugePageBytes = 2 * MiB;
inline constexpr std::uint64_t kGiantPageBytes = 1 * GiB;

// A contiguous range of addresses set aside, without memory, for a region to grow into.
class AddressRange {
 public:
  AddressRange() = default;
  AddressRange(AddressRange&& other) noexcept { *this = std::move(other); }
  AddressRange& operator=(AddressRange&& other) noexcept;
  ~AddressRange();  // Unmaps whatever was mapped into it.

  // Sets `least` bytes aside, and some more, where up to `most` can follow: it looks for a gap of
  // `most` bytes, halves that until the system has one, and keeps its front. So ranges lie far
  // apart as long as there is room, and each of hundreds could grow to a terabyte.
  // `alignment` is a power of two. Errors: kNoSpace.
  static Result<AddressRange> reserve(std::uint64_t most, std::uint64_t least,
                                      std::uint64_t alignment);
  // Sets addresses behind the range aside, so that it has `bytes` or more. Some system calls at
  // each doubling. Errors: kNoSpace: something else lies there; nothing changed.
  Status extend(std::uint64_t bytes);

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }  // Set aside.
  std::uint64_t most() const { return most_; }    // What extend() may be asked for.

  // Takes memory out of [offset, offset + bytes) again; the addresses stay set aside.
  Status release(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t most_ = 0;
};

// Maps [offset, offset + bytes) of an open file to `address`, which is inside an AddressRange.
// With `sync` as MAP_SYNC. Returns 0 or errno.
int map_file(std::byte* address, std::uint64_t bytes, int fd, std::uint64_t offset, bool writable,
             bool sync);

// Tells the kernel which pages are wanted; a refusal only shows in what is obtained.
void advise_pages(std::byte* begin, std::uint64_t bytes, HugePages huge);

// Tells the kernel how the range will be read; whole pages. A refusal changes nothing.
void advise_reads(std::byte* begin, std::uint64_t bytes, ReadAdvice advice);

// Asks the kernel to read the range of a file now, whatever advise_reads() said. Does not wait.
void read_ahead(std::byte* begin, std::uint64_t bytes);

// Whether every page of the range, at most 1 MiB, is in memory. False where the kernel does not
// say.
bool all_resident(const std::byte* begin, std::uint64_t bytes);

// Makes every page present: for writing, or for reading. Contents do not change, also not under
// other threads' stores. Returns 0 or errno (ENOSPC, ENOMEM: no memory for all).
int populate(std::byte* begin, std::uint64_t bytes, bool writable);

// Asks the kernel to put 2 MiB pages in place of 4 KiB ones that are there. Returns 0 or errno.
int collapse(std::byte* begin, std::uint64_t bytes);

struct PagesObtained {
  // The mapping's own: 2 MiB only from a huge page pool.
  std::uint64_t kernel_page_bytes = kPageBytes;
  std::uint64_t resident_bytes = 0;
  std::uint64_t huge_bytes = 0;  // Of them, in 2 MiB pages by the grace of the kernel.
};
// From /proc/self/smaps. Walks the page tables: some ms per GiB.
PagesObtained pages_obtained(const std::byte* begin, std::uint64_t bytes);

// NUMA nodes of up to 256 pages spread over the range, ascending; pages not present do not count.
std::vector<int> nodes_of(const std::byte* begin, std::uint64_t bytes);

// The selected word of a sysfs choice: "always [madvise] never" is "madvise".
std::string selected(const std::string& choices);

}  // namespace holdfast::memory_detail
