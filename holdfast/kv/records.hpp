// records.hpp: the records of a store where they lie: found by their line, bounded by their run.
//
// Threads    Any; a guard keeps what is looked at from being freed.
#pragma once

#include <string_view>

#include <holdfast/index/offset_map.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/medium.hpp>
#include <holdfast/kv/record.hpp>
#include <holdfast/kv/superblock.hpp>

namespace holdfast::kv {

using index::kNoLine;
using index::Line;

inline Line line_at(std::uint64_t offset_bytes) { return Line{offset_bytes / kCacheLineBytes}; }
inline std::uint64_t offset_of(Line line) { return line.number * kCacheLineBytes; }

class Records {
 public:
  Records(const Medium& medium, const BlockTable& table, const Superblock& superblock);

  const Geometry& geometry() const { return geometry_; }
  const Medium& medium() const { return medium_; }
  const PatchableWords& patchable() const { return patchable_; }

  RecordView at(Line line) const { return at(line, header_bytes_); }
  RecordView at(Line line, std::uint32_t header_bytes) const {
    return {base_ + offset_of(line), header_bytes};
  }

  // Whether the record on this line has this key. Of any line, and whatever lies there.
  bool has_key(Line line, Bytes key) const {
    const std::byte* const at = base_ + offset_of(line);
    const auto* header = reinterpret_cast<const RecordHeader*>(at);
    // A run's last 128 bytes are no record's beginning, so only a longer key could lead beyond the
    // region.
    if (header->key_bytes() != key.size()) return false;
    if (key.size() == 16) [[likely]]
      return equal_bytes(at + header_bytes_, key.data(), 16);
    if (key.size() > 64 && offset_of(line) + header_bytes_ + key.size() > medium_.size_bytes())
        [[unlikely]] {
      return false;
    }
    return equal_bytes(at + header_bytes_, key.data(), key.size());
  }

  // Whether a put of this key, which is_of_two_words(), lies there. `header_bytes`: the geometry's.
  bool is_put_of(Line line, Bytes key, std::uint32_t header_bytes) const {
    const std::byte* const at = base_ + offset_of(line);
    return reinterpret_cast<const RecordHeader*>(at)->is_put_of(
               static_cast<std::uint32_t>(key.size())) &&
           equal_two_words(at + header_bytes, key.data(), key.size());
  }
  // Whether a value that begins `value_at` bytes behind the line stays within its block, as nearly
  // all do, and has the size of a typed store's. The key was asked for, so its size is right.
  bool value_fits_block(Line line, std::uint64_t value_at, std::uint64_t value_bytes) const {
    const std::uint64_t in_block = offset_of(line) & (block_bytes_ - 1);
    return (value_bytes_ == 0 || value_bytes == value_bytes_) &&
           in_block + value_at + value_bytes <= block_bytes_;
  }

  // Whether the record stays within its run, and has the sizes of a typed store's.
  bool fits(const RecordView& record, Line line) const {
    const std::uint64_t offset = offset_of(line);
    return has_shape(record) &&
           (record.fits(table_.room_in_block(offset)) || record.fits(table_.room_at(offset)));
  }
  // The same of a put whose key was just found to be the one asked for: only the value is in doubt.
  bool value_fits(const RecordView& record, Line line) const {
    if (!has_shape(record)) [[unlikely]]
      return false;
    // Below 2^42: 40 bits of value, 24 of key, and the header.
    if (record.value_at() + record.header().value_bytes() <= table_.room_in_block(offset_of(line)))
        [[likely]] {
      return true;
    }
    return record.fits(table_.room_at(offset_of(line)));
  }

  SumRule rule(const BlockMeta& run) const {
    return {geometry_.seed(run.generation), patchable_, geometry_.is_version1(run.generation)};
  }
  bool is_sound(const RecordView& record, Line line) const {
    return record.is_sound(rule(table_.run_of(offset_of(line))));
  }

  Error damaged(std::uint64_t offset_bytes, std::string_view what) const;

 private:
  // The caller of a typed store copies as many bytes as its types have.
  bool has_shape(const RecordView& record) const {
    return value_bytes_ == 0 ||
           (record.header().key_bytes() == key_bytes_ &&
            (record.kind() != RecordKind::kPut || record.header().value_bytes() == value_bytes_)) ||
           record.header().space() == kSystemSpace;
  }

  const Medium& medium_;
  const BlockTable& table_;
  const Geometry& geometry_;
  const std::byte* const base_;                  // Of the medium, which stays where it is.
  const std::uint32_t header_bytes_;             // Of the geometry.
  const std::uint64_t block_bytes_;              // Of the geometry.
  const std::uint64_t key_bytes_, value_bytes_;  // Of a typed store; 0 otherwise.
  const PatchableWords patchable_;
};

}  // namespace holdfast::kv
