// The verbs as most callers meet them, crashed in every way, on every medium: keys of 16 bytes and
// values of 16 or more take the paths that were compiled for the CPU and the medium (hot_path.hpp),
// which the short keys of other crash tests do not. Single verbs, and groups of them: put_many,
// erase_many, pipelines.
#include <algorithm>

#include "pipelined.hpp"

#include <holdfast/kv/group_verbs.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {
namespace {

class KvHotPathCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvHotPathCrash);

std::string key16(char letter) { return "a key of 16: " + std::string(3, letter); }
std::string words(std::uint64_t first) { return word_text(first) + value_of('w', 24); }

StoreOptions one_patchable_word() {
  StoreOptions options = small_options();
  options.patchable_words = {0};
  return options;
}

// Some in a sealed run, some in the open one.
void usual_records(Tested& store) {
  store.put(key16('a'), words(1));
  store.put(key16('b'), value_of('b', 200));
  store.put(key16('w'), words(5));
  store.seal();
  store.put(key16('c'), value_of('c', 100));
}

TEST_P(KvHotPathCrash, SingleVerbs) {
  for (const StoreOptions& options : {small_options(), one_patchable_word()}) {
    Crash crash;
    crash.books = true;
    crash.options = options;
    crash.before = usual_records;
    crash.during = [](Tested& store) {
      store.put(key16('n'), value_of('n', 200));
      store.put(key16('b'), value_of('B', 40));
      store.put(key16('c'), value_of('C', 16));
      store.update_word(key16('w'), 0, 77);
      store.erase(key16('a'));
      store.put(key16('a'), value_of('A', 64));
    };
    EXPECT_TRUE(holds(crash.run(GetParam()))) << options.patchable_words.size();
  }
}

// New keys, old ones, and one key twice.
TEST_P(KvHotPathCrash, PutMany) {
  for (const StoreOptions& options : {small_options(), one_patchable_word()}) {
    Crash crash;
    crash.books = true;
    crash.options = options;
    crash.before = usual_records;
    crash.during = [](Tested& store) {
      store.put_many({{key16('d'), value_of('d', 20)},
                      {key16('b'), value_of('B', 60)},
                      {key16('f'), value_of('f', 200)},
                      {key16('d'), value_of('D', 30)}});
    };
    EXPECT_TRUE(holds(crash.run(GetParam()))) << options.patchable_words.size();
  }
}

