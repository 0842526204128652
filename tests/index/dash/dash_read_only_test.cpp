// A Dash index in a read-only region: as a crash left it, without being repaired.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/memory/sealed_word.hpp>

#include "dash_support.hpp"

namespace holdfast::index {
namespace {

using namespace dash_detail;

class DashReadOnly : public testing::Test {
 protected:
  DashReadOnly() {
    DashOptions options;
    options.buckets = 3, options.stash_buckets = 1, options.segments = 20, options.max_depth = 4;
    dash_ = Dash::create(*region_, blocks::whole(*region_), options).value();
    for (std::uint16_t number = 1; number <= 20; ++number)
      add(hash_in(number % 3, 3, number & 3, number));
    dash_.reset();
  }
  void add(std::uint64_t hash) {
    const auto key = key_of_hash(hash, id_of(*region_));
    dash_->insert(key, hash).value();
    expected_[key] = hash;
  }
  Segment segment(std::uint32_t number) {
    return Segment(region_->persist(), region_->data() + shape_.segment_at(number), shape_,
                   id_of(*region_));
  }
  // Everything is there once, nothing can be changed, and no byte was.
  void expect_readable() {
    std::vector<std::byte> before(region_->data(), region_->data() + region_->size_bytes());
    region_.reopen_read_only();
    const auto dash = Dash::open(*region_, blocks::whole(*region_)).value();
    Contents seen;
    dash->for_each([&](std::uint64_t key, std::uint64_t value) {
          EXPECT_TRUE(seen.emplace(key, value).second) << "twice";
        })
        .value();
    EXPECT_EQ(seen, expected_);
    for (const auto& [key, value] : expected_) {
      EXPECT_EQ(dash->find(key).value(), value);
      EXPECT_EQ(dash->update(key, 1).code(), Errc::kReadOnly);
      EXPECT_EQ(dash->erase(key).code(), Errc::kReadOnly);
    }
    EXPECT_EQ(dash->insert(1, 1).code(), Errc::kReadOnly);
    EXPECT_EQ(dash->put(1, 1).code(), Errc::kReadOnly);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), region_->data()));
  }

  const DashShape shape_{3, 1, 20, 4};
  FileRegion region_{64 * KiB};
  std::unique_ptr<Dash> dash_;
  Contents expected_;
};

TEST_F(DashReadOnly, AWholeIndexIsRead) { expect_readable(); }

TEST_F(DashReadOnly, AnInterruptedDisplacementShowsTheRecordOnce) {
  // The copy of a record of bucket 0 is in bucket 1 already.
  auto* const buckets = reinterpret_cast<Bucket*>(region_->data() + shape_.segment_at(0));
  for (const auto& line : buckets[0].lines) {
    const LineMeta from{line.meta};
    if (!from.holds(0) || from.visitor(0)) continue;
    auto& to = buckets[1].lines[3];
    ASSERT_FALSE(LineMeta{to.meta}.holds(2));
    to.records[2] = line.records[0];
    to.meta = LineMeta{to.meta}.with(2, from.fingerprint(0), true).word;
    return expect_readable();
  }
  FAIL() << "bucket 0 has no record at home";
}

TEST_F(DashReadOnly, AnInterruptedSplitIsReadWhereverItStopped) {
  const DurableWriter writer(*region_);
  const auto id = id_of(*region_);
  Directory directory(writer, shape_, id);
  directory.open().value();
  directory.grow().value();
  directory.grow().value();
  const SegmentKeys upper{1, 1};
  segment(0).copy_upper(segment(1), 1, upper);
  writer.put_word(kSplitAt, seal_word<SealedWord>(SplitWord{0, 1}.word(), split_context(id)))
      .value();
  // One of the two places: {1, 2} of depth 2 is the first of them.
  directory.link({1, 2}, 1).value();
  expect_readable();
}

// The last step of a split stores to many lines, and a crash leaves any of them.
TEST_F(DashReadOnly, ASplitThatWasInterruptedInItsLastStepIsRead) {
  const auto id = id_of(*region_);
  const SegmentKeys upper{1, 1};
  {
    const DurableWriter writer(*region_);
    Directory directory(writer, shape_, id);
    directory.open().value();
    directory.grow().value();
    segment(0).copy_upper(segment(1), 1, upper);
    writer.put_word(kSplitAt, seal_word<SealedWord>(SplitWord{0, 1}.word(), split_context(id)))
        .value();
    directory.link(upper, 1).value();
  }
  auto* begin = region_->data() + shape_.segment_at(0);
  const std::vector<std::byte> before(begin, begin + shape_.segment_bytes());
  segment(0).drop_upper(0, upper);
  const std::vector<std::byte> after(begin, begin + shape_.segment_bytes());
  ASSERT_NE(before, after);
  const auto reopen = [&] {
    region_.reopen();
    begin = region_->data() + shape_.segment_at(0);
  };
  for (std::uint64_t at = 0; at < before.size(); at += kCacheLineBytes) {
    for (const auto& [all, one] : {std::pair{&before, &after}, std::pair{&after, &before}}) {
      reopen();
      std::ranges::copy(*all, begin);
      std::copy_n(one->begin() + static_cast<std::ptrdiff_t>(at), kCacheLineBytes,
                  begin + static_cast<std::ptrdiff_t>(at));
      expect_readable();
    }
  }
}

// It was kNotFound: only writing openings looked.
TEST_F(DashReadOnly, ADamagedKeyIsNamedAndNotTakenForAnAbsentOne) {
  const auto key = expected_.begin()->first;
  auto* const buckets = reinterpret_cast<Bucket*>(region_->data() + shape_.segment_at(0));
  bool damaged = false;
  for (std::uint32_t bucket = 0; bucket < shape_.buckets + shape_.stash_buckets; ++bucket) {
    for (auto& line : buckets[bucket].lines) {
      for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
        if (!LineMeta{line.meta}.holds(slot) || line.records[slot].key != key) continue;
        line.records[slot].key ^= 4;
        damaged = true;
      }
    }
  }
  ASSERT_TRUE(damaged);
  region_.reopen_read_only();
  const auto dash = Dash::open(*region_, blocks::whole(*region_)).value();
  EXPECT_EQ(dash->find(key).code(), Errc::kCorrupt);
  std::optional<std::uint64_t> value;
  EXPECT_EQ(dash->find_many({&key, 1}, {&value, 1}).code(), Errc::kCorrupt);
  EXPECT_EQ(dash->for_each([](std::uint64_t, std::uint64_t) {}).code(), Errc::kCorrupt);
}

}  // namespace
}  // namespace holdfast::index
