// A ByteDash: its verbs, lengths, keys of one hash, reuse of space, damage, threads.
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "byte_dash_support.hpp"

namespace holdfast::index {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

std::unique_ptr<ByteDash> create(Region& region, const ByteDashOptions& options = {}) {
  return ByteDash::create(region, blocks::whole(region), options).value();
}
std::unique_ptr<ByteDash> open(Region& region) {
  return ByteDash::open(region, blocks::whole(region)).value();
}
Texts contents_of(const ByteDash& index) {
  Texts contents;
  index
      .for_each([&](std::string_view key, std::string_view value) {
        EXPECT_TRUE(contents.emplace(key, value).second) << "twice: " << key;
      })
      .value();
  return contents;
}

TEST(ByteDash, VerbsDoWhatTheySayAndRefuseTheRest) {
  auto region = region_of(32 * MiB);
  const auto index = create(region);
  EXPECT_EQ(index->find("a").code(), Errc::kNotFound);
  EXPECT_EQ(index->update("a", "1").code(), Errc::kNotFound);
  EXPECT_EQ(index->erase("a").code(), Errc::kNotFound);
  index->insert("a", "1").value();
  EXPECT_EQ(index->insert("a", "2").code(), Errc::kAlreadyExists);
  index->update("a", "22").value();
  EXPECT_EQ(index->find("a").value(), "22");
  index->put("a", "").value();
  index->put("", "of no key").value();
  EXPECT_EQ(index->find("a").value(), "");
  EXPECT_EQ(index->find("").value(), "of no key");
  index->erase("a").value();
  EXPECT_EQ(index->find("a").code(), Errc::kNotFound);
  EXPECT_EQ(contents_of(*index).size(), 1u);
  const auto refused = index->put("k", std::string(1 * MiB, 'x'));
  EXPECT_EQ(refused.code(), Errc::kTooLarge);
  EXPECT_NE(refused.error().detail.find("have 1048577 bytes"), std::string::npos);
}

// With and without keys that share a hash, through openings and much more writing than there is
// room for.
TEST(ByteDash, AgreesWithAMapAndUsesSpaceAgain) {
  for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{0xf}}) {
    auto region = region_of(1 * MiB);
    auto options = small_byte_dash();
    options.log_bytes = 512 * KiB;
    options.segment_bytes = 16 * KiB;
    options.dash = {};
    auto index = create(region, options);
    index->mask_hashes(mask);
    Texts model;
    std::mt19937_64 random(7);
    std::uint64_t written = 0;
    for (unsigned opening = 0; opening < 4; ++opening) {
      for (unsigned i = 0; i < 5'000; ++i) {
        const auto key = text_of(random() % 200), value = text_of(random() % 100'000);
        const bool exists = model.contains(key);
        switch (random() % 4) {
          case 0: {
            const auto inserted = index->insert(key, value);
            ASSERT_EQ(inserted.code(), exists ? Errc::kAlreadyExists : Errc::kOk);
            model.emplace(key, value);
            break;
          }
          case 1:
            ASSERT_EQ(index->update(key, value).code(), exists ? Errc::kOk : Errc::kNotFound);
            if (exists) model[key] = value;
            break;
          case 2:
            index->put(key, value).value();
            model[key] = value;
            break;
          default:
            ASSERT_EQ(index->erase(key).code(), exists ? Errc::kOk : Errc::kNotFound);
            model.erase(key);
        }
        written += value.size();
        const auto found = index->find(key);
        ASSERT_EQ(found.has_value(), model.contains(key));
        if (found) {
          ASSERT_EQ(*found, model[key]);
        }
      }
      EXPECT_EQ(contents_of(*index), model);
      index.reset();
      index = open(region);
      index->mask_hashes(mask);
    }
    EXPECT_EQ(contents_of(*index), model);
    EXPECT_GT(written, 2 * options.log_bytes);
  }
}

TEST(ByteDash, AFullLogRefusesWritesAndServesTheRest) {
  auto region = region_of(128 * KiB);
  const auto index = create(region, small_byte_dash());
  std::uint64_t keys = 0;
  Status status;
  while ((status = index->insert(std::to_string(keys), std::string(500, 'x'))))
    ++keys;
  EXPECT_EQ(status.code(), Errc::kNoSpace);
  EXPECT_GT(keys, 10u);
  for (std::uint64_t key = 0; key < keys; ++key)
    ASSERT_EQ(index->find(std::to_string(key)).value().size(), 500u);
  for (std::uint64_t key = 0; key < keys; key += 2)
    index->erase(std::to_string(key)).value();
  for (std::uint64_t key = 0; key < keys / 4; ++key)
    index->insert("new" + std::to_string(key), std::string(400, 'y')).value();
  for (std::uint64_t key = 1; key < keys; key += 2)
    ASSERT_EQ(index->find(std::to_string(key)).value().size(), 500u);
}

