// rooms_support.hpp: what the tests of one room at a time share: a small medium in anonymous
// memory, and records that lie on it without a verb having put them there.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include <holdfast/kv/block_table.hpp>

#include "../for_tests.hpp"
#include "../support.hpp"

namespace holdfast::kv {

inline constexpr std::uint64_t kTestBlockBytes = 8 * KiB, kTestSegmentBytes = 64 * KiB;

inline Region small_region(std::uint64_t segments = 1) {
  RegionOptions options;
  options.size_bytes = segments * kTestSegmentBytes;
  options.unit_bytes = kTestSegmentBytes;
  options.reserve_bytes = 16 * MiB;
  return Region::open("dram", options).value();
}

inline Geometry small_geometry() {
  Geometry geometry;
  geometry.block_bytes = kTestBlockBytes;
  geometry.segment_bytes = kTestSegmentBytes;
  geometry.store_id = 77;
  return geometry;
}

// A block table of which the medium has formatted segments.
struct SmallTable {
  explicit SmallTable(std::uint64_t segments = 1, std::uint64_t max_bytes = kTestSegmentBytes)
      : medium(small_region(segments)), table(medium, small_geometry(), max_bytes) {
    table.format_segments(0, segments).value();
  }
  BlockWord word(std::uint64_t block) const {
    BlockWord word{};
    EXPECT_TRUE(decode_block_word(medium.word(table.geometry().table_word_at(block)),
                                  table.geometry().store_id, block, word));
    return word;
  }

  Medium medium;
  BlockTable table;
};

// Records of a store in anonymous memory, appended and indexed by hand.
class OnRecords : public testing::Test {
 protected:
  Appended append(std::string_view key, std::string_view value,
                  RecordKind kind = RecordKind::kPut) {
    const NewRecord record{kind, rooms_.index.hash(ForTests::bytes(key)), ForTests::bytes(key),
                           ForTests::bytes(value)};
    Appended appended;
    rooms_.appender.append(session_.lane, record, true, BlockTable::Purpose::kPut, appended)
        .value();
    rooms_.appender.commit(session_.lane).value();
    return appended;
  }
  Line put(std::string_view key, std::string_view value) {
    return line_at(append(key, value).offset);
  }
  Line tombstone(std::string_view key) {
    return line_at(append(key, {}, RecordKind::kErase).offset);
  }
  RecordHeader& header(Line line) {
    return *reinterpret_cast<RecordHeader*>(rooms_.medium.at(offset_of(line)));
  }
  std::uint64_t sequence(Line line) const { return rooms_.records.at(line).sequence(); }

  Store<> store_ = Store<>::open("dram", tiny()).value();
  Rooms& rooms_ = ForTests::rooms(store_);
  Session& session_ = rooms_.sessions.of_this_thread();
};

}  // namespace holdfast::kv
