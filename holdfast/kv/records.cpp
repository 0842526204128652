#include <holdfast/kv/records.hpp>

#include <string>

namespace holdfast::kv {

Records::Records(const Medium& medium, const BlockTable& table, const Superblock& superblock)
    : medium_(medium),
      table_(table),
      geometry_(table.geometry()),
      base_(medium.at(0)),
      header_bytes_(geometry_.record_header_bytes),
      block_bytes_(geometry_.block_bytes),
      key_bytes_(superblock.key_bytes),
      value_bytes_(superblock.value_bytes),
      patchable_(std::span(superblock.patchable_words).first(superblock.patchable_count)) {}

Error Records::damaged(std::uint64_t offset_bytes, std::string_view what) const {
  return Error{Errc::kCorrupt,
               std::string(what) + " at byte " + std::to_string(offset_bytes) + " (block " +
                   std::to_string(table_.block_of(offset_bytes)) +
                   "); `verify` lists all damage, a read-only open exports what is intact"};
}

}  // namespace holdfast::kv
