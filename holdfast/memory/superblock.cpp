#include <holdfast/memory/superblock.hpp>

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <holdfast/base/check.hpp>
#include <holdfast/base/hash.hpp>

namespace holdfast {
namespace {

std::uint64_t checksum_of(const SuperblockHeader& header, std::span<const std::byte> body) {
  constexpr auto kFrom = offsetof(SuperblockHeader, format_version);
  Hash64Stream sum;
  sum.add(reinterpret_cast<const std::byte*>(&header) + kFrom, sizeof header - kFrom);
  sum.add(body.data(), body.size());
  return sum.digest() ^ mix64(header.magic);
}

std::uint64_t word_at(const Region& region, std::uint64_t offset) {
  std::uint64_t word;
  std::memcpy(&word, region.data() + offset, sizeof word);
  return word;
}

Error corrupt(std::string_view name, const std::string& what) {
  return {Errc::kCorrupt,
          std::string(name) + ": superblock: " + what + "; restore its first page from a copy"};
}

}  // namespace

Result<std::uint64_t> random_id() {
  std::uint64_t id = 0;
  do {
    if (::getrandom(&id, sizeof id, 0) != sizeof id)
      return Error{Errc::kIo, "getrandom: " + std::string(std::strerror(errno))};
  } while (id == 0);
  return id;
}

SuperblockHeader sealed_header(SuperblockHeader header, const SuperblockFormat& format,
                               std::span<const std::byte> body) {
  HF_CHECK(body.size() <= SuperblockHeader::kMaxBodyBytes && header.id != 0);
  header.magic = format.magic;
  header.body_bytes = body.size();
  header.checksum = checksum_of(header, body);
  return header;
}

Result<SuperblockHeader> new_header(const SuperblockFormat& format,
                                    std::span<const std::byte> body) {
  SuperblockHeader header{};
  header.format_version = format.version;
  header.oldest_reader = format.version;
  HF_ASSIGN_OR_RETURN(header.id, random_id());
  return sealed_header(header, format, body);
}

Status write_superblock(const DurableWriter& writer, std::uint64_t offset,
                        const SuperblockHeader& header, std::span<const std::byte> body) {
  constexpr auto kRest = sizeof header.magic;
  HF_RETURN_IF_ERROR(writer.put(offset + kRest, reinterpret_cast<const std::byte*>(&header) + kRest,
                                sizeof header - kRest));
  if (!body.empty()) HF_RETURN_IF_ERROR(writer.put(offset + sizeof header, body));
  HF_RETURN_IF_ERROR(writer.order());
  HF_RETURN_IF_ERROR(writer.put_word(offset, header.magic));
  return writer.order();
}

void write_back_superblock(const DurableWriter& writer, std::uint64_t offset,
                           const SuperblockHeader& header) {
  if (writer.region().read_only()) return;
  writer.persist().write_back(writer.at(offset), sizeof header + header.body_bytes);
}

Status erase_superblock(const DurableWriter& writer, std::uint64_t offset) {
  constexpr std::byte kZeros[kCacheLineBytes] = {};
  HF_RETURN_IF_ERROR(writer.put(offset, kZeros));
  return writer.order();
}

Result<SuperblockHeader> read_superblock(const SuperblockFormat& format,
                                         std::span<const std::byte> bytes,
                                         std::span<std::byte> body) {
  HF_CHECK(bytes.size() >= sizeof(SuperblockHeader));
  const auto name = std::string(format.name);
  SuperblockHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != format.magic)
    return Error{Errc::kNotHoldfast,
                 name + (header.magic == 0 ? ": there is none here"
                                           : ": here lies something else (its magic differs)")};
  const auto room = bytes.size() - sizeof header;
  // The length first: nothing beyond may be read.
  if (header.body_bytes > std::min<std::uint64_t>(room, SuperblockHeader::kMaxBodyBytes))
    return corrupt(format.name, "its length of " + std::to_string(header.body_bytes) +
                                    " bytes lies beyond the " + std::to_string(room) +
                                    " that are there");
  const auto found = bytes.subspan(sizeof header, header.body_bytes);
  if (header.checksum != checksum_of(header, found))
    return corrupt(format.name, "its checksum does not hold");
  if (header.reserved != 0 || header.id == 0)
    return corrupt(format.name, "it has a word that no build writes");
  if (header.oldest_reader > format.version)
    return Error{Errc::kNewerFormat,
                 name + ": format version " + std::to_string(header.format_version) +
                     ", for builds that know version " + std::to_string(header.oldest_reader) +
                     "; this one knows up to " + std::to_string(format.version) +
                     ": use a newer build"};
  if (const auto unknown = header.incompatible_features & ~format.known_incompatible; unknown != 0)
    return Error{Errc::kNewerFormat, name + ": it uses the incompatible feature of bit " +
                                         std::to_string(std::countr_zero(unknown)) +
                                         ", which this build does not know: use a newer build"};
  if (header.format_version < format.oldest_version)
    return Error{Errc::kUnsupported,
                 name + ": format version " + std::to_string(header.format_version) +
                     "; this build reads " + std::to_string(format.oldest_version) + " to " +
                     std::to_string(format.version) + ": copy it with the build that wrote it"};
  const auto copied = std::min(body.size(), found.size());
  std::copy_n(found.begin(), copied, body.begin());  // Either may be empty.
  std::fill(body.begin() + static_cast<std::ptrdiff_t>(copied), body.end(), std::byte{0});
  return header;
}

std::string_view what_lies_here(const Region& region, const Extent& extent) {
  if (extent.size_bytes < kCacheLineBytes) return {};
  for (const auto& known : kKnownStructures) {
    if (word_at(region, extent.offset_bytes + known.magic_at) == known.magic) return known.name;
  }
  constexpr auto kLetters = magic_of("HLD\0\0\0\0\0");
  if ((word_at(region, extent.offset_bytes) & 0xffffff) == kLetters)
    return "something of a newer Holdfast";
  return {};
}

Status refuse_to_overwrite(std::string_view creator, const Region& region, const Extent& extent) {
  const auto found = what_lies_here(region, extent);
  if (found.empty()) return {};
  return Error{Errc::kAlreadyExists, std::string(creator) + ": at offset " +
                                         std::to_string(extent.offset_bytes) +
                                         " of the region begins " + std::string(found) +
                                         "; open it, or make it go with erase_superblock() if it "
                                         "is not needed"};
}

}  // namespace holdfast