// A group that goes on in the next run, and one with a record of a shape that no hot path takes.
TEST_P(KvHotPathCrash, PutManyOverTheEndOfARun) {
  Crash crash;
  crash.books = true;
  crash.before = usual_records;
  crash.during = [](Tested& store) {
    store.put_many({{key16('d'), value_of('d', 3000)},
                    {"short", value_of('s', 20)},
                    {key16('e'), value_of('e', 3000)},
                    {key16('b'), value_of('B', 3000)},
                    {key16('f'), value_of('f', 20)}});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvHotPathCrash, EraseMany) {
  Crash crash;
  crash.books = true;
  crash.before = usual_records;
  crash.during = [](Tested& store) {
    store.erase_many({key16('a'), key16('x'), key16('c'), key16('a')});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvHotPathCrash, PipelinesOfPutsErasesAndGets) {
  for (const StoreOptions& options : {small_options(), one_patchable_word()}) {
    Crash crash;
    crash.books = true;
    crash.options = options;
    crash.before = usual_records;
    crash.during = [](Tested& store) {
      Pipelined pipeline(store, 8);
      pipeline.put(key16('n'), value_of('n', 40));
      pipeline.get(key16('n'));
      pipeline.put(key16('a'), value_of('x', 70));
      pipeline.erase(key16('b'));
      pipeline.erase(key16('n'));
      pipeline.get(key16('b'));
      pipeline.put(key16('c'), value_of('C', 100));
      pipeline.flush();
    };
    EXPECT_TRUE(holds(crash.run(GetParam()))) << options.patchable_words.size();
  }
}

// Words in place share a fence; the same key twice, and a key of the same window, do not.
TEST_P(KvHotPathCrash, PipelinesOfWords) {
  Crash crash;
  crash.books = true;
  crash.options = one_patchable_word();
  crash.before = [](Tested& store) {
    for (const char letter : {'a', 'b', 'c'})
      store.put(key16(letter), word_text(letter));
    store.seal();
  };
  crash.during = [](Tested& store) {
    Pipelined pipeline(store, 8);
    pipeline.add_to_word(key16('a'), 10);
    pipeline.add_to_word(key16('b'), 20);
    pipeline.add_to_word(key16('a'), 30);
    pipeline.put(key16('c'), word_text(7));
    pipeline.add_to_word(key16('c'), 40);  // In the open run: a record.
    pipeline.add_to_word(key16('b'), 50);
    pipeline.flush();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// More records die than a session notes before it applies them (128), in two runs, and the process
// dies before the last ones are applied.
TEST_P(KvHotPathCrash, NotesOfTheDeadThatWereNotApplied) {
  Crash crash;
  crash.books = true;
  crash.then = false;
  crash.before = [](Tested& store) {
    for (int round = 0; round < 14; ++round) {
      for (char letter = 'a'; letter < 'k'; ++letter)
        store.put(key16(letter), value_of(letter, 20));
      if (round % 7 == 3) store.seal();
    }
  };
  crash.during = [](Tested& store) {
    store.put(key16('a'), value_of('A', 30));
    store.erase(key16('b'));
    store.put_many({{key16('c'), value_of('C', 20)}, {key16('d'), value_of('D', 20)}});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// What the tests above are for: where there is no page medium, the hot paths take such operations.
TEST(KvHotPaths, TakeUsualOperations) {
  if (record_isa() == RecordIsa::kPortable) GTEST_SKIP() << "a CPU without AVX2 has none";
  StoreOptions options = one_patchable_word();
  options.durability = Durability::kDefault;
  Store<> store = Store<>::open("dram?granularity=line", options).value();
  store.put(key16('a'), words(1)).value();
  store.put(key16('b'), words(2)).value();
  ForTests::seal(store).value();
  store.put(key16('c'), words(3)).value();
  StoreCore& core = *store.core();
  const std::string put = key16('n'), erase = key16('b'), get = key16('c'), word = key16('a');
  const std::string value = words(9);
  std::string text = value_of('-', 100);
  std::vector<Operation> operations(4);
  operations[0].begin(Operation::Verb::kPut, bytes_of(put), bytes_of(value));
  operations[1].begin(Operation::Verb::kErase, bytes_of(erase), {});
  operations[2].begin(Operation::Verb::kGet, bytes_of(get), {});
  operations[2].text = &text;
  operations[3].begin(Operation::Verb::kUpdateWord, bytes_of(word), {});
  operations[3].change_word = [](std::uint64_t before) { return before + 1; };
  for (Operation& operation : operations)
    core.groups.prepare(operation);
  Session& own = core.rooms.sessions.of_this_thread();
  {
    const auto guard = core.rooms.epochs.enter(own.participant);
    EXPECT_EQ(core.append_some(core.rooms, own, operations), 4u);
    core.rooms.appender.commit(own.lane).value();
    EXPECT_TRUE(core.look_at_all(core.rooms, operations));
    EXPECT_EQ(core.publish_some(core.rooms, own, operations), 4u);
  }
  EXPECT_EQ(text, words(3));
  EXPECT_EQ(*operations[3].outcome, 1u);
  store.get(key16('n'), text).value();
  EXPECT_EQ(text, words(9));
  EXPECT_EQ(store.get(key16('b'), text).code(), Errc::kNotFound);
  store.get(key16('a'), text).value();
  EXPECT_EQ(text, words(2));
}

}  // namespace
}  // namespace holdfast::kv
