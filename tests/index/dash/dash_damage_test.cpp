// What a Dash index says about media that are foreign or damaged: a named error, never a crash.
#include <algorithm>
#include <string>
#include <vector>

#include <holdfast/memory/sealed_word.hpp>

#include "../index_damage.hpp"
#include "dash_support.hpp"

namespace holdfast::index {
namespace {

using namespace dash_detail;

class DashDamage : public IndexDamage<Dash, DashShape> {
 protected:
  DashDamage() : IndexDamage(kDashFormat, 128 * KiB) {
    DashOptions options;
    options.buckets = 4, options.stash_buckets = 1, options.segments = 40, options.max_depth = 7;
    auto dash = Dash::create(region_, blocks::whole(region_), options).value();
    while (dash->segments() < 12) {
      ++keys_;
      dash->insert(keys_, keys_).value();
    }
    shape_ = {4, 1, 40, 7};
  }
  // The errors of looking at all keys.
  std::vector<Error> errors_of_finds() {
    const auto dash = open().value();
    std::vector<Error> errors;
    for (std::uint64_t key = 1; key <= keys_; ++key) {
      const auto found = dash->find(key);
      if (!found)
        errors.push_back(found.error());
      else
        EXPECT_EQ(*found, key);
    }
    return errors;
  }

