#include <holdfast/olap/delta.hpp>

#include <cstring>
#include <string>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/catalogue_bytes.hpp>

namespace holdfast::olap {
namespace {

std::uint64_t seed_of(std::uint64_t id, const DeltaHeader& header) {
  return mix64(mix64(id + header.previous) + header.number);
}

Error damaged_rows(std::uint64_t at, const std::string& what) {
  return {Errc::kCorrupt, "star: appended rows (at " + std::to_string(at) + "): " + what +
                              "; load the tables again, or restore a copy"};
}

struct Entry {
  Extent place;
  std::vector<BlockInfo> blocks;
  std::uint64_t previous, number;
};

Result<Entry> read_entry(std::span<const std::byte> region, std::uint64_t at, std::uint64_t id) {
  DeltaHeader header;
  if (at < kDataAt || at > region.size() || region.size() - at < sizeof header)
    return damaged_rows(at, "they lie outside of the region");
  std::memcpy(&header, region.data() + at, sizeof header);
  if (header.magic != kDeltaMagic || header.body_bytes > region.size() - at - sizeof header)
    return damaged_rows(at, "there is no entry");
  const auto body = region.subspan(at + sizeof header, header.body_bytes);
  if (checksum64(body, seed_of(id, header)) != header.checksum)
    return damaged_rows(at, "the checksum does not fit");
  Entry entry{{at, sizeof header + header.body_bytes}, {}, header.previous, header.number};
  ByteReader in(body);
  entry.blocks.resize(in.count(kBlockInfoBytes));
  for (auto& block : entry.blocks) {
    block = read_block(in);
    HF_RETURN_IF_ERROR(block.check());
    if (block.offset % kCacheLineBytes != 0 || block.offset < kDataAt ||
        block.offset > region.size() ||
        HF_MUTANT("O16", block.bytes > region.size() - block.offset, false))
      return damaged_rows(at, "a block leads outside of the region");
  }
  if (!in.done()) return damaged_rows(at, "the entry is shorter or longer than it says");
  return entry;
}

}  // namespace

std::vector<std::byte> delta_bytes(const Catalogue& catalogue, std::span<const BlockInfo> blocks,
                                   std::uint64_t id) {
  std::vector<std::byte> all(sizeof(DeltaHeader));
  ByteWriter out(all);
  out.number(static_cast<std::uint32_t>(blocks.size()));
  for (const auto& block : blocks)
    write_block(out, block);
  DeltaHeader header{};
  header.magic = kDeltaMagic;
  header.body_bytes = all.size() - sizeof header;
  header.number = catalogue.deltas.size() + 1;
  header.previous = HF_MUTANT("O13", catalogue.deltas.empty(), true)
                        ? 0
                        : catalogue.deltas.back().offset_bytes / kCacheLineBytes;
  header.checksum = checksum64(std::span(all).subspan(sizeof header), seed_of(id, header));
  std::memcpy(all.data(), &header, sizeof header);
  return all;
}

void add_delta(Catalogue& catalogue, std::span<const BlockInfo> blocks, const Extent& place) {
  catalogue.deltas.push_back(place);
  catalogue.delta_blocks += blocks.size();
  catalogue.blocks.insert(catalogue.blocks.end(), blocks.begin(), blocks.end());
}

Status read_deltas(std::span<const std::byte> region, std::uint64_t last, std::uint64_t id,
                   Catalogue& catalogue) {
  std::vector<Entry> entries;  // The last one first.
  for (auto at = last; at != 0; at = entries.back().previous) {
    HF_ASSIGN_OR_RETURN(auto entry, read_entry(region, at * kCacheLineBytes, id));
    // Numbers fall by one, and end at 1: so the walk ends.
    const bool follows = entries.empty()
                             ? entry.number > 0
                             : HF_MUTANT("O15", entry.number + 1 == entries.back().number,
                                         entry.number < entries.back().number);
    if (!follows || (entry.number == 1) != (entry.previous == 0))
      return damaged_rows(at * kCacheLineBytes, "they do not follow each other");
    entries.push_back(std::move(entry));
  }
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    add_delta(catalogue, entry->blocks, entry->place);
  return {};
}

}  // namespace holdfast::olap
