// kv_crash.hpp: the store as a protocol for the crash checker. docs/crash_checker.md explains
// checks.
//
//   Crash crash;
//   crash.before = [](Tested& store) { … };   // Not crashed; what it leaves unfenced stays so.
//   crash.during = [](Tested& store) { store.put("a", "1"); };
//   EXPECT_TRUE(holds(crash.run(crash::kLine)));
//
// After every crash the store must open, verify() must find nothing, for_each, get and count must
// agree, and what they show must be what some order of the operations gives (crash/key_value.hpp).
// Then an insert, an overwrite and an erase must work, and survive the next crash.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/crash/checker.hpp>
#include <holdfast/crash/key_value.hpp>
#include <holdfast/kv/space.hpp>
#include <holdfast/kv/store.hpp>
#include "for_tests.hpp"

namespace holdfast::kv {

using crash::KeyValueModel;
using crash::Report;
using State = KeyValueModel::State;
using Accesses = std::vector<KeyValueModel::Access>;

// Blocks of 8 KiB, seven in a segment.
StoreOptions small_options();
StoreOptions patchable_options();  // Words 0 and 8 of a value.

inline std::string value_of(char letter, std::size_t bytes) { return std::string(bytes, letter); }
inline std::string word_text(std::uint64_t word) {
  return {reinterpret_cast<const char*>(&word), sizeof word};
}

// Everything a reader sees, every verb agreeing with the others; an error says what does not.
Result<State> read_all(Store<>& store);

// A store under the checker together with what it must hold. Each verb is an operation of its own,
// acknowledged when it returns. For one thread; see Actor for several.
class Tested {
 public:
  Tested(Region region, const StoreOptions& options, crash::Workload& run, KeyValueModel& model,
         std::uint64_t first_id);
  ~Tested();
  Tested(const Tested&) = delete;

  Store<>& store() { return *store_; }
  crash::Workload& run() { return run_; }
  KeyValueModel& model() { return model_; }
  const State& dull() const { return dull_; }
  const StoreOptions& options() const { return options_; }
  std::uint64_t last_id() const { return next_id_ - 1; }
  std::uint64_t take_id() { return next_id_++; }

  void put(const std::string& key, const std::string& value);
  void put_if_absent(const std::string& key, const std::string& value);
  void compare_and_put(const std::string& key, const std::string& value);
  void update(const std::string& key, const std::string& value);
  void update_word(const std::string& key, std::uint32_t at, std::uint64_t word);
  void append(const std::string& key, const std::string& bytes);
  void add(const std::string& key, std::uint64_t amount);  // To a value of 8 bytes, or none.
  void erase(const std::string& key);
  // `verb` does `writes` in part and then fails: from then on it is as if it had never begun.
  void failing(const Accesses& writes, const std::function<void(Store<>&)>& verb);
  void batch(const Accesses& writes);
  // Keyspaces. The model has a key "~name" for each, and "~name/key" for its records.
  void create_space(const std::string& name);
  void drop_space(const std::string& name);
  void put_in(const std::string& name, const std::string& key, const std::string& value);
  void append_in(const std::string& name, const std::string& key, const std::string& bytes);
  void erase_in(const std::string& name, const std::string& key);
  void update_word_in(const std::string& name, const std::string& key, std::uint32_t at,
                      std::uint64_t word);
  // Expiry by the first word of a value. In the model the clock erases, all at once.
  void set_clock(std::uint64_t now);
  void reclaim() {
    other([&] { store_->reclaim().value(); });
  }
  // An operation for each record.
  using Records = std::vector<std::pair<std::string, std::string>>;
  void put_many(const Records& records);
  void put_many_in(const std::string& name, const Records& records);
  void update_many_in(const std::string& name, const Records& records);  // To these values.
  void erase_many(const std::vector<std::string>& keys);
  void erase_many_in(const std::string& name, const std::vector<std::string>& keys);
  // The same, of stores that keep their keys in order.
  void erase_prefix(const std::string& prefix);
  void erase_range_in(const std::string& name, const std::string& from, const std::string& to);
  void other(const std::function<void()>& work) { write({}, work); }  // Changes no record.
  void pass() {
    other([&] { ForTests::pass(*store_).value(); });
  }
  void seal() {
    other([&] { ForTests::seal(*store_).value(); });
  }
  void seal_in(const std::string& name) {
    other([&] { ForTests::seal(store_->space(name).value()).value(); });
  }

