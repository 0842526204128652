// Slices of a compiled query over kv, beside sums kept by hand: checkpoints at any moment, little
// memory or much, runs that end with their process and go on from the last checkpoint.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

#include "kept_stores.hpp"
#include "no_host.hpp"

namespace holdfast::query {
namespace {

std::string_view view(Text text) { return {text.data, text.size}; }
Text text_of(std::string_view text) { return {text.data(), text.size()}; }

// A store, as a query sees it.
class StoreHost final : public NoHost {
 public:
  explicit StoreHost(stream::StateStore& store) : store_(store) {}
  bool keeps_entries() const override { return true; }
  bool takes_blocks(std::uint64_t& bytes) const override { return store_.takes_blocks(bytes); }
  void ask_for_checkpoint() override { store_.ask_for_checkpoint(); }
  bool put_block(std::int64_t slice, Text block, bool in_run, std::uint64_t& generation) override {
    return bool(store_.put_block(slice, view(block), in_run, generation));
  }
  void drop_older(std::int64_t slice, std::uint64_t generation) override {
    ++whole;
    store_.drop_older(slice, generation);
  }
  void drop(std::int64_t slice) override { store_.drop(slice); }
  bool for_each(std::int64_t slice, VisitEntries& visit) override {
    const auto status = [](bool taken) {
      return taken ? Status() : Status(Error{Errc::kCorrupt, ""});
    };
    return bool(store_.for_each_entry(slice, [&](std::string_view key, std::string_view state) {
      return status(visit.entry(text_of(key), text_of(state)));
    }));
  }
  bool next_generation(std::int64_t slice, std::uint64_t& generation, BlockPlace& run) override {
    const bool read = bool(store_.next_generation(slice, generation, run));
    if (read && generation != 0 && run.epoch != 0) ++runs;
    return read;
  }
  bool next_block(std::int64_t slice, std::uint64_t generation, BlockPlace& place,
                  Text& block) override {
    const bool read = bool(store_.next_block(slice, generation, place, block_));
    block = text_of(block_);
    return read;
  }
  void refuse_entry() override { ADD_FAILURE() << "an entry is none of this query"; }
  int whole = 0;  // Checkpoints that had all of a slice.
  int runs = 0;   // That windows were read from.

 private:
  stream::StateStore& store_;
  std::string block_;
};

constexpr std::int64_t kSizeMs = 30, kSlideMs = 10;
constexpr std::int64_t kOffset = 100;  // Of the slices' names in the store.

template <class StateType>
struct Hops {
  using Key = KeyOf<Text, std::int64_t>;
  using State = StateType;
  static constexpr bool kWindowed = true;
  static constexpr std::int64_t kSizeMs = query::kSizeMs, kSlideMs = query::kSlideMs;
  static constexpr std::int64_t kOffsetMs = 0;
};
template <class StateType>
struct Steps : Hops<StateType> {
  static constexpr bool kCumulates = true;
};
// A few bytes each, and one that grows.
using Sums = Hops<StateOf<Count, SumOfIntegers<std::int64_t>>>;
using Sets = Hops<StateOf<Count, Distinct<std::int64_t, SumOfIntegers<std::int64_t>>>>;
using Growing = Steps<StateOf<Count, SumOfIntegers<std::int64_t>>>;
static_assert(SliceTable<Sums::Key, Sums::State>::kBounded);
static_assert(!SliceTable<Sets::Key, Sets::State>::kBounded);

struct Event {
  std::int64_t time, key, value;
};

// What a window has of a key: how many rows, and the sum.
using Rows = std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>>;

template <class Definition>
Rows rows_by_hand(const std::vector<Event>& events, bool once) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::int64_t, std::int64_t>> values;
  for (const auto& event : events) {
    const auto last = std::is_same_v<Definition, Growing> ? (event.time / kSizeMs + 1) * kSizeMs
                                                          : event.time + kSizeMs;
    for (auto end = (event.time / kSlideMs + 1) * kSlideMs; end <= last; end += kSlideMs)
      ++values[{end, event.key}][event.value];
  }
  Rows rows;
  for (const auto& [place, times] : values) {
    for (const auto& [value, count] : times) {
      rows[place].first += count;
      rows[place].second += once ? value : value * count;
    }
  }
  return rows;
}

// One process: from the last checkpoint, until it is gone.
template <class Definition>
class Process {
 public:
  Process(const std::string& place, std::uint64_t memory_bytes, Rows& rows)
      : store_(stream::KvStateStore::open_region(place).value(), 1, memory_bytes),
        rows_(rows),
        checkpoint_(store_.open().value()) {
    if (!checkpoint_) return;
    position_ = std::stoul(checkpoint_->metadata);
    watermark_ = std::stol(checkpoint_->metadata.substr(checkpoint_->metadata.find(' ')));
    slices_.set_watermark(watermark_);
    const auto stored = store_.slices().value();
    for (const auto slice : stored)
      slices_.adopt_stored(slice - kOffset);
  }
  std::size_t position() const { return position_; }
  int whole() const { return host_.whole; }
  int runs() const { return host_.runs; }
  std::uint64_t live_bytes() const { return store_.bytes(); }

