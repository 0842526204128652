// Verbs of keyspaces on many keys and on words, on every medium, and a dull model that judges all
// of their verbs in random order, with snapshots of several spaces at one moment beside them.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <tuple>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/space.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

using Views = std::vector<std::string_view>;
Views views(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

Contents contents_of(const Space& space) {
  Contents contents;
  EXPECT_TRUE(space.for_each([&](std::string_view key, std::string_view value, Version) {
    EXPECT_TRUE(contents.emplace(key, value).second);
    return true;
  }));
  EXPECT_EQ(contents.size(), space.count());
  return contents;
}

std::uint64_t word_of(const std::string& value, std::size_t at) {
  std::uint64_t word;
  std::memcpy(&word, value.data() + at, sizeof word);
  return word;
}

class InKeyspacesMany : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, InKeyspacesMany, kEveryPlace, place_name);

TEST_P(InKeyspacesMany, PutsGetsUpdatesAndErases) {
  auto store = open();
  auto space = store.create_space("space").value();
  ASSERT_TRUE(store.put("key1", "the store's"));
  std::vector<std::string> keys, values;
  for (int i = 0; i < 500; ++i) {
    keys.push_back("key" + std::to_string(i));
    values.push_back(text_of(i, 16 + i % 200));
  }
  ASSERT_TRUE(space.put_many(views(keys), views(values)));
  EXPECT_EQ(space.count(), 500u);
  keys.push_back("absent");
  std::vector<std::string> found(keys.size(), "untouched");
  std::vector<Errc> outcomes(keys.size(), Errc::kIo);
  ASSERT_TRUE(space.get_many(views(keys), found, outcomes));
  EXPECT_EQ(outcomes.back(), Errc::kNotFound);
  EXPECT_EQ(found.back(), "untouched");
  values.push_back("untouched");
  EXPECT_EQ(found, values);

  ASSERT_TRUE(space.update_many(
      views(keys), [](std::size_t i, std::string& value) { value += std::to_string(i); },
      outcomes));
  EXPECT_EQ(outcomes.back(), Errc::kNotFound);
  ASSERT_TRUE(space.update_word_many(
      views(keys), 8, [](std::size_t i, std::uint64_t word) { return word + i; }, outcomes));
  EXPECT_EQ(outcomes.back(), Errc::kNotFound);
  ASSERT_TRUE(space.get_many(views(keys), found, outcomes));
  for (std::size_t i = 0; i < 500; ++i) {
    const std::uint64_t word = word_of(values[i], 8) + i;
    values[i] += std::to_string(i);
    std::memcpy(values[i].data() + 8, &word, sizeof word);
    ASSERT_EQ(found[i], values[i]) << i;
  }
  keys.erase(keys.begin(), keys.begin() + 100);
  outcomes.resize(keys.size());
  ASSERT_TRUE(space.erase_many(views(keys), outcomes));
  EXPECT_EQ(outcomes.front(), Errc::kOk);
  EXPECT_EQ(outcomes.back(), Errc::kNotFound);
  EXPECT_EQ(space.count(), 100u);
  EXPECT_EQ(get(store, "key1"), "the store's");
  EXPECT_TRUE(store.verify().ok());
}

