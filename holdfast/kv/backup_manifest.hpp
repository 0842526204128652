// backup_manifest.hpp: what the file backup-NNNNNNNN says: which runs a backup has, and where they
// lie.
//
//   ManifestHeader | private part of the checkpoint | a ManifestRun for each of its runs
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/checkpoint.hpp>

namespace holdfast::kv {

inline constexpr std::uint64_t kManifestMagic = 0x3150'4b42'4644'4c48;  // "HLDFBKP1"
inline constexpr std::uint32_t kManifestVersion = 1;

struct ManifestHeader {
  std::uint64_t magic;
  std::uint64_t checksum;  // XXH3 of everything behind it.
  std::uint32_t version;
  std::uint32_t number;
  std::uint64_t private_bytes;
  std::uint64_t runs;
};
static_assert(sizeof(ManifestHeader) == 40);
static_assert(std::has_unique_object_representations_v<ManifestHeader>);

// Files are named by the backup that wrote them.
struct PackName {
  std::uint32_t backup = 0, index = 0;
  auto operator<=>(const PackName&) const = default;
};

struct ManifestRun {  // In the order of the private part.
  PackName pack;
  std::uint64_t offset;  // In the file.
  std::uint64_t bytes;
  std::uint64_t checksum;  // XXH3 of them.
};
static_assert(sizeof(ManifestRun) == 32);
static_assert(std::has_unique_object_representations_v<ManifestRun>);

struct Manifest {
  std::uint32_t number = 0;
  std::vector<std::byte> private_part;
  CheckpointContents contents;      // Of the private part.
  std::vector<ManifestRun> places;  // As contents.runs.

  std::uint64_t bytes() const;  // Of all runs.
  std::vector<std::byte> encode() const;
  // Takes any bytes. Errors: kCorrupt, kNewerFormat.
  static Result<Manifest> decode(std::span<const std::byte> bytes);
};

}  // namespace holdfast::kv
