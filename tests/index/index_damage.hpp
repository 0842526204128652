// index_damage.hpp: a region with an index in it, to be damaged: what each index must say about its
// superblock, and random damage.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/memory/superblock.hpp>

#include "index_support.hpp"

namespace holdfast::index {

template <class Index, class Shape>
class IndexDamage : public testing::Test {
 protected:
  IndexDamage(const SuperblockFormat& format, std::uint64_t region_bytes)
      : region_(region_of(region_bytes)), format_(format) {}

  std::uint64_t& word(std::uint64_t offset) {
    return *reinterpret_cast<std::uint64_t*>(region_.data() + offset);
  }
  Result<std::unique_ptr<Index>> open() { return Index::open(region_, blocks::whole(region_)); }
  // The error of the opening.
  void expect_refused(Errc code, const std::string& detail) {
    const auto index = open();
    ASSERT_EQ(index.code(), code);
    EXPECT_NE(index.error().detail.find(detail), std::string::npos) << index.error().detail;
  }

  void expect_that_foreign_media_are_refused(std::uint64_t magic_of_another) {
    word(0) = 0;
    expect_refused(Errc::kNotHoldfast, "there is none here");
    word(0) = magic_of_another;
    expect_refused(Errc::kNotHoldfast, "something else");
  }
  void expect_that_newer_formats_are_refused() {
    const auto header = this->header();
    auto newer = header;
    newer.format_version = newer.oldest_reader = 2;
    write_superblock(newer, shape());
    expect_refused(Errc::kNewerFormat, "format version 2");
    auto feature = header;
    feature.incompatible_features = 1;
    write_superblock(feature, shape());
    expect_refused(Errc::kNewerFormat, "bit 0");
  }
  void expect_that_every_byte_of_the_superblock_is_checked() {
    for (std::uint64_t at = 8; at < sizeof(SuperblockHeader) + sizeof(Shape); ++at) {
      region_.data()[at] ^= std::byte{0x10};
      ASSERT_EQ(open().code(), Errc::kCorrupt) << "byte " << at;
      region_.data()[at] ^= std::byte{0x10};
    }
    EXPECT_TRUE(open().has_value());
  }
  // Their checksums hold.
  void expect_that_shapes_are_refused(std::initializer_list<Shape> bad, const Shape& too_long) {
    const auto header = this->header();
    for (const auto& shape : bad) {
      write_superblock(header, shape);
      expect_refused(Errc::kCorrupt, "a shape that no build writes");
    }
    write_superblock(header, too_long);
    expect_refused(Errc::kCorrupt, "too short");
  }
  // Whatever lies between superblock and `end`: an error or an answer. use(index) of those that can
  // be opened; returns how many.
  template <class Use>
  unsigned damage_at_random(std::uint64_t end, Use&& use) {
    const std::vector<std::byte> good(region_.data(), region_.data() + region_.size_bytes());
    std::mt19937_64 random(1);
    unsigned opened = 0;
    for (unsigned round = 0; round < 3'000; ++round) {
      std::memcpy(region_.data(), good.data(), good.size());
      for (unsigned i = 0; i <= round % 8; ++i) {
        const auto at = kPageBytes + random() % (end - kPageBytes);
        region_.data()[at] = static_cast<std::byte>(random());
      }
      auto index = open();
      if (!index) continue;
      ++opened;
      use(**index);
    }
    return opened;
  }

  Region region_;

 private:
  SuperblockHeader header() const {
    SuperblockHeader header;
    std::memcpy(&header, region_.data(), sizeof header);
    return header;
  }
  Shape shape() const {
    Shape shape;
    std::memcpy(&shape, region_.data() + sizeof(SuperblockHeader), sizeof shape);
    return shape;
  }
  void write_superblock(const SuperblockHeader& header, const Shape& shape) {
    const auto sealed = sealed_header(header, format_, std::as_bytes(std::span(&shape, 1)));
    std::memcpy(region_.data(), &sealed, sizeof sealed);
    std::memcpy(region_.data() + sizeof sealed, &shape, sizeof shape);
  }

  const SuperblockFormat& format_;
};

}  // namespace holdfast::index