  void take(const Event& event) {
    ++position_;
    ASSERT_TRUE(slices_.find(event.time));
    const std::string name = name_of(event.key);
    const typename Definition::Key key(some(text_of(name)), Maybe{event.key, event.key % 5 != 0});
    auto& state = slices_.current()->change(key, key.hash());
    state.template get<0>().add();
    state.template get<1>().add(some(event.value));
    if (event.time - 4 > watermark_) advance(event.time - 4);
    slices_.took(1);
  }
  bool asks() { return store_.take_request(); }
  void end() {
    advance(INT64_MAX);
    checkpoint();
    EXPECT_TRUE(store_.slices().value().empty());
  }
  void checkpoint() {
    ASSERT_TRUE(slices_.put_state(true));
    const std::uint64_t epoch = checkpoint_ ? checkpoint_->epoch + 1 : 1;
    checkpoint_ = {epoch, std::to_string(position_) + " " + std::to_string(watermark_)};
    store_.complete(*checkpoint_).value();
  }

 private:
  static std::string name_of(std::int64_t key) {
    return std::string(static_cast<std::size_t>(key % 3 == 0 ? 300 : key % 3),
                       static_cast<char>('a' + key % 26)) +
           std::to_string(key);
  }
  void advance(std::int64_t watermark) {
    const auto emit = [&](const auto& key, const auto& state, std::int64_t end) {
      const auto name = key.template get<0>().value;
      const auto digits = view(name).find_last_not_of("0123456789") + 1;
      const auto number = std::stol(std::string(view(name).substr(digits)));
      rows_[{end, number}] = {state.template get<0>().result(run_).value,
                              state.template get<1>().result(run_).value};
    };
    slices_.advance(watermark, [&](std::int64_t end) { slices_.fire(end, emit); });
    watermark_ = watermark;
  }