TEST_P(InKeyspacesMany, SayWhatIsWrong) {
  auto store = open();
  auto space = store.create_space("space").value();
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  std::vector<std::string> values(2);
  std::vector<Errc> outcomes(2), too_few(1);
  const Views keys{"a", "b"};
  EXPECT_EQ(space.put_many(keys, Views{"1"}).code(), Errc::kInvalidOption);
  EXPECT_EQ(space.get_many(keys, values, too_few).code(), Errc::kInvalidOption);
  EXPECT_EQ(space.erase_many(keys, too_few).code(), Errc::kInvalidOption);
  EXPECT_EQ(space.put_many(Views{"a", too_long}, Views{"1", "2"}).code(), Errc::kTooLarge);
  EXPECT_EQ(space.count(), 0u);
  ASSERT_TRUE(space.put("a", "12345678"));
  EXPECT_EQ(space.update_word("a", 4, [](std::uint64_t word) { return word; }).code(),
            Errc::kInvalidOption);
  EXPECT_EQ(space.update_word("b", 0, [](std::uint64_t word) { return word; }).code(),
            Errc::kNotFound);
  EXPECT_EQ(space
                .update_word_many(
                    keys, 8, [](std::size_t, std::uint64_t word) { return word; }, outcomes)
                .code(),
            Errc::kInvalidOption);
  EXPECT_EQ(outcomes, (std::vector{Errc::kInvalidOption, Errc::kNotFound}));
  ASSERT_TRUE(store.drop_space("space"));
  EXPECT_EQ(space.put_many(keys, keys).code(), Errc::kClosed);
  EXPECT_EQ(space.get_many(keys, values, outcomes).code(), Errc::kClosed);
  EXPECT_EQ(space.erase_many(keys, outcomes).code(), Errc::kClosed);
}

// A word that is declared changes where it lies, in sealed runs, unless a snapshot of its space
// looks at it.
TEST_P(InKeyspacesMany, ADeclaredWordChangesInPlace) {
  auto store = open(with_words({0}));
  auto space = store.create_space("space").value();
  ASSERT_TRUE(space.put("key", std::string(64, 'w')));
  ASSERT_TRUE(ForTests::seal(space));
  const auto add = [](std::uint64_t word) { return word + 1; };
  const Version before = store.stats().newest_version;
  const std::uint64_t word = word_of(std::string(8, 'w'), 0);
  EXPECT_EQ(space.update_word("key", 0, add).value(), word);
  std::vector<Errc> outcomes(1);
  const auto add_one = [](std::size_t, std::uint64_t old) { return old + 1; };
  ASSERT_TRUE(space.update_word_many(Views{"key"}, 0, add_one, outcomes));
  if (!paged()) {
    EXPECT_EQ(store.stats().newest_version, before) << "it was written anew";
  }
  std::string value;
  {
    const auto snapshot = space.snapshot();
    EXPECT_EQ(space.update_word("key", 0, add).value(), word + 2);
    ASSERT_TRUE(space.update_word_many(Views{"key"}, 0, add_one, outcomes));
    ASSERT_TRUE(snapshot.get("key", value));
    EXPECT_EQ(word_of(value, 0), word + 2);
  }
  ASSERT_TRUE(space.get("key", value));
  EXPECT_EQ(word_of(value, 0), word + 4);
  ForTests::abandon(store);
  store = open(with_words({0}));
  ASSERT_TRUE(store.space("space").value().get("key", value));
  EXPECT_EQ(word_of(value, 0), word + 4);
  EXPECT_TRUE(store.verify().ok());
}

TEST_P(InKeyspacesMany, ErasingAPrefixSharesFences) {
  StoreOptions options = tiny();
  options.order = true;
  auto store = open(options);
  auto space = store.create_space("space").value();
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(space.put("key" + std::to_string(i), "value"));
  const std::uint64_t fences = store.stats().fences;
  EXPECT_EQ(space.erase_prefix("key1").value(), 111u);
  EXPECT_EQ(space.count(), 89u);
  // A fence for each group of 64, and what sealing takes.
  EXPECT_LE(store.stats().fences - fences, 20u);
}

// ---- Snapshots ----

