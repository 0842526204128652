// Whatever a verb was compiled for, the store is the same: records that one instance wrote are
// found, replaced, patched and erased by the others, and the medium is sound.
#include <random>

#include <holdfast/kv/backup.hpp>

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
