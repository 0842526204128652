// Whatever a verb was compiled for, the store is the same: records that one instance wrote are
// found, replaced, patched and erased by the others, and the medium is sound.
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include <holdfast/kv/backup.hpp>
#include <holdfast/kv/pipeline.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

std::vector<RecordIsa> isas() {
  std::vector<RecordIsa> all;
  for (const auto isa : {RecordIsa::kPortable, RecordIsa::kAvx2, RecordIsa::kAvx512}) {
    if (isa <= record_isa()) all.push_back(isa);
  }
  return all;
}
void take(Store<>& store, RecordIsa isa) {
  store.core()->take(verbs_for(ForTests::rooms(store), isa));
}

struct Case {
  const char* name;
  const char* suffix;
  std::vector<std::uint32_t> words;
};
class VerbsPath : public testing::TestWithParam<Case> {
 protected:
  Store<> open() { return Store<>::open(spec_, with_words(GetParam().words)).value(); }

  Scratch scratch_ = Scratch::tmpfs();
  const std::string spec_ = scratch_.path("store") + GetParam().suffix;
};
const Case kCases[] = {
    {"VolatileNone", "", {}},
    {"VolatileFirst", "", {0}},
    {"ByteFirst", "?granularity=byte", {0}},
    {"StreamNone", "?granularity=line&nt_evicts=on", {}},
    {"StreamFirst", "?granularity=line&nt_evicts=on", {0}},
    {"StreamSome", "?granularity=line&nt_evicts=on", {8, 24}},
    {"WriteBackNone", "?granularity=line&nt_evicts=off", {}},
    {"WriteBackFirst", "?granularity=line&nt_evicts=off", {0}},
    {"PageFirst", "?granularity=page", {0}},
};
INSTANTIATE_TEST_SUITE_P(Everywhere, VerbsPath, testing::ValuesIn(kCases),
                         [](const auto& of) { return std::string(of.param.name); });

std::string value_of(std::size_t bytes, unsigned salt) {
  std::string value(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i)
    value[i] = static_cast<char>(i * 7 + salt);
  return value;
}

TEST_P(VerbsPath, EveryInstanceReadsAndReplacesWhatTheOthersWrote) {
  auto store = open();
  Contents model;
  std::mt19937 generator(7);
  const auto random = [&] { return static_cast<unsigned>(generator()); };
  const auto all = isas();
  const std::size_t key_bytes[] = {16, 16, 16, 0, 1, 7, 8, 15, 17, 24, 40, 64, 65, 200};
  for (unsigned i = 0; i < 4'000; ++i) {
    take(store, all[random() % all.size()]);
    const std::string key = value_of(key_bytes[random() % std::size(key_bytes)], random() % 20);
    const auto found = model.find(key);
    switch (random() % 6) {
      case 0:
      case 1: {
        const auto value = value_of(random() % 3 == 0 ? random() % 24 : random() % 400, i);
        EXPECT_EQ(store.put(key, value).value(),
                  found == model.end() ? PutOutcome::kInserted : PutOutcome::kOverwrote);
        model[key] = value;
        break;
      }
      case 2: {
        EXPECT_EQ(store.erase(key).value(), found != model.end());
        model.erase(key);
        break;
      }
      case 3: {
        std::uint32_t offset = random() % 2 == 0 ? 0 : 8;
        const bool fits = found != model.end() && found->second.size() >= offset + 8;
        const auto updated = store.update_word(key, offset, [](std::uint64_t) { return 42; });
        EXPECT_EQ(updated.has_value(), fits);
        if (fits) {
          const std::uint64_t word = 42;
          std::memcpy(found->second.data() + offset, &word, sizeof word);
        }
        break;
      }
      case 4: {
        std::vector<std::string> keys, values;
        for (unsigned j = 0; j < 70; ++j) {
          keys.push_back(value_of(key_bytes[random() % std::size(key_bytes)], random() % 20));
          values.push_back(value_of(random() % 300, i + j));
          model[keys.back()] = values.back();
        }
        const std::vector<std::string_view> key_views(keys.begin(), keys.end());
        const std::vector<std::string_view> value_views(values.begin(), values.end());
        ASSERT_TRUE(store.put_many(key_views, value_views));
        break;
      }
      default: {
        std::string buffer(found == model.end() ? 0 : found->second.size(), '\0');
        const auto length = store.get(key, std::as_writable_bytes(std::span(buffer)));
        ASSERT_EQ(length.has_value(), found != model.end());
        if (length) {
          EXPECT_EQ(*length, found->second.size());
          EXPECT_EQ(buffer, found->second);
        }
        const std::string_view views[] = {key, "not there", key};
        std::string values[3];
        Errc outcomes[3];
        ASSERT_TRUE(store.get_many(views, values, outcomes));
        EXPECT_EQ(outcomes[1], Errc::kNotFound);
        EXPECT_EQ(outcomes[2], length ? Errc::kOk : Errc::kNotFound);
        if (length) {
          EXPECT_EQ(values[2], found->second);
        }
      }
    }
  }
  EXPECT_TRUE(store.verify().ok());
  EXPECT_EQ(contents_of(store), model);
  ForTests::abandon(store);
  auto again = open();
  EXPECT_TRUE(again.verify().ok());
  EXPECT_EQ(contents_of(again), model);
}