  stream::KvStateStore store_;
  Rows& rows_;
  std::optional<stream::Checkpoint> checkpoint_;
  std::size_t position_ = 0;
  std::int64_t watermark_ = kNoTime;
  StoreHost host_{store_};
  Output output_;
  Run run_{host_, output_};
  Slices<Definition> slices_{run_, kOffset};
};

struct Course {
  std::uint64_t keys, pace;  // Rows until time goes on.
  std::uint64_t checkpoint_rows, crash_rows;
  int events = 4'000;
};

Course course_of(std::uint64_t seed) {
  const auto keys = std::array<std::uint64_t, 3>{2, 50, 700}[seed % 3];
  return seed % 2 == 0 ? Course{keys, 60, 40, 700} : Course{keys, 900, 10, 700};
}

struct Seen {
  int whole = 0;  // Checkpoints that had all of a slice.
  int runs = 0;   // That windows were read from.
};

template <class Definition>
Seen run_with_crashes(std::uint64_t seed, const Course& course, bool once) {
  Random random(seed);
  std::vector<Event> events;
  std::int64_t time = 0;
  for (int i = 0; i < course.events; ++i) {
    if (random.below(course.pace) == 0) time += static_cast<std::int64_t>(random.below(12));
    events.push_back({time + static_cast<std::int64_t>(random.below(3)),
                      static_cast<std::int64_t>(random.below(course.keys)),
                      static_cast<std::int64_t>(random.below(20))});
  }
  stream::Place place;
  Rows rows;
  Seen seen;
  for (bool ended = false; !ended;) {
    const std::uint64_t memory = random.below(2) == 0 ? 1 + random.below(course.keys * 90) : GiB;
    Process<Definition> process(place / "state", memory, rows);
    for (;;) {
      if (process.position() == events.size()) {
        process.end();
        ended = true;
        break;
      }
      process.take(events[process.position()]);
      if (random.below(course.checkpoint_rows) == 0) process.checkpoint();
      if (random.below(course.crash_rows) == 0) break;  // The process is gone.
    }
    seen.whole += process.whole();
    seen.runs += process.runs();
  }
  EXPECT_EQ(rows, rows_by_hand<Definition>(events, once)) << "seed=" << seed;
  return seen;
}

TEST(RuntimeSlices, WindowsAreThoseByHandWhateverIsForgottenOrKilled) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const Seen more = run_with_crashes<Sums>(seed, course_of(seed), false);
    seen = {seen.whole + more.whole, seen.runs + more.runs};
  }
  EXPECT_GT(seen.whole, 10);
  EXPECT_GT(seen.runs, 100);
}

TEST(RuntimeSlices, WindowsThatGrowAreThoseByHand) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    run_with_crashes<Growing>(seed, course_of(seed), false);
}

// Of more groups than fit the cache, those that changed are written.
TEST(RuntimeSlices, WindowsOfManyGroupsAreThoseByHand) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Course course{20'000, 30'000, seed * 900, 30'000, 150'000};
    run_with_crashes<Sums>(seed, course, false);
  }
}

TEST(RuntimeSlices, StatesThatGrowAreWrittenByWhatWasAdded) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    EXPECT_EQ(run_with_crashes<Sets>(seed, course_of(seed), true).whole, 0);
}

// However often its groups change: a slice of kv is a few times what it has.
TEST(RuntimeSlices, ASliceOnTheMediumIsBounded) {
  stream::Place place;
  Rows rows;
  Process<Sums> process(place / "state", GiB, rows);
  constexpr std::int64_t kKeys = 2'000;
  std::uint64_t first = 0;
  for (int round = 0; round < 60; ++round) {
    for (std::int64_t key = 0; key < kKeys; ++key)
      process.take({1, key, round});
    process.checkpoint();
    if (round == 0) first = process.live_bytes();
    EXPECT_LE(process.live_bytes(), 6 * first) << round;
  }
  EXPECT_GT(process.whole(), 10);
}

