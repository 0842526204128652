// damage.hpp: stores as files that tests then spoil, and where in them the structures lie.
#pragma once

#include <cstring>
#include <fstream>

#include <holdfast/kv/superblock.hpp>

#include "support.hpp"

namespace holdfast::kv {

// The segment files of a store as one string of bytes, to be spoilt and put back.
class Image {
 public:
  static Image of(const std::string& directory) {
    Image image;
    for (std::uint64_t i = 0;; ++i) {
      std::ifstream file(path(directory, i), std::ios::binary);
      if (!file) return image;
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      image.segment_bytes_ = bytes.size();
      image.bytes_ += bytes;
    }
  }
  void write_to(const std::string& directory) const {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    for (std::uint64_t i = 0; i * segment_bytes_ < bytes_.size(); ++i) {
      std::ofstream(path(directory, i), std::ios::binary)
          .write(bytes_.data() + i * segment_bytes_, static_cast<std::streamsize>(segment_bytes_));
    }
  }
  static std::string path(const std::string& directory, std::uint64_t segment) {
    char name[32];
    std::snprintf(name, sizeof name, "/segment-%06llu", static_cast<unsigned long long>(segment));
    return directory + name;
  }

  std::string& bytes() { return bytes_; }
  const std::string& bytes() const { return bytes_; }
  std::uint64_t size() const { return bytes_.size(); }
  void flip(std::uint64_t at, int bit = 0) {
    bytes_[at] = static_cast<char>(bytes_[at] ^ (1 << bit));
  }
  void zero(std::uint64_t at, std::uint64_t count) {
    std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), count, '\0');
  }
  template <class T>
  T read(std::uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  template <class T>
  void write(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  Geometry geometry() const { return geometry_of(read<Superblock>(kSuperblockAt)); }
  std::uint64_t blocks() const { return size() / geometry().block_bytes; }
  BlockWord word(std::uint64_t block) const {
    BlockWord word;
    if (!decode_block_word(read<std::uint64_t>(geometry().table_word_at(block)),
                           geometry().store_id, block, word)) {
      ADD_FAILURE() << "word of block " << block;
    }
    return word;
  }
  // First blocks of runs in a state, with how many blocks each has.
  struct Run {
    std::uint64_t at, bytes;
    RunFooter footer;
  };
  std::vector<Run> runs(BlockState state) const {
    std::vector<Run> runs;
    for (std::uint64_t block = 0; block < blocks(); ++block) {
      if (geometry().is_table_block(block) || word(block).state != state) continue;
      std::uint64_t end = block + 1;
      while (end < blocks() && !geometry().is_table_block(end) &&
             word(end).state == BlockState::kTail &&
             word(end).generation == word(block).generation) {
        ++end;
      }
      const std::uint64_t bytes = (end - block) * geometry().block_bytes;
      const std::uint64_t at = block * geometry().block_bytes;
      runs.push_back({at, bytes, read<RunFooter>(at + bytes - sizeof(RunFooter))});
    }
    return runs;
  }

 private:
  std::string bytes_;
  std::uint64_t segment_bytes_ = 0;
};

}  // namespace holdfast::kv
