#include <holdfast/kv/backup_manifest.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>

#include <holdfast/base/hash.hpp>

namespace holdfast::kv {
namespace {

constexpr std::size_t kListSummedFrom = offsetof(ManifestHeader, version);

Error damaged_list(const char* what) {
  return {Errc::kCorrupt, std::string("list of a backup: ") + what};
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  std::uint64_t bytes = 0;
  for (const ManifestRun& place : places)
    bytes += place.bytes;
  return bytes;
}

std::vector<std::byte> Manifest::encode() const {
  ManifestHeader header{kManifestMagic, 0, kManifestVersion, number, private_part.size(),
                        places.size()};
  const auto of_places = std::as_bytes(std::span(places));
  std::vector<std::byte> bytes(sizeof header + private_part.size() + of_places.size());
  std::copy(private_part.begin(), private_part.end(), bytes.begin() + sizeof header);
  std::copy(of_places.begin(), of_places.end(), bytes.end() - std::ssize(of_places));
  std::memcpy(bytes.data(), &header, sizeof header);
  header.checksum = hash64(std::span(bytes).subspan(kListSummedFrom));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

Result<Manifest> Manifest::decode(std::span<const std::byte> bytes) {
  ManifestHeader header;
  if (bytes.size() < sizeof header) return damaged_list("it is cut");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kManifestMagic) return damaged_list("it does not begin as one");
  if (header.version != kManifestVersion) {
    return Error{Errc::kNewerFormat, "list of a backup: version " + std::to_string(header.version) +
                                         "; this build reads version " +
                                         std::to_string(kManifestVersion) + ": use a newer build"};
  }
  if (header.checksum != hash64(bytes.subspan(kListSummedFrom)))
    return damaged_list("its checksum does not hold");
  const std::uint64_t rest = bytes.size() - sizeof header;
  if (header.private_bytes > rest || (rest - header.private_bytes) % sizeof(ManifestRun) != 0 ||
      (rest - header.private_bytes) / sizeof(ManifestRun) != header.runs)
    return damaged_list("its lengths contradict each other");
  Manifest manifest;
  manifest.number = header.number;
  const auto part = bytes.subspan(sizeof header, header.private_bytes);
  manifest.private_part.assign(part.begin(), part.end());
  HF_ASSIGN_OR_RETURN(manifest.contents, read_private_part(part));
  if (manifest.contents.runs.size() != header.runs)
    return damaged_list("it has other runs than its private part");
  manifest.places.resize(header.runs);
  if (header.runs != 0) {
    std::memcpy(manifest.places.data(), bytes.data() + sizeof header + header.private_bytes,
                header.runs * sizeof(ManifestRun));
  }
  for (std::size_t i = 0; i < manifest.places.size(); ++i) {
    const ManifestRun& place = manifest.places[i];
    if (place.bytes != manifest.contents.runs[i].bytes ||
        place.offset > ~std::uint64_t{0} - place.bytes)
      return damaged_list("a run has another size than in its private part");
  }
  return manifest;
}

}  // namespace holdfast::kv