TEST(ByteDash, OptionsAreCheckedByName) {
  auto region = region_of(1 * MiB);
  const auto refused = [&](auto change, const char* text, Errc code = Errc::kInvalidOption) {
    auto options = small_byte_dash();
    change(options);
    const auto made = ByteDash::create(region, blocks::whole(region), options);
    EXPECT_EQ(made.code(), code);
    EXPECT_NE(made.error().detail.find(text), std::string::npos) << made.error().detail;
  };
  refused([](auto& options) { options.lanes = 0; }, "lanes=0: allowed are 1 to 63");
  refused([](auto& options) { options.log_bytes = 100; }, "log_bytes=100");
  // A record's place has 40 bits, of words.
  refused([](auto& options) { options.log_bytes = 8 * TiB + kPageBytes; }, "up to 8 TiB");
  refused([](auto& options) { options.dash.buckets = 1; }, "buckets=1");
  refused([](auto& options) { options.log_bytes = 2 * MiB; }, "log_bytes=2097152", Errc::kNoSpace);
  refused([](auto& options) { options.log_bytes = 16 * KiB; }, "at least 36864", Errc::kNoSpace);
  refused([](auto& options) { options.segment_bytes = 100; }, "segment_bytes=100");
  const auto index = create(region, small_byte_dash());
  EXPECT_EQ(ByteDash::open(region, blocks::whole(region)).code(), Errc::kBusy);
}

// A record is found damaged, by its place, and nothing else is.
TEST(ByteDash, DamageIsNamed) {
  auto region = region_of(128 * KiB);
  auto index = create(region, small_byte_dash());
  for (unsigned key = 0; key < 20; ++key)
    index->insert(std::to_string(key), "value of " + std::to_string(key) + "!").value();
  index.reset();
  const std::string_view all(reinterpret_cast<const char*>(region.data()), region.size_bytes());
  const auto at = all.find("value of 7!");
  ASSERT_NE(at, std::string_view::npos);
  region.data()[at] ^= std::byte{1};
  // Its log may say so at once: it is the only segment.
  const auto opened = ByteDash::open(region, blocks::whole(region));
  if (!opened) {
    EXPECT_EQ(opened.code(), Errc::kCorrupt);
  } else {
    EXPECT_EQ((*opened)->find("7").code(), Errc::kCorrupt);
    EXPECT_NE((*opened)->find("7").error().detail.find("of the log is damaged"), std::string::npos);
    EXPECT_EQ((*opened)->find("8").value(), "value of 8!");
  }
  for (std::uint64_t byte = 8; byte < 64 + 24; ++byte) {
    region.data()[byte] ^= std::byte{0x10};
    ASSERT_EQ(ByteDash::open(region, blocks::whole(region)).code(), Errc::kCorrupt) << byte;
    region.data()[byte] ^= std::byte{0x10};
  }
}

// Dash leads to a record of another LSN: its bytes are intact, but they are not those of the key.
TEST(ByteDash, APlaceThatHoldsAnotherRecordIsDamage) {
  auto region = region_of(128 * KiB);
  auto options = small_byte_dash();
  auto index = create(region, options);
  index->insert("a", "1").value();
  index.reset();
  const auto at = kPageBytes + options.log_bytes;
  {
    const auto dash = Dash::open(region, Extent{at, region.size_bytes() - at}).value();
    std::uint64_t hash = 0, place = 0;
    dash->for_each([&](std::uint64_t key, std::uint64_t value) { hash = key, place = value; })
        .value();
    dash->update(hash, place ^ 1).value();
  }
  index = open(region);
  EXPECT_EQ(index->find("a").code(), Errc::kCorrupt);
  EXPECT_EQ(index->put("a", "2").code(), Errc::kCorrupt);
}

