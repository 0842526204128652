#include <holdfast/memory/pages.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/memory/system.hpp>

// Of newer kernels than Debian 12's headers or of the kernel's own ones.
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace holdfast::memory_detail {
namespace {

// What the kernel gives a process that does not ask for more by name (x86-64).
constexpr std::uint64_t kAddressesMax = 128 * TiB;

// ThreadSanitizer keeps several shadow bytes for each byte of an address range, and touches them
// when the range is mapped: 16 TiB would take minutes there instead of being refused.
#ifdef HF_TSAN
constexpr std::uint64_t kReserveMax = 64 * GiB;
#else
constexpr std::uint64_t kReserveMax = kAddressesMax;
#endif
// Set aside from the start: so much, or twice the present size.
constexpr std::uint64_t kFirstReserve = 64 * GiB;

void* reserve_addresses(void* at, std::uint64_t bytes, int flags) {
  return ::mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

// Page by page, for kernels (and valgrind) without MADV_POPULATE_*.
void touch(std::byte* begin, std::uint64_t bytes, bool writable) {
  const auto step = physical_page_bytes();
  for (std::uint64_t at = 0; at < bytes; at += step) {
    auto* word = reinterpret_cast<std::uint64_t*>(begin + at);
    if (writable) {
      std::atomic_ref<std::uint64_t>(*word).fetch_or(0, std::memory_order_relaxed);
    } else {
      static_cast<void>(*static_cast<const volatile std::uint64_t*>(word));
    }
  }
}

}  // namespace

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(most_, other.most_);
  return *this;
}

AddressRange::~AddressRange() {
  if (data_) ::munmap(data_, bytes_);
}

Result<AddressRange> AddressRange::reserve(std::uint64_t most, std::uint64_t least,
                                           std::uint64_t alignment) {
  if (least > kAddressesMax) {
    return Error{Errc::kNoSpace, std::to_string(least) +
                                     " bytes are more than a process has addresses for (" +
                                     std::to_string(kAddressesMax) + ")"};
  }
  most = round_up(std::max(std::min(most, kReserveMax), least), alignment);
  least = round_up(least, alignment);
  for (auto gap = most;; gap = std::max(round_up(gap / 2, alignment), least)) {
    void* base = reserve_addresses(nullptr, gap + alignment, 0);
    if (base != MAP_FAILED) {
      const auto start = reinterpret_cast<std::uintptr_t>(base);
      const auto aligned = round_up(start, alignment);
      if (aligned > start) ::munmap(base, aligned - start);
      // What follows stays free for extend().
      const auto kept = std::min(gap, std::max(kFirstReserve, round_up(2 * least, alignment)));
      const auto end = start + gap + alignment;
      ::munmap(reinterpret_cast<void*>(aligned + kept), end - (aligned + kept));
      AddressRange range;
      range.data_ = reinterpret_cast<std::byte*>(aligned);
      range.bytes_ = kept;
      range.most_ = most;
      return range;
    }
    if (gap <= least) {
      auto error = system_error("mmap of address space", std::to_string(gap) + " bytes", errno);
      error.code = Errc::kNoSpace;
      error.detail.append("; is the process's address space limited (ulimit -v)?");
      return error;
    }
  }
}

Status AddressRange::extend(std::uint64_t bytes) {
  if (bytes <= bytes_) return {};
  for (auto wanted = std::min(most_, std::max(bytes, 2 * bytes_));; wanted = bytes) {
    std::byte* const end = data_ + bytes_;
    void* const got = reserve_addresses(end, wanted - bytes_, MAP_FIXED_NOREPLACE);
    if (got == end) {
      bytes_ = wanted;
      return {};
    }
    if (got != MAP_FAILED) ::munmap(got, wanted - bytes_);  // Kernels before 4.17 only try.
    if (wanted == bytes) {
      return Error{Errc::kNoSpace,
                   "the addresses behind the region's " + std::to_string(bytes_) +
                       " bytes are taken by other mappings of this process, or its address space "
                       "is limited (ulimit -v); close the region and open it again"};
    }
  }
}

Status AddressRange::release(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes == 0) return {};
  if (reserve_addresses(data_ + offset, bytes, MAP_FIXED) == MAP_FAILED) {
    return system_error("mmap over", std::to_string(bytes) + " bytes to release", errno);
  }
  return {};
}