  // In order; as a process dies; and again, over the same medium.
  void close();
  void abandon();
  void reopen();

 private:
  friend class Crash;
  void write(const Accesses& writes, const std::function<void()>& work);
  void write_each(const Accesses& writes, const std::function<void()>& verb);
  void erase_each(const std::vector<std::string>& keys, const std::function<void()>& verb);
  std::vector<std::string> keys_with(const std::string& prefix) const;

  StoreOptions options_;
  crash::Workload& run_;
  KeyValueModel& model_;
  std::uint64_t next_id_;
  bool recording_ = true;
  std::unique_ptr<Store<>> store_;
  State dull_;
};

// The verbs of one of several threads: what they found becomes part of the history. A key
// "~name/key" is of a keyspace.
class Actor {
 public:
  Actor(Tested& tested, std::uint32_t number) : tested_(tested), number_(number) {}
  void put(const std::string& key, const std::string& value);
  void erase(const std::string& key);
  void get(const std::string& key);
  void batch(const Accesses& writes);
  void add_to_word(const std::string& key, std::uint64_t amount);  // Values of 8 bytes.
  void other(const std::function<void()>& work);

 private:
  Tested& tested_;
  std::uint32_t number_;
};

class Crash {
 public:
  StoreOptions options = small_options();
  // `images_per_run` of the quick set; with HOLDFAST_THOROUGH in the environment 50 times as many,
  // and more schedules.
  crash::Options check{.size_bytes = 64 * KiB,
                       .unit_bytes = 64 * KiB,
                       .max_size_bytes = 1 * MiB,
                       .images_per_run = 300};
  // Page media: off, and no record is in memory when a put comes upon it (absent_region.hpp).
  bool in_memory = true;
  bool created = true;                  // Off: `before` and `during` see a region without a store.
  std::string image;                    // Then: with these bytes.
  std::function<void(Tested&)> before;  // Not crashed.
  std::function<void(Tested&)> during;
  std::function<void(Region&, crash::Workload&, KeyValueModel&)>
      instead;       // Of both, where there is no store yet.
  bool then = true;  // A normal operation after each recovery, and crashes in it.
  std::function<void(Tested&)> afterwards;  // In its place.
  // After a crash the books say live of exactly what is there: what died and was noted, but not yet
  // applied, is found again. Of a store without keyspaces, rules and values in pieces.
  bool books = false;
  // What must hold beside the model: "" or what does not. Only without `then`.
  std::function<std::string(const crash::Past<State>&, const State&)> also;

  Report run(const crash::Model& model);
  // The id of the first recorded operation.
  static constexpr std::uint64_t kFirst = 10;

 private:
  KeyValueModel model_;
};

bool thorough();  // HOLDFAST_THOROUGH is set.
testing::AssertionResult holds(const Report& report);

// One test, all media.
class OnEveryMedium : public testing::TestWithParam<crash::Model> {};
std::string medium_name(const testing::TestParamInfo<crash::Model>& info);
#define HOLDFAST_ON_EVERY_MEDIUM(suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      Medium, suite, testing::ValuesIn(crash::all_models().begin(), crash::all_models().end()), \
      medium_name)
// A test that counts fences, and on pages syncs.
#define HOLDFAST_ON_MEDIA_THAT_WAIT(suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(Medium, suite,                                                      \
                           testing::Values(crash::kLine, crash::kLineStreaming, crash::kPage), \
                           medium_name)

}  // namespace holdfast::kv
