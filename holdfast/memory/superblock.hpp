// superblock.hpp: the line with which every structure of Holdfast begins on its medium.
//
//   header, one line | body: what the structure adds, under the same checksum
//
// Guarantee  A superblock is there whole or not at all: its magic number is stored last, behind a
//            barrier of its own. The header's layout and checksum are the same in every version of
//            every format, so that any build can read any header and say what it found.
// Features   A structure that needs something new sets a flag instead of a new version. A build
//            that meets an incompatible flag which it does not know refuses the structure with
//            kNewerFormat and names the bit. Compatible flags that it does not know are ignored and
//            kept.
// Errors     kNotHoldfast (another magic number), kCorrupt (checksum, reserved bytes), kNewerFormat
//            (version or flag), kUnsupported (a version from before the oldest that is read).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast {

struct SuperblockHeader {        // On media, little-endian, one line.
  std::uint64_t magic;           // Stored last, by itself.
  std::uint64_t checksum;        // Over the rest of this line and the body, seeded with the magic.
  std::uint32_t format_version;  // Of the structure behind it.
  std::uint32_t oldest_reader;   // Builds that know this version or a later one can read it.
  std::uint64_t id;              // Random, never 0. Seeds the structure's other checks.
  std::uint64_t compatible_features;
  std::uint64_t incompatible_features;
  std::uint64_t body_bytes;  // Of the body, directly behind this line; at most kMaxBodyBytes.
  std::uint64_t reserved;    // Zero.

  static constexpr std::uint64_t kMaxBodyBytes = kPageBytes - kCacheLineBytes;
};
static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(SuperblockHeader) == kCacheLineBytes);
static_assert(offsetof(SuperblockHeader, format_version) == 16 &&
              offsetof(SuperblockHeader, body_bytes) == 48);
static_assert(std::has_unique_object_representations_v<SuperblockHeader>);

// What a build knows of one format.
struct SuperblockFormat {
  std::string_view name;  // "page store": begins every error.
  std::uint64_t magic;
  std::uint32_t version;             // What this build writes, and the newest that it knows.
  std::uint32_t oldest_version;      // The oldest that it still reads.
  std::uint64_t known_incompatible;  // Flags of incompatible_features that it understands.
};

// Random, never 0. Errors: kIo (the system has no randomness).
Result<std::uint64_t> random_id();

// A header of `format` for `body`. `header` gives version, oldest reader, id and flags; magic,
// checksum and body_bytes are filled in.
SuperblockHeader sealed_header(SuperblockHeader header, const SuperblockFormat& format,
                               std::span<const std::byte> body);
// A header for a new structure of the format's version, with a random id and no flags.
Result<SuperblockHeader> new_header(const SuperblockFormat& format,
                                    std::span<const std::byte> body);

// Writes header and body at `offset` of the writer, the magic last. Durable on return; a crash
// before leaves no superblock. Everything that was put before is durable before it is there.
// What lies there must not be a valid superblock: erase_superblock() comes first if it is.
Status write_superblock(const DurableWriter& writer, std::uint64_t offset,
                        const SuperblockHeader& header, std::span<const std::byte> body);
// For every open(): a process that was killed in write_superblock() may have stored the magic and
// not waited, so that it was read from a cache. Writes header and body back where the region is
// writable; durable after the caller's next fence, which comes before the first answer.
void write_back_superblock(const DurableWriter& writer, std::uint64_t offset,
                           const SuperblockHeader& header);
// Makes a structure of any kind, of any version, unknown: its first line becomes zeros. Durable on
// return. Its contents stay where they are, but nobody finds them any more.
Status erase_superblock(const DurableWriter& writer, std::uint64_t offset = 0);

// Checks the superblock at the start of `bytes` and copies its body to `body`: as much of it as
// there is, then zeros. `bytes` holds at least a line.
Result<SuperblockHeader> read_superblock(const SuperblockFormat& format,
                                         std::span<const std::byte> bytes,
                                         std::span<std::byte> body);

// ---- All magic numbers ----

// The eight letters of a magic number, as they lie on the medium.
constexpr std::uint64_t magic_of(const char (&letters)[9]) {
  std::uint64_t magic = 0;
  for (int i = 7; i >= 0; --i)
    magic = magic << 8 | static_cast<unsigned char>(letters[i]);
  return magic;
}

struct KnownStructure {
  std::uint64_t magic;
  std::uint64_t magic_at;  // Offset of the magic from the start of the structure.
  std::string_view name;
};
// Every magic number that was ever written to a medium. A new structure's begins with "HLD": then
// builds that do not know it take it for something of a newer Holdfast, and leave it alone.
inline constexpr KnownStructure kKnownStructures[] = {
    {magic_of("HLDFAST1"), 0, "a key-value store"},
    {magic_of("HLDFLOG3"), 0, "a log"},
    {magic_of("HDFLOGL1"), 0, "a log of format version 2"},
    {magic_of("HLDPAGE2"), 0, "a page store"},
    {magic_of("HLDDASH1"), 0, "a Dash index"},
    {magic_of("HLDBDSH1"), 0, "a Dash index of bytes"},
    {magic_of("HLDFPTR1"), 0, "an FP-Tree"},
    {magic_of("HLDFFTR1"), 0, "a FAST+FAIR tree"},
    {magic_of("HLDSTAR1"), 0, "a star schema"},
    {magic_of("HLDMART1"), 0, "a star schema of a user's own"},
    {magic_of("HLDPAGE1"), 56, "a page store of format version 2"},
    {magic_of("HLDPEGS1"), 56, "pages with checksums"},
};

// The structure of Holdfast's that begins where the extent does; empty if none is known. Only the
// first line is looked at: what was created further inside is not found.
std::string_view what_lies_here(const Region& region, const Extent& extent);
// For every create(): kAlreadyExists if the extent begins with a structure of Holdfast's. `creator`
// begins the error.
Status refuse_to_overwrite(std::string_view creator, const Region& region, const Extent& extent);

}  // namespace holdfast