int map_file(std::byte* address, std::uint64_t bytes, int fd, std::uint64_t offset, bool writable,
             bool sync) {
  if (const int fault = injected_fault(Call::kMap, fd)) return fault;
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = sync ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
  const void* mapped =
      ::mmap(address, bytes, protection, flags | MAP_FIXED, fd, static_cast<off_t>(offset));
  return mapped == MAP_FAILED ? errno : 0;
}

void advise_pages(std::byte* begin, std::uint64_t bytes, HugePages huge) {
  ::madvise(begin, bytes, huge == HugePages::kOff ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

void advise_reads(std::byte* begin, std::uint64_t bytes, ReadAdvice advice) {
  ::madvise(begin, bytes,
            advice == ReadAdvice::kRandom       ? MADV_RANDOM
            : advice == ReadAdvice::kSequential ? MADV_SEQUENTIAL
                                                : MADV_NORMAL);
}

void read_ahead(std::byte* begin, std::uint64_t bytes) { ::madvise(begin, bytes, MADV_WILLNEED); }

bool all_resident(const std::byte* begin, std::uint64_t bytes) {
  unsigned char states[256];
  const auto pages = (bytes + physical_page_bytes() - 1) / physical_page_bytes();
  if (pages > std::size(states) || ::mincore(const_cast<std::byte*>(begin), bytes, states) != 0)
    return false;
  return std::all_of(states, states + pages, [](unsigned char state) { return (state & 1) != 0; });
}

int populate(std::byte* begin, std::uint64_t bytes, bool writable) {
  while (::madvise(begin, bytes, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL || errno == ENOSYS) return touch(begin, bytes, writable), 0;
    // EFAULT stands for the SIGBUS that a touch would give.
    return errno == EFAULT ? ENOMEM : errno;
  }
  return 0;
}

int collapse(std::byte* begin, std::uint64_t bytes) {
  return ::madvise(begin, bytes, MADV_COLLAPSE) == 0 ? 0 : errno;
}

PagesObtained pages_obtained(const std::byte* begin, std::uint64_t bytes) {
  PagesObtained obtained;
  obtained.kernel_page_bytes = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> smaps(std::fopen("/proc/self/smaps", "re"),
                                                              &std::fclose);
  if (!smaps) return {};
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  bool inside = false;
  char line[512];
  while (std::fgets(line, sizeof line, smaps.get())) {
    unsigned long from = 0;
    unsigned long to = 0;
    if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2) {
      inside = from >= first && to <= first + bytes;
      continue;
    }
    if (!inside) continue;
    const auto value = [&](const char* key, std::uint64_t& into) {
      const auto length = std::strlen(key);
      if (std::strncmp(line, key, length) != 0) return false;
      into = std::strtoull(line + length, nullptr, 10) * KiB;
      return true;
    };
    std::uint64_t read = 0;
    if (value("KernelPageSize:", read)) {
      obtained.kernel_page_bytes =
          obtained.kernel_page_bytes == 0 ? read : std::min(obtained.kernel_page_bytes, read);
    } else if (value("Rss:", read) || value("Shared_Hugetlb:", read) ||
               value("Private_Hugetlb:", read)) {
      obtained.resident_bytes += read;
    } else if (value("AnonHugePages:", read) || value("ShmemPmdMapped:", read) ||
               value("FilePmdMapped:", read)) {
      obtained.huge_bytes += read;
    }
  }
  if (obtained.kernel_page_bytes == 0) obtained.kernel_page_bytes = physical_page_bytes();
  return obtained;
}

std::vector<int> nodes_of(const std::byte* begin, std::uint64_t bytes) {
  constexpr std::uint64_t kSamples = 256;
  const auto page_bytes = physical_page_bytes();
  const auto pages = bytes / page_bytes;
  if (pages == 0) return {};
  const auto samples = std::min(pages, kSamples);
  std::vector<const void*> addresses;
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    addresses.push_back(begin + pages * sample / samples * page_bytes);
  }
  std::vector<int> status(samples, -1);
  if (::syscall(SYS_move_pages, 0, samples, addresses.data(), nullptr, status.data(), 0) != 0) {
    return {};
  }
  std::set<int> nodes;
  for (const int node : status) {
    if (node >= 0) nodes.insert(node);
  }
  return {nodes.begin(), nodes.end()};
}

std::string selected(const std::string& choices) {
  const auto open = choices.find('[');
  const auto close = choices.find(']', open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return choices.substr(open + 1, close - open - 1);
}

}  // namespace holdfast::memory_detail