  std::uint64_t keys_ = 0;
  DashShape shape_;
};

TEST_F(DashDamage, NothingAndSomethingElseAreNoIndex) {
  expect_that_foreign_media_are_refused(magic_of("HLDPAGE2"));
}

TEST_F(DashDamage, ANewerVersionAndAnUnknownFeatureAreRefusedByName) {
  expect_that_newer_formats_are_refused();
}

TEST_F(DashDamage, EveryByteOfTheSuperblockIsChecked) {
  expect_that_every_byte_of_the_superblock_is_checked();
}

TEST_F(DashDamage, AShapeThatNoBuildWritesIsRefused) {
  expect_that_shapes_are_refused(
      {{0, 1, 40, 7}, {4, ~0u, 40, 7}, {4, 1, 0, 7}, {4, 1, 40, 29}, {~0u, 1, 40, 7}},
      {4, 1, 4'000, 7});
}

TEST_F(DashDamage, TheDepthAndTheSplitWordAreChecked) {
  for (const auto& [at, detail] :
       {std::pair{kDepthAt, "depth of its directory"}, std::pair{kSplitAt, "last split"}}) {
    for (unsigned bit = 0; bit < 64; ++bit) {
      word(at) ^= std::uint64_t{1} << bit;
      expect_refused(Errc::kCorrupt, detail);
      word(at) ^= std::uint64_t{1} << bit;
    }
  }
}

TEST_F(DashDamage, ADamagedPlaceOfTheDirectoryFailsItsKeysAndNoOthers) {
  word(kDirectoryAt + 8 * 3) ^= 1;
  const auto errors = errors_of_finds();
  ASSERT_FALSE(errors.empty());
  EXPECT_LT(errors.size(), keys_ / 2);
  for (const auto& error : errors) {
    EXPECT_EQ(error.code, Errc::kCorrupt);
    EXPECT_NE(error.detail.find("place 3 of its directory"), std::string::npos) << error.detail;
  }
  const auto dash = open().value();
  EXPECT_EQ(dash->for_each([](std::uint64_t, std::uint64_t) {}).code(), Errc::kCorrupt);
}

TEST_F(DashDamage, APlaceThatNamesNoSegmentIsRefused) {
  const auto context = entry_context(id_of(region_), 3);
  word(kDirectoryAt + 8 * 3) = seal_word<SealedWord>(shape_.segments, context);
  const auto errors = errors_of_finds();
  ASSERT_FALSE(errors.empty());
  for (const auto& error : errors)
    EXPECT_NE(error.detail.find("place 3 of its directory"), std::string::npos) << error.detail;
}

// The split word says which segments are in use. Where it was lost, the directory led to others,
// and a split of such a segment waited for itself.
TEST_F(DashDamage, ALostSplitWordIsRefused) {
  word(kSplitAt) = 0;
  expect_refused(Errc::kCorrupt, "the word of a later split is lost");
}

TEST_F(DashDamage, ASplitWordThatIsOneSplitOldIsRefused) {
  const auto keys_of = [&](std::uint32_t number) {
    auto* const bucket = reinterpret_cast<Bucket*>(region_.data() + shape_.segment_at(number));
    return SegmentKeys::of(SealedWord::value(bucket->lines[1].extra));
  };
  // Of the segments that were split from another one and neither was split since.
  const auto last = SplitWord::of(SealedWord::value(word(kSplitAt)));
  std::uint32_t tried = 0;
  for (std::uint32_t to = last.to - 1; to > 0; --to) {
    for (std::uint32_t from = 0; from < to; ++from) {
      if (!keys_of(to).is_upper_half() || keys_of(from) != keys_of(to).lower_twin()) continue;
      word(kSplitAt) =
          seal_word<SealedWord>(SplitWord{from, to}.word(), split_context(id_of(region_)));
      expect_refused(Errc::kCorrupt, "the word of a later split is lost");
      ++tried;
    }
  }
  EXPECT_GT(tried, 0u);
}

// The page of the depth, the split word and the places is that of two splits before: they agree
// with one another, and no place leads to the segments that were made since.
TEST_F(DashDamage, APageWithTheSplitWordAndPlacesOfTwoSplitsBeforeIsRefused) {
  std::byte* const page = region_.data() + kDepthAt;
  const std::vector<std::byte> before(page, page + shape_.segments_at() - kDepthAt);
  {
    auto dash = open().value();
    while (dash->segments() < 14) {
      ++keys_;
      dash->insert(keys_, keys_).value();
    }
  }
  std::copy(before.begin(), before.end(), page);
  expect_refused(Errc::kCorrupt, "the word of a later split is lost");
}

// An index that is full has no segment behind the last one.
TEST_F(DashDamage, AFullIndexIsOpened) {
  {
    auto dash = open().value();
    while (dash->insert(++keys_, 0)) {
    }
  }
  EXPECT_TRUE(open().has_value());
}

TEST_F(DashDamage, APlaceThatNamesASegmentBehindTheLastSplitIsRefused) {
  const auto split = SplitWord::of(SealedWord::value(word(kSplitAt)));
  word(kDirectoryAt + 8 * 3) =
      seal_word<SealedWord>(split.to + 1, entry_context(id_of(region_), 3));
  const auto errors = errors_of_finds();
  ASSERT_FALSE(errors.empty());
  for (const auto& error : errors)
    EXPECT_NE(error.detail.find("place 3 of its directory"), std::string::npos) << error.detail;
}

TEST_F(DashDamage, ASegmentThatIsDeeperThanTheDirectoryIsRefused) {
  const auto split = SplitWord::of(SealedWord::value(word(kSplitAt)));
  const std::uint32_t number = split.from == 2 ? 3 : 2;
  auto* const bucket = reinterpret_cast<Bucket*>(region_.data() + shape_.segment_at(number));
  bucket->lines[1].extra =
      seal_word<SealedWord>(SegmentKeys{0, 7}.word(), segment_context(id_of(region_), number));
  for (const auto& error : errors_of_finds())
    EXPECT_NE(error.detail.find("segment " + std::to_string(number) + " are damaged"),
              std::string::npos)
        << error.detail;
}

TEST_F(DashDamage, ASegmentWhoseKeysAreDamagedIsRefusedByNameAndOthersAreNot) {
  // An opening looks at the segments of the last split: one that is not of it.
  const auto split = SplitWord::of(SealedWord::value(word(kSplitAt)));
  const std::uint32_t number = split.from == 2 ? 3 : 2;
  const auto name = "segment " + std::to_string(number);
  auto* const first = reinterpret_cast<Bucket*>(region_.data() + shape_.segment_at(number));
  const auto damaged = [&](std::uint64_t& at, std::uint64_t flip, const std::string& detail) {
    at ^= flip;
    const auto errors = errors_of_finds();
    EXPECT_FALSE(errors.empty());
    EXPECT_LT(errors.size(), keys_ / 2);
    for (const auto& error : errors) {
      EXPECT_EQ(error.code, Errc::kCorrupt);
      EXPECT_NE(error.detail.find(detail), std::string::npos) << error.detail;
    }
    at ^= flip;
  };
  // The first bucket may have no record: the id of an index is drawn.
  auto* bucket = first;
  unsigned line = 0;
  while ((bucket->lines[line].meta >> 48 & 1) == 0) {
    if (++line < Bucket::kLines) continue;
    line = 0;
    ++bucket;
  }
  const auto place = name + ": bucket " + std::to_string(bucket - first);
  damaged(bucket->lines[line].records[0].key, 1, place + " has a key of another");
  const auto key = bucket->lines[line].records[0].key, id = id_of(region_);
  const auto elsewhere = key_of_hash(hash_of_key(key, id) ^ std::uint64_t{1} << 63, id);
  damaged(bucket->lines[line].records[0].key, key ^ elsewhere,
          place + " has a key of another bucket");
  const auto other_segment = key_of_hash(hash_of_key(key, id) ^ 1, id);
  damaged(bucket->lines[line].records[0].key, key ^ other_segment,
          place + " has a key of another segment");
  damaged(bucket->lines[line].meta, 4, place + " has a key of another bucket");
  damaged(bucket->lines[line].meta, std::uint64_t{1} << 60, place + " has a line");
  damaged(first->lines[1].extra, 1, name + " are damaged");
}

// The bit that says that a record is there: without it the record was lost in silence.
TEST_F(DashDamage, ARecordWhoseBitIsLostIsMissed) {
  const auto split = SplitWord::of(SealedWord::value(word(kSplitAt)));
  const std::uint32_t number = split.from == 2 ? 3 : 2;
  auto* const buckets = reinterpret_cast<Bucket*>(region_.data() + shape_.segment_at(number));
  std::uint64_t records = 0;
  for (std::uint32_t bucket = 0; bucket < shape_.buckets + shape_.stash_buckets; ++bucket) {
    for (auto& line : buckets[bucket].lines) {
      for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
        const LineMeta whole{line.meta};
        if (!whole.holds(slot) || whole.visitor(slot) || whole.fingerprint(slot) == 0) continue;
        ++records;
        line.meta ^= std::uint64_t{1} << (48 + slot);
        const auto errors = errors_of_finds();
        EXPECT_FALSE(errors.empty()) << "bucket " << bucket << ", slot " << slot;
        for (const auto& error : errors)
          EXPECT_EQ(error.code, Errc::kCorrupt) << error.detail;
        line.meta = whole.word;
      }
    }
  }
  EXPECT_GT(records, 10u);
}

// An opening repeats the last split, which drops what has moved. A damaged key that looked like one
// of those was dropped with it, for good.
TEST_F(DashDamage, ADamagedKeyOfTheSegmentThatWasSplitLastIsNotDropped) {
  const auto id = id_of(region_);
  const auto split = SplitWord::of(SealedWord::value(word(kSplitAt)));
  auto* const buckets = reinterpret_cast<Bucket*>(region_.data() + shape_.segment_at(split.from));
  const auto upper = SegmentKeys::of(SealedWord::value(
      reinterpret_cast<Bucket*>(region_.data() + shape_.segment_at(split.to))->lines[1].extra));
  std::uint64_t flips = 0;
  for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket) {
    for (auto& line : buckets[bucket].lines) {
      for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
        const auto key = line.records[slot].key;
        if (!LineMeta{line.meta}.holds(slot)) continue;
        for (unsigned bit = 0; bit < 64; ++bit) {
          line.records[slot].key = key ^ std::uint64_t{1} << bit;
          if (!upper.has(KeyHash::of(line.records[slot].key, id))) continue;
          ++flips;
          const auto before = line.meta;
          for (const auto& error : errors_of_finds())
            EXPECT_EQ(error.code, Errc::kCorrupt) << "bit " << bit << error.detail;
          ASSERT_EQ(line.meta, before);
          break;
        }
        line.records[slot].key = key;
      }
    }
  }
  EXPECT_GT(flips, 10u);
}

// Whatever a file contains: an error or an answer.
TEST_F(DashDamage, RandomDamageNeverCrashes) {
  const auto opened = damage_at_random(shape_.segment_at(12), [&](Dash& dash) {
    for (std::uint64_t key = 1; key <= keys_; ++key) {
      (void)dash.find(key);
      if (key % 7 == 0) (void)dash.erase(key);
      if (key % 5 == 0) (void)dash.insert(key + keys_, key);
    }
    (void)dash.for_each([](std::uint64_t, std::uint64_t) {});
  });
  EXPECT_GT(opened, 500u);
}

}  // namespace
}  // namespace holdfast::index