TEST(ByteDashConcurrent, ReadersFindWhatIsThereWhileSpaceIsReused) {
  auto region = region_of(1 * MiB);
  auto options = small_byte_dash();
  options.log_bytes = 256 * KiB;
  options.segment_bytes = 8 * KiB;
  options.lanes = 2;
  options.dash = {};
  const auto index = create(region, options);
  constexpr std::uint64_t kKeys = 100;
  for (std::uint64_t key = 0; key < kKeys; ++key)
    index->insert(text_of(key), text_of(key * 1'000)).value();
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> wrong{0}, refused{0};
  std::vector<std::thread> readers, writers;
  for (unsigned reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!done.load()) {
        for (std::uint64_t key = 0; key < kKeys; ++key) {
          const auto found = index->find(text_of(key));
          wrong += !found || number_of(*found) / 1'000 != key;
        }
      }
    });
  }
  for (unsigned writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (std::uint64_t i = 0; i < 10'000; ++i) {
        const auto key = (i * 2 + writer) % kKeys;
        refused += !index->put(text_of(key), text_of(key * 1'000 + i % 1'000));
      }
    });
  }
  for (auto& writer : writers)
    writer.join();
  done = true;
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(refused.load(), 0u);
}

// A writer that reuses space waited until no thread read at all: for ever, with some threads that
// only read.
TEST(ByteDashConcurrent, ManyReadersDoNotKeepAWriterWaiting) {
  auto region = region_of(8 * MiB);
  ByteDashOptions options;
  options.log_bytes = 2 * MiB;
  options.segment_bytes = 64 * KiB;
  options.lanes = 2;
  const auto index = create(region, options);
  const std::string value(20'000, 'x');
  constexpr std::uint64_t kKeys = 20;
  for (std::uint64_t key = 0; key < kKeys; ++key)
    index->insert(text_of(key), value).value();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (unsigned reader = 0; reader < 6; ++reader) {
    readers.emplace_back([&, reader] {
      for (std::uint64_t i = reader; !done.load(); ++i)
        index->find(text_of(i % kKeys)).value();
    });
  }
  // The log is reused some ten times.
  auto writer = std::async(std::launch::async, [&] {
    for (std::uint64_t i = 0; i < 1'000; ++i)
      index->put(text_of(i % kKeys), value).value();
  });
  EXPECT_EQ(writer.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  done = true;
  for (auto& reader : readers)
    reader.join();
  writer.get();
}

// A writer that was stopped within its append kept what others had written behind it from being
// reused, and what one made room for, others took: "live records fill the log", with ten of them.
TEST(ByteDashConcurrent, TheSmallestLogHasRoomForFewRecordsOfManyWriters) {
  auto region = region_of(1 * MiB);
  auto options = small_byte_dash();
  options.lanes = 4;
  options.log_bytes = kPageBytes + (3 * (std::uint64_t{options.lanes} + 1) + 2) * 4 * KiB;
  options.dash = {};
  const auto index = create(region, options);
  std::vector<std::thread> writers;
  for (unsigned writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (std::uint64_t i = 0; i < 5'000; ++i) {
        const auto key = text_of((i + writer) % 10);
        const auto done = i % 16 == 0 ? index->erase(key) : index->put(key, text_of(i));
        const bool gone = i % 16 == 0 && done.code() == Errc::kNotFound;
        ASSERT_TRUE(done || gone) << "writer " << writer << ", write " << i << ": "
                                  << done.error().detail;
      }
    });
  }
  for (auto& writer : writers)
    writer.join();
}

// Every record lives: reclaim() copies them all and says so, and ends.
TEST(ByteDash, ALogThatLiveRecordsFillIsFullForEachWriter) {
  auto region = region_of(1 * MiB);
  auto options = small_byte_dash();
  options.lanes = 2;
  options.log_bytes = 64 * KiB;
  options.dash = {};
  const auto index = create(region, options);
  std::vector<std::thread> writers;
  std::atomic<std::uint64_t> written{0};
  for (unsigned writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      Status status;
      for (std::uint64_t i = 0; status && i < 10'000; ++i) {
        status = index->insert(std::to_string(2 * i + writer), std::string(100, 'x'));
        written += status ? 1 : 0;
      }
      EXPECT_EQ(status.code(), Errc::kNoSpace);
    });
  }
  for (auto& writer : writers)
    writer.join();
  std::uint64_t found = 0;
  ASSERT_TRUE(index->for_each([&](std::string_view, std::string_view) { ++found; }));
  EXPECT_EQ(found, written.load());
}

}  // namespace
}  // namespace holdfast::index
