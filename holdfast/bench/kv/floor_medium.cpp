#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <holdfast/bench/kv/floor.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::bench::kv {
namespace {

constexpr std::uint64_t kHugePage = 2 * MiB;
constexpr std::uint64_t kReservedAddresses =
    1 * TiB;  // A file's mapping never moves while it grows.

std::string io_error(const char* call, const std::string& path) {
  return std::string("floor: ") + call + " " + path + ": " + std::strerror(errno);
}
Errc io_code() { return errno == ENOSPC ? Errc::kNoSpace : Errc::kIo; }

}  // namespace

FloorIndex::~FloorIndex() { release(); }

void FloorIndex::release() {
  if (entries_ != nullptr) ::munmap(entries_, mapped_bytes_);
  entries_ = nullptr;
}

Status FloorIndex::reserve(std::uint64_t numbers) {
  if (numbers <= numbers_) return {};
  // Five slots for four records, as full as a good hash table's buckets.
  const auto slots = std::max<std::uint64_t>(numbers + numbers / 4, 64);
  const auto bytes = round_up(slots * sizeof(std::uint64_t), kHugePage);
  // Aligned, so that huge pages fit; what is over at both ends is given back.
  auto* mapped =
      static_cast<std::byte*>(::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (mapped == MAP_FAILED) return Error{Errc::kNoSpace, io_error("mmap of", "the index")};
  const auto before = round_up(reinterpret_cast<std::uintptr_t>(mapped), kHugePage) -
                      reinterpret_cast<std::uintptr_t>(mapped);
  if (before > 0) ::munmap(mapped, before);
  ::munmap(mapped + before + bytes, kHugePage - before);
  auto* entries = reinterpret_cast<std::uint64_t*>(mapped + before);
  (void)::madvise(entries, bytes, MADV_HUGEPAGE);
  std::memset(entries, 0, bytes);

  const auto reciprocal = ~std::uint64_t{0} / slots;
  for (std::uint64_t number = 0; number < numbers_; ++number) {
    entries[slot(number, slots, reciprocal)] = *entry(number);
  }
  release();
  entries_ = entries;
  mapped_bytes_ = bytes;
  numbers_ = numbers;
  slots_ = slots;
  reciprocal_ = reciprocal;
  return {};
}

Status FloorMedium::open(const std::string& spec, bool sync_each_call) {
  RegionOptions options;
  options.prefault = true;
  options.size_bytes = options.unit_bytes = 64 * MiB;
  auto region = Region::open(spec, options);
  if (!region) return region.error();
  report_ = region->report();
  sync_each_call_ = sync_each_call && report_.granularity == Granularity::kPage;
  path_ = parts_of(spec).place;
  if (report_.granularity == Granularity::kPage) {
    {
      const auto closed = std::move(*region);
    }
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    return open_file(path_);
  }
  region_.emplace(std::move(*region));
  data_ = region_->data();
  persist_ = region_->persist();
  size_bytes_ = region_->size_bytes();
  return {};
}

Status FloorMedium::open_file(const std::string& path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) return Error{Errc::kIo, io_error("open", path)};
  void* mapped =
      ::mmap(nullptr, kReservedAddresses, PROT_READ, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (mapped == MAP_FAILED) return Error{Errc::kIo, io_error("mmap", path)};
  data_ = static_cast<std::byte*>(mapped);
  (void)::madvise(mapped, kReservedAddresses, MADV_RANDOM);  // As Region does on a disk.
  return {};
}

// Written with zeros and synced, so that a later write changes neither size nor extents.
Status FloorMedium::grow_file(std::uint64_t size_bytes) {
  // Small pieces: the page cache makes large pages of large ones, which ext4 walks at each write.
  const std::vector<std::byte> zeros(64 * KiB);
  while (size_bytes_ < size_bytes) {
    const auto bytes = std::min<std::uint64_t>(zeros.size(), size_bytes - size_bytes_);
    const auto written = ::pwrite(file_, zeros.data(), bytes, static_cast<off_t>(size_bytes_));
    if (written <= 0) return Error{io_code(), io_error("pwrite", path_)};
    size_bytes_ += static_cast<std::uint64_t>(written);
  }
  if (::fsync(file_) != 0) return Error{Errc::kIo, io_error("fsync", path_)};
  return {};
}

Status FloorMedium::reserve(std::uint64_t bytes) {
  const auto wanted = taken_.load() + round_up(bytes, kChunkBytes);
  if (wanted <= size_bytes_) return {};
  if (is_file()) return grow_file(wanted);
  // A device has the size it has.
  if (region_->max_size_bytes() < wanted) {
    return Error{Errc::kNoSpace, "floor: region " + report_.spec + " can hold " +
                                     std::to_string(region_->max_size_bytes()) + " bytes, " +
                                     std::to_string(wanted) + " are needed; use fewer --records"};
  }
  HF_RETURN_IF_ERROR(region_->grow(round_up(wanted, region_->unit_bytes())));
  size_bytes_ = region_->size_bytes();
  return {};
}

std::uint64_t FloorMedium::take_chunk() {
  const auto chunk = taken_.fetch_add(kChunkBytes);
  return chunk + kChunkBytes <= size_bytes_ ? chunk : kNoOffset;
}

void FloorMedium::remove() {
  region_.reset();
  if (file_ >= 0) {
    ::munmap(data_, kReservedAddresses);
    ::close(file_);
    file_ = -1;
  }
  data_ = nullptr;
  taken_ = 0;
  size_bytes_ = 0;
  if (path_.starts_with("/") && !path_.starts_with("/dev/dax")) {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  path_.clear();
}

}  // namespace holdfast::bench::kv