TEST(RuntimeSlices, ACheckpointIsAskedForWhereSlicesAreMoreThanMemoryIsToHave) {
  Rows rows;
  const auto asks = [&](std::uint64_t memory_bytes, std::int64_t keys) {
    const stream::Place place;
    Process<Sums> process(place / "state", memory_bytes, rows);
    for (std::int64_t i = 0; i < 80'000; ++i)
      process.take({1, i % keys, 1});
    return process.asks();
  };
  EXPECT_TRUE(asks(2 * MiB, 40'000));
  EXPECT_FALSE(asks(GiB, 40'000));
  EXPECT_FALSE(asks(2 * MiB, 2'000));
}

// Blocks of a slice that memory had go when the slice leaves it.
TEST(RuntimeSlices, WhatLeavesMemoryIsOnTheMediumOnce) {
  constexpr std::int64_t kFew = 2'000, kMany = 20'000;
  Rows rows;
  const auto take = [](auto& process, std::int64_t keys) {
    for (std::int64_t key = 0; key < keys; ++key)
      process.take({1, key, 1});
    process.checkpoint();
  };
  const stream::Place once, often;
  Process<Sums> at_once(once / "state", 1, rows), process(often / "state", 1 * MiB, rows);
  take(at_once, kMany);
  for (int round = 0; round < 3; ++round)
    take(process, kFew);
  take(process, kMany);
  EXPECT_LE(process.live_bytes(), at_once.live_bytes() * 11 / 10);
}

// ---- Runs ----

// One run, of these blocks.
class RunHost final : public NoHost {
 public:
  explicit RunHost(std::vector<std::string> blocks) : blocks_(std::move(blocks)) {}
  bool next_block(std::int64_t, std::uint64_t, BlockPlace& place, Text& block) override {
    const bool there = place.number < blocks_.size();
    block = there ? text_of(blocks_[place.number++]) : Text{};
    return true;
  }
  void refuse_entry() override { ++refused; }
  int refused = 0;

 private:
  std::vector<std::string> blocks_;
};

using RunKey = KeyOf<std::int64_t>;
using RunState = StateOf<Count>;

std::string block_of(const std::vector<std::int64_t>& keys) {
  std::string block;
  RunState state;
  state.get<0>().add();
  for (const auto key : keys) {
    append_sized(block, [&](std::string& bytes) { RunKey(some(key)).append(bytes); });
    append_sized(block, [&](std::string& bytes) { state.append(bytes); });
  }
  return block;
}

// The keys that are read, as far as that goes.
std::vector<std::int64_t> read_run(RunHost& host) {
  Output output;
  Run run{host, output};
  SortedRuns<RunKey, RunState> runs(run);
  runs.all().add(1, 1, {1, 0});
  std::vector<std::int64_t> keys;
  const bool read =
      runs.all().begin() && runs.take_below(nullptr, [&](const auto& key, const auto&) {
        keys.push_back(key.template get<0>().value);
      });
  EXPECT_EQ(read, !run.failed);
  EXPECT_EQ(host.refused, run.failed ? 1 : 0);
  return keys;
}

TEST(SortedRuns, OneOutOfOrderIsRefused) {
  using Keys = std::vector<std::int64_t>;
  RunHost sound({block_of({1, 2}), block_of({3}), block_of({4, 5})});
  EXPECT_EQ(read_run(sound), (Keys{1, 2, 3, 4, 5}));
  for (const auto& blocks :
       {std::vector{block_of({1, 3, 2})}, std::vector{block_of({1, 3}), block_of({2})},
        std::vector{block_of({1, 3, 3})}}) {
    RunHost host(blocks);
    EXPECT_LT(read_run(host).size(), 3u);
    EXPECT_EQ(host.refused, 1);
  }
}

TEST(SortedRuns, ABlockThatEndsWithinAnEntryIsRefused) {
  const std::string whole = block_of({1, 2});
  for (std::size_t size = 1; size < whole.size(); ++size) {
    RunHost host({whole.substr(0, size)});
    read_run(host);
    ASSERT_EQ(host.refused, size == whole.size() / 2 ? 0 : 1) << size;
  }
}

TEST(RuntimeSlices, ABlockThatEndsWithinAnEntryIsRefused) {
  std::string block;
  append_sized(block, [](std::string& bytes) { bytes += std::string(300, 'k'); });
  append_sized(block, [](std::string& bytes) { bytes += "state"; });
  EXPECT_EQ(block.size(), 5u + 300 + 1 + 5);
  for (std::size_t size = 0; size <= block.size(); ++size) {
    Text rest{block.data(), size}, key{}, state{};
    ASSERT_EQ(take_block_entry(rest, key, state), size == block.size()) << size;
    if (size != block.size()) continue;
    EXPECT_EQ(view(key), std::string(300, 'k'));
    EXPECT_EQ(view(state), "state");
    EXPECT_EQ(rest.size, 0u);
  }
}

}  // namespace
}  // namespace holdfast::query