class KeyspaceSnapshots : public OnEveryPlace {
 protected:
  static StoreOptions ordered() {
    StoreOptions options = tiny();
    options.order = true;
    return options;
  }
  static Contents by_cursor(const Snapshot& snapshot) {
    Contents contents;
    auto cursor = snapshot.cursor().value();
    std::string last;
    for (cursor.first(); cursor; cursor.next()) {
      EXPECT_LE(last, cursor.key());
      last = cursor.key();
      contents.emplace(cursor.key(), cursor.value());
    }
    EXPECT_TRUE(cursor.status()) << cursor.status().error().message();
    std::size_t backwards = 0;
    for (cursor.last(); cursor; cursor.prev())
      ++backwards;
    EXPECT_EQ(backwards, contents.size());
    return contents;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, KeyspaceSnapshots, kEveryPlace, place_name);

TEST_P(KeyspaceSnapshots, ShowEveryRecordAsItWas) {
  auto store = open(ordered());
  auto space = store.create_space("space").value();
  Contents before;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key" + std::to_string(i);
    before[key] = text_of(i, 100);
    ASSERT_TRUE(space.put(key, before[key]));
  }
  ASSERT_TRUE(space.append("key0", std::string(9'000, 'p')));
  before["key0"] += std::string(9'000, 'p');
  const Snapshot snapshot = space.snapshot();
  EXPECT_EQ(store.stats().snapshots_open, 1u);
  ASSERT_TRUE(space.append("key0", std::string(9'000, 'q')));
  for (int i = 0; i < 200; i += 3)
    ASSERT_TRUE(space.put("key" + std::to_string(i), "new"));
  for (int i = 1; i < 200; i += 3)
    ASSERT_TRUE(space.erase("key" + std::to_string(i)).value());
  WriteBatch batch;
  for (int i = 2; i < 200; i += 3)
    batch.erase(space, "key" + std::to_string(i));
  batch.put(space, "later", "later");
  ASSERT_TRUE(store.write(batch));
  ASSERT_TRUE(store.reclaim());
  EXPECT_TRUE(contents_of(snapshot) == before);
  EXPECT_TRUE(by_cursor(snapshot) == before);
  EXPECT_EQ(snapshot.count(), 200u);
  std::string value;
  ASSERT_TRUE(snapshot.get("key1", value));
  EXPECT_EQ(value, before["key1"]);
  EXPECT_EQ(snapshot.get("later", value).code(), Errc::kNotFound);
  EXPECT_EQ(space.count(), 68u);
  EXPECT_TRUE(store.verify().ok());
}

TEST_P(KeyspaceSnapshots, OfSeveralAreOfOneMoment) {
  auto store = open(ordered());
  auto one = store.create_space("one").value(), two = store.create_space("two").value();
  const auto write = [&](const std::string& value) {
    WriteBatch batch;
    batch.put("key", value);
    batch.put(one, "key", value);
    batch.put(two, "key", value);
    return store.write(batch);
  };
  ASSERT_TRUE(write("old"));
  const std::vector<Space> spaces{two, one, two};
  const std::vector<Snapshot> taken = store.snapshots(spaces).value();
  ASSERT_EQ(taken.size(), 4u);
  ASSERT_TRUE(write("new"));
  ASSERT_TRUE(one.put("more", "new"));
  for (const Snapshot& snapshot : taken) {
    EXPECT_EQ(snapshot.version(), taken[0].version());
    EXPECT_TRUE(contents_of(snapshot) == (Contents{{"key", "old"}}));
    EXPECT_TRUE(by_cursor(snapshot) == (Contents{{"key", "old"}}));
  }
  EXPECT_EQ(store.snapshots({}).value().size(), 1u);
}

TEST_P(KeyspaceSnapshots, KeepTheSpaceAndTheStore) {
  auto store = open();
  auto space = store.create_space("space").value();
  ASSERT_TRUE(space.put("key", "value"));
  std::optional<Snapshot> snapshot = space.snapshot();
  EXPECT_EQ(store.drop_space("space").code(), Errc::kBusy);
  const auto refused = store.close();
  EXPECT_EQ(refused.code(), Errc::kBusy);
  EXPECT_TRUE(mentions(refused.error(), "1 snapshots"));
  EXPECT_EQ(contents_of(*snapshot).size(), 1u);
  Snapshot moved = std::move(*snapshot);
  snapshot.reset();
  EXPECT_EQ(store.stats().snapshots_open, 1u);
  moved = Snapshot();
  EXPECT_EQ(store.stats().snapshots_open, 0u);
  EXPECT_TRUE(store.drop_space("space"));
  EXPECT_TRUE(store.close());
}

TEST_P(KeyspaceSnapshots, ThatAreOfNothingAreClosed) {
  std::optional<Store<>> store(open(ordered()));
  auto space = store->create_space("space").value();
  ASSERT_TRUE(space.put("key", "value"));
  const Snapshot outlives = space.snapshot();
  auto cursor = outlives.cursor().value();
  store.reset();
  const Snapshot late = space.snapshot(), nowhere = Space().snapshot();
  std::string value;
  for (const Snapshot* const snapshot : {&outlives, &late, &nowhere}) {
    EXPECT_EQ(snapshot->get("key", value).code(), Errc::kClosed);
    EXPECT_EQ(snapshot->for_each([](auto, auto, auto) { return true; }).code(), Errc::kClosed);
    EXPECT_EQ(snapshot->cursor().code(), Errc::kClosed);
  }
  EXPECT_FALSE(cursor.first());
  EXPECT_EQ(cursor.status().code(), Errc::kClosed);
}

TEST_P(KeyspaceSnapshots, SayWhatIsWrong) {
  auto store = open(), other = open(tiny(), "other");
  auto here = store.create_space("here").value(), there = other.create_space("there").value();
  EXPECT_EQ(here.snapshot().cursor().code(), Errc::kInvalidOption) << "no order";
  EXPECT_EQ(store.snapshots(std::vector{here, there}).code(), Errc::kInvalidOption);
  EXPECT_EQ(store.snapshots(std::vector{here, Space()}).code(), Errc::kClosed);
  ASSERT_TRUE(here.put("key", "value"));
  Errc inside = Errc::kOk;
  ASSERT_TRUE(here.update(
      "key", [&](std::string&) { inside = store.snapshots(std::vector{here}).code(); }));
  EXPECT_EQ(inside, Errc::kBusy);
  EXPECT_EQ(store.stats().snapshots_open, 0u) << "what was refused is not open";
  ASSERT_TRUE(store.drop_space("here"));
  EXPECT_EQ(store.snapshots(std::vector{here}).code(), Errc::kClosed);
}

// ---- A dull model ----

struct Shape {
  const char* name;
  bool background;
  std::vector<std::uint32_t> patchable_words;
};
const Shape kShapes[] = {{"Plain", false, {}}, {"BackgroundWords", true, {0, 8, 24}}};

class InKeyspacesModel : public testing::TestWithParam<std::tuple<Where, Shape>> {
 protected:
  // The keys of one of them: the store's own are the first.
  struct Of {
    Space space;
    Contents model;
  };
  struct Taken {
    std::vector<Snapshot> snapshots;
    std::vector<Contents> models;
  };

  void open() {
    StoreOptions options = tiny();
    options.background = std::get<1>(GetParam()).background;
    options.sync_interval_ms = 1;
    options.patchable_words = std::get<1>(GetParam()).patchable_words;
    options.order = true;
    store_.emplace(
        Store<>::open(scratch_.path("store") + std::get<0>(GetParam()).suffix, options).value());
    for (Of& of : spaces_) {
      const std::string name = "space" + std::to_string(&of - spaces_.data());
      auto found = store_->space(name);
      of.space = found ? *found : store_->create_space(name).value();
    }
  }
  std::string key() { return "key" + std::to_string(random_.below(60)); }
  std::string value() {
    return text_of(random_.next(), random_.below(random_.below(50) ? 250 : 9'000));
  }
  std::vector<std::string> keys() {
    std::vector<std::string> keys(random_.below(100));
    for (std::string& one : keys)
      one = key();
    return keys;
  }
  static void change(std::string& value, std::size_t at) {
    const std::uint64_t word = word_of(value, at) * 3 + 1;
    std::memcpy(value.data() + at, &word, sizeof word);
  }
  void put_many(Of& of);
  void get_many(Of& of);
  void update_many(Of& of);
  void words(Of& of);
  void erase_many(Of& of);
  void batch();
  void take();
  void check(const Taken& taken);
  void one_operation();

  Random random_{[] {
    const char* given = std::getenv("HOLDFAST_TEST_SEED");
    return given ? std::strtoull(given, nullptr, 10) : 1;
  }()};
  Scratch scratch_ = Scratch::tmpfs();
  std::optional<Store<>> store_;
  std::vector<Of> spaces_{3};
  std::vector<Taken> taken_;
};

void InKeyspacesModel::put_many(Of& of) {
  const auto put = keys();
  std::vector<std::string> values;
  for (const std::string& one : put)
    of.model[one] = values.emplace_back(value());
  ASSERT_TRUE(of.space.put_many(views(put), views(values)));
}

void InKeyspacesModel::get_many(Of& of) {
  const auto asked = keys();
  std::vector<std::string> values(asked.size());
  std::vector<Errc> outcomes(asked.size(), Errc::kIo);
  ASSERT_TRUE(of.space.get_many(views(asked), values, outcomes));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto found = of.model.find(asked[i]);
    ASSERT_EQ(outcomes[i], found == of.model.end() ? Errc::kNotFound : Errc::kOk);
    if (found != of.model.end()) {
      ASSERT_TRUE(values[i] == found->second);
    }
  }
}

void InKeyspacesModel::update_many(Of& of) {
  const auto changed = keys();
  std::vector<Errc> outcomes(changed.size(), Errc::kIo);
  ASSERT_TRUE(of.space.update_many(
      views(changed), [](std::size_t i, std::string& value) { value += std::to_string(i); },
      outcomes));
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const auto found = of.model.find(changed[i]);
    ASSERT_EQ(outcomes[i], found == of.model.end() ? Errc::kNotFound : Errc::kOk);
    if (found != of.model.end()) found->second += std::to_string(i);
  }
}

void InKeyspacesModel::words(Of& of) {
  const auto at = static_cast<std::uint32_t>(random_.below(4) * 8);
  const auto changed = random_.below(2) == 0 ? std::vector{key()} : keys();
  const auto expected = [&](const std::string& one) {
    const auto found = of.model.find(one);
    if (found == of.model.end()) return Errc::kNotFound;
    if (found->second.size() < at + 8) return Errc::kInvalidOption;
    change(found->second, at);
    return Errc::kOk;
  };
  if (changed.size() == 1) {
    const auto old =
        of.space.update_word(changed[0], at, [](std::uint64_t word) { return word * 3 + 1; });
    ASSERT_EQ(old.code(), expected(changed[0]));
    return;
  }
  std::vector<Errc> outcomes(changed.size(), Errc::kIo);
  (void)of.space.update_word_many(
      views(changed), at, [](std::size_t, std::uint64_t word) { return word * 3 + 1; }, outcomes);
  for (std::size_t i = 0; i < changed.size(); ++i)
    ASSERT_EQ(outcomes[i], expected(changed[i]));
}

void InKeyspacesModel::erase_many(Of& of) {
  const auto erased = keys();
  std::vector<Errc> outcomes(erased.size(), Errc::kIo);
  ASSERT_TRUE(of.space.erase_many(views(erased), outcomes));
  for (std::size_t i = 0; i < erased.size(); ++i)
    ASSERT_EQ(outcomes[i], of.model.erase(erased[i]) == 1 ? Errc::kOk : Errc::kNotFound);
}

void InKeyspacesModel::batch() {
  WriteBatch batch;
  for (auto i = random_.below(8); i > 0; --i) {
    Of& of = spaces_[random_.below(spaces_.size())];
    const std::string one = key();
    if (random_.below(3) == 0) {
      batch.erase(of.space, one);
      of.model.erase(one);
    } else {
      batch.put(of.space, one, of.model[one] = value());
    }
  }
  ASSERT_TRUE(store_->write(batch));
}

void InKeyspacesModel::take() {
  std::vector<Space> spaces;
  Taken taken;
  if (random_.below(2) == 0) {
    Of& of = spaces_[random_.below(spaces_.size())];
    taken.snapshots.push_back(of.space.snapshot());
    taken.models.push_back(of.model);
  } else {
    taken.models.emplace_back();  // The store's own keys: there are none.
    for (const Of& of : spaces_) {
      spaces.push_back(of.space);
      taken.models.push_back(of.model);
    }
    taken.snapshots = store_->snapshots(spaces).value();
  }
  taken_.push_back(std::move(taken));
}

void InKeyspacesModel::check(const Taken& taken) {
  for (std::size_t i = 0; i < taken.models.size(); ++i) {
    ASSERT_TRUE(contents_of(taken.snapshots[i]) == taken.models[i]);
    auto cursor = taken.snapshots[i].cursor().value();
    cursor.first();
    for (const auto& [key, value] : taken.models[i]) {
      ASSERT_TRUE(cursor) << key;
      ASSERT_EQ(cursor.key(), key);
      ASSERT_TRUE(cursor.value() == value) << key;
      cursor.next();
    }
    ASSERT_FALSE(cursor);
  }
}

void InKeyspacesModel::one_operation() {
  Of& of = spaces_[random_.below(spaces_.size())];
  const std::string one = key();
  switch (random_.below(16)) {
    case 0: return put_many(of);
    case 1: return get_many(of);
    case 2: return update_many(of);
    case 3: return words(of);
    case 4: return erase_many(of);
    case 5: return batch();
    case 6: {
      ASSERT_TRUE(store_->reclaim());
      return;
    }
    case 7: {
      if (taken_.size() < 4) return take();
      const auto which = random_.below(taken_.size());
      ASSERT_NO_FATAL_FAILURE(check(taken_[which]));
      taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(which));
      return;
    }
    case 8: {
      const std::string more = text_of(random_.next(), random_.below(700));
      ASSERT_TRUE(of.space.append(one, more));
      of.model[one] += more;
      return;
    }
    case 9: {
      ASSERT_EQ(of.space.erase(one).value(), of.model.erase(one) == 1);
      return;
    }
    default: {
      const bool there = of.model.contains(one);
      of.model[one] = value();
      ASSERT_EQ(of.space.put(one, of.model[one]).value(),
                there ? PutOutcome::kOverwrote : PutOutcome::kInserted);
    }
  }
}

TEST_P(InKeyspacesModel, JudgesAllVerbs) {
  open();
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 250; ++i)
      ASSERT_NO_FATAL_FAILURE(one_operation()) << "round " << round << ", operation " << i;
    for (const Taken& taken : taken_)
      ASSERT_NO_FATAL_FAILURE(check(taken));
    taken_.clear();
    for (const Of& of : spaces_)
      ASSERT_TRUE(contents_of(of.space) == of.model);
    const VerifyReport report = store_->verify();
    ASSERT_TRUE(report.ok()) << report.defects.front().what;
    if (round % 2 == 0) {
      ASSERT_TRUE(store_->close());
    } else {
      ASSERT_TRUE(store_->sync());
      ForTests::abandon(*store_);
      store_.reset();
    }
    open();
    for (const Of& of : spaces_)
      ASSERT_TRUE(contents_of(of.space) == of.model);
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, InKeyspacesModel,
                         testing::Combine(kEveryPlace, testing::ValuesIn(kShapes)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  std::get<1>(test.param).name;
                         });

// The walk's snapshot stayed open: nothing could be closed or dropped any more.
TEST_P(InKeyspacesMany, AWalkWhoseVisitorThrowsLeavesNothingOpen) {
  auto store = open();
  auto space = store.create_space("walked").value();
  ASSERT_TRUE(space.put("k", "v"));
  const auto walk = [&] {
    (void)space.for_each([](auto, auto, auto) -> bool { throw std::runtime_error("enough"); });
  };
  EXPECT_THROW(walk(), std::runtime_error);
  EXPECT_EQ(store.stats().snapshots_open, 0u);
  EXPECT_TRUE(store.drop_space("walked"));
  EXPECT_TRUE(store.close());
}

}  // namespace
}  // namespace holdfast::kv
