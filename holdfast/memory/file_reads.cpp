// How files on a disk are read through their mapping: ahead, many ranges at once, with errors as
// values.
#include <algorithm>
#include <cerrno>

#include <holdfast/memory/files.hpp>

namespace holdfast::memory_detail {

Extent FilesBacking::whole_pages(const Extent& range) const {
  const auto page_bytes = physical_page_bytes();
  const auto first = round_down(range.offset_bytes, page_bytes);
  const auto end = round_up(range.offset_bytes + range.size_bytes, page_bytes);
  return {first, std::min(end, size_bytes()) - first};
}

void FilesBacking::advise(std::uint64_t offset, std::uint64_t bytes, ReadAdvice advice) {
  if (!reads_ahead()) return;
  const Extent pages = whole_pages({offset, bytes});
  advise_reads(at(pages.offset_bytes), pages.size_bytes, advice);
}

void FilesBacking::read_ahead(std::span<const Extent> ranges) {
  if (!reads_ahead()) return;
  for (const Extent& range : ranges) {
    const Extent pages = whole_pages(range);
    memory_detail::read_ahead(at(pages.offset_bytes), pages.size_bytes);
  }
}

// All are asked for before the first is waited for, so that the device has them side by side.
// Populating tells of a page that cannot be read, where a load from it would be a SIGBUS.
Status FilesBacking::fetch(std::span<const Extent> ranges) {
  if (!reads_ahead()) return {};
  if (ranges.size() != 1 || whole_pages(ranges[0]).size_bytes > physical_page_bytes())
    read_ahead(ranges);
  for (const Extent& range : ranges) {
    if (range.size_bytes == 0) continue;
    const Extent pages = whole_pages(range);
    int error_number = injected_fault(Call::kRead, -1);
    if (error_number == 0) error_number = populate(at(pages.offset_bytes), pages.size_bytes, false);
    if (error_number == 0) continue;
    // The kernel says no more than that the bytes cannot be had.
    auto error = system_error("read of " + std::to_string(pages.size_bytes) + " bytes at byte " +
                                  std::to_string(pages.offset_bytes) + " of",
                              spec_.path, error_number == ENOMEM ? EIO : error_number);
    error.code = Errc::kIo;
    return error;
  }
  return {};
}

bool FilesBacking::resident(const Extent& range) const {
  if (!reads_ahead()) return true;
  const Extent pages = whole_pages(range);
  return all_resident(at(pages.offset_bytes), pages.size_bytes);
}

// In pieces, so that a range larger than memory does not push its own beginning out while it is
// read.
Status FilesBacking::prefault(std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t kPieceBytes = 8 * MiB;
  if (!reads_ahead()) return MappedBacking::prefault(offset, bytes);
  const auto end = offset + bytes;
  for (auto begin = round_down(offset, physical_page_bytes()); begin < end; begin += kPieceBytes) {
    const auto piece = std::min(kPieceBytes, end - begin);
    memory_detail::read_ahead(at(begin), round_up(piece, physical_page_bytes()));
    HF_RETURN_IF_ERROR(MappedBacking::prefault(begin, piece));
  }
  return {};
}

}  // namespace holdfast::memory_detail