TEST_P(VerbsPath, AValueIsCopiedAsFarAsItFitsAndNotFurther) {
  auto store = open();
  const std::string value = value_of(150, 3);
  ASSERT_TRUE(store.put("0123456789abcdef", value));
  for (const auto isa : isas()) {
    take(store, isa);
    for (const std::size_t room : {0u, 1u, 7u, 8u, 9u, 31u, 33u, 63u, 64u, 65u, 149u, 150u, 160u}) {
      std::string buffer(200, '#');
      const auto length =
          store.get("0123456789abcdef", std::as_writable_bytes(std::span(buffer).first(room)));
      EXPECT_EQ(length.value(), value.size());
      const std::size_t copied = std::min(room, value.size());
      EXPECT_EQ(buffer.substr(0, copied), value.substr(0, copied));
      EXPECT_EQ(buffer.substr(copied), std::string(200 - copied, '#'));
    }
  }
}

// A size that many reads in a row have had is expected of the next one; others come out whole, too.
TEST_P(VerbsPath, ValuesOfEverySize) {
  auto store = open();
  std::vector<std::string> keys, values;
  for (std::size_t bytes = 0; bytes < 700; ++bytes) {
    keys.push_back("0123456789" + std::to_string(100'000 + bytes));
    values.push_back(value_of(bytes, 5));
  }
  const std::vector<std::string_view> key_views(keys.begin(), keys.end());
  const std::vector<std::string_view> value_views(values.begin(), values.end());
  for (const auto isa : isas()) {
    take(store, isa);
    ASSERT_TRUE(store.put_many(key_views, value_views));
    std::string text;
    for (std::size_t bytes = 0; bytes < 700; ++bytes) {
      for (unsigned times = 0; times < (bytes % 50 == 0 ? 40u : 1u); ++times) {
        ASSERT_TRUE(store.get(keys[bytes], text));
        ASSERT_EQ(text, values[bytes]);
        std::string buffer(800, '#');
        const auto size = store.get(keys[bytes], std::as_writable_bytes(std::span(buffer)));
        ASSERT_EQ(size.value(), bytes);
        ASSERT_EQ(buffer, values[bytes] + std::string(800 - bytes, '#'));
      }
    }
    std::vector<std::string> texts(700);
    std::vector<Errc> outcomes(700);
    ASSERT_TRUE(store.get_many(key_views, texts, outcomes));
    EXPECT_EQ(texts, values);
  }
  EXPECT_TRUE(store.verify().ok());
}

// The end of a value is copied by a load of its own, which may begin within a word that is updated.
TEST(VerbsPathWords, AValueOfAnySizeIsReadWithoutATornWord) {
  const std::vector<std::uint32_t> words = {0, 8, 40};
  auto store = Store<>::open("dram", with_words(words)).value();
  constexpr std::uint64_t kZeros = 0, kOnes = ~std::uint64_t{0};
  const std::string key = "0123456789abcdef";
  for (const RecordIsa isa : isas()) {
    take(store, isa);
    for (const std::size_t bytes : {11u, 21u, 41u, 77u, 109u}) {
      ASSERT_TRUE(store.put(key, std::string(bytes, '\0')));
      ForTests::seal(store).value();  // Its words are updated in place from now on.
      std::atomic<bool> done{false};
      std::thread writer([&] {
        while (!done.load()) {
          for (const std::uint32_t word : words) {
            if (word + 8 > bytes) continue;
            store.update_word(key, word, [](std::uint64_t old) { return ~old; }).value();
          }
        }
      });
      std::string buffer(bytes, '#');
      unsigned torn = 0;
      for (unsigned i = 0; i < 20'000; ++i) {
        store.get(key, std::as_writable_bytes(std::span(buffer))).value();
        for (const std::uint32_t word : words) {
          if (word + 8 > bytes) continue;
          std::uint64_t seen = 0;
          std::memcpy(&seen, buffer.data() + word, sizeof seen);
          torn += seen != kZeros && seen != kOnes;
        }
      }
      done.store(true);
      writer.join();
      EXPECT_EQ(torn, 0u) << bytes << " bytes, isa " << static_cast<int>(isa);
    }
  }
}

// Windows of a pipeline and groups of put_many beside a map: of the keys that hot paths take, and
// now and then of others.
TEST_P(VerbsPath, GroupsOfAnyInstanceDoWhatTheModelDoes) {
  auto store = open();
  Contents model;
  std::mt19937 generator(11);
  const auto random = [&] { return static_cast<unsigned>(generator()); };
  const auto key_of = [&] { return value_of(random() % 20 == 0 ? 9 : 16, random() % 40); };
  const auto new_value = [&](unsigned salt) {
    return value_of(random() % 10 == 0 ? random() % 24 : 24 + random() % 300, salt);
  };
  const auto all = isas();
  for (unsigned round = 0; round < 150; ++round) {
    take(store, all[random() % all.size()]);
    if (round % 20 == 7) ForTests::seal(store).value();
    if (round % 3 == 0) {
      std::vector<std::string> keys, values;
      for (unsigned i = 0; i < 1 + random() % 150; ++i) {
        keys.push_back(key_of());
        values.push_back(new_value(i));
        model[keys.back()] = values.back();
      }
      const std::vector<std::string_view> key_views(keys.begin(), keys.end());
      const std::vector<std::string_view> value_views(values.begin(), values.end());
      ASSERT_TRUE(store.put_many(key_views, value_views));
      continue;
    }
    auto pipeline = Pipeline<>::open(store, {.window = 1 + random() % 64}).value();
    for (unsigned i = 0; i < 100; ++i) {
      const std::string key = key_of();
      const auto found = model.find(key);
      const bool there = found != model.end();
      switch (random() % 5) {
        case 0: {
          const std::string value = new_value(i);
          pipeline.put(key, value, [there](Result<PutOutcome> outcome) {
            if (outcome.value() == PutOutcome::kWritten) return;  // Page media do not say.
            EXPECT_EQ(outcome.value() == PutOutcome::kOverwrote, there);
          });
          model[key] = value;
          break;
        }
        case 1:
          pipeline.erase(key, [there](Result<bool> erased) { EXPECT_EQ(erased.value(), there); });
          model.erase(key);
          break;
        case 2: {
          const auto text = std::make_shared<std::string>(random() % 2 == 0 ? 400 : 0, '#');
          const std::string expected = there ? found->second : "";
          pipeline.get(key, *text, [text, there, expected](Result<Version> version) {
            EXPECT_EQ(version.has_value(), there);
            EXPECT_EQ(there ? *text : "", expected);
          });
          break;
        }
        case 3: {
          const auto buffer = std::make_shared<std::array<std::byte, 400>>();
          const std::string expected = there ? found->second : "";
          pipeline.get(key, std::span<std::byte>(*buffer),
                       [buffer, there, expected](Result<std::uint64_t> bytes) {
                         EXPECT_EQ(bytes.has_value(), there);
                         if (!there) return;
                         EXPECT_EQ(*bytes, expected.size());
                         EXPECT_EQ(std::memcmp(buffer->data(), expected.data(), expected.size()),
                                   0);
                       });
          break;
        }
        default: {
          if (!there || found->second.size() < 16) break;
          const std::uint32_t at = random() % 2 * 8;
          std::uint64_t word = 0;
          std::memcpy(&word, found->second.data() + at, sizeof word);
          pipeline.update_word(
              key, at, [i](std::uint64_t before) { return before * 3 + i; },
              [word](Result<std::uint64_t> before) { EXPECT_EQ(before.value(), word); });
          word = word * 3 + i;
          std::memcpy(found->second.data() + at, &word, sizeof word);
        }
      }
    }
    ASSERT_TRUE(pipeline.flush());
  }
  EXPECT_EQ(contents_of(store), model);
  EXPECT_TRUE(store.verify().ok());
}

// What a machine of one kind backed up, one of another kind restores and goes on with: other
// instructions, another way to the medium, another medium.
TEST_P(VerbsPath, ABackupIsRestoredOnAnotherKindOfMachine) {
  const std::vector<std::uint32_t> words = GetParam().words;
  for (const RecordIsa from : isas()) {
    const std::string name = "from" + std::to_string(static_cast<int>(from));
    const std::string directory = scratch_.path("backup_" + name);
    Contents model;
    {
      auto store =
          Store<>::open(scratch_.path(name) + GetParam().suffix, with_words(words)).value();
      take(store, from);
      for (unsigned i = 0; i < 300; ++i) {
        const std::string key = value_of(i % 3 == 0 ? 16 : i % 70, i);
        ASSERT_TRUE(store.put(key, model[key] = value_of(24 + i % 200, i)));
        if (i % 7 == 0) {
          ASSERT_TRUE(store.erase(key));
          model.erase(key);
        }
      }
      backup(store, directory).value();
    }
    for (const RecordIsa to : isas()) {
      for (const Case& other : kCases) {
        if (!other.words.empty()) continue;
        const std::string restored =
            name + "_to" + std::to_string(static_cast<int>(to)) + other.name;
        ASSERT_TRUE(restore_backup(directory, scratch_.path(restored) + other.suffix));
        auto store =
            Store<>::open(scratch_.path(restored) + other.suffix, with_words(words)).value();
        take(store, to);
        expect_contents(store, model);
        Contents changed = model;
        unsigned salt = 1000;
        for (auto& [key, value] : changed)
          ASSERT_TRUE(store.put(key, value = value_of(value.size(), salt++)));
        ASSERT_TRUE(store.reclaim());
        expect_contents(store, changed);
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::kv
