// The rules of crash/model.hpp, one test per rule, with exact numbers of states.
#include <gtest/gtest.h>

#include <holdfast/crash/state_space.hpp>

#include <cstring>
#include <set>

namespace holdfast::crash {
namespace {

constexpr std::uint64_t kUnlimited = 1'000'000;

// A medium whose reports are switched on, and the words of the crash states that it may leave.
class Bench {
 public:
  explicit Bench(const Model& model)
      : medium_({model, 64 * KiB, 64 * KiB, 256 * KiB}),
        previous_(set_trace_sink(&medium_)),
        region_(medium_.open()) {}
  ~Bench() { set_trace_sink(previous_); }

  Region& region() { return region_; }
  Medium& medium() { return medium_; }
  std::uint64_t* word(std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t*>(region_.data() + offset);
  }
  void store(std::uint64_t offset, std::uint64_t value) {
    region_.persist().store(word(offset), value);
  }

  std::uint64_t states() { return StateSpace(medium_, kUnlimited, 0, 1).states(); }

  // Every combination of the words at `offsets` that a crash may leave now.
  std::set<std::vector<std::uint64_t>> after_crash(const std::vector<std::uint64_t>& offsets) {
    Medium image({medium_.model(), 64 * KiB, 64 * KiB, 256 * KiB}, &medium_);
    std::set<std::vector<std::uint64_t>> seen;
    StateSpace space(medium_, kUnlimited, 0, 1);
    EXPECT_TRUE(space.exhaustive());
    space.for_each([&](std::span<const CellState> states, std::uint64_t hash) {
      image.load(space.cells(), states);
      EXPECT_EQ(image.durable_hash(), hash);
      EXPECT_NE(image.data(), medium_.data());
      std::vector<std::uint64_t> words;
      for (const std::uint64_t offset : offsets) {
        std::uint64_t value;
        std::memcpy(&value, image.data() + offset, sizeof value);
        words.push_back(value);
      }
      seen.insert(words);
      return true;
    });
    return seen;
  }

 private:
  Medium medium_;
  TraceSink* previous_;
  Region region_;
};

using Words = std::set<std::vector<std::uint64_t>>;

TEST(CrashModel, StoresOfOneLineBecomeDurableInProgramOrder) {
  Bench bench(kLine);
  bench.store(0, 1);
  bench.store(8, 2);
  bench.store(0, 3);
  EXPECT_EQ(bench.states(), 4u);
  EXPECT_EQ(bench.after_crash({0, 8}), (Words{{0, 0}, {1, 0}, {1, 2}, {3, 2}}));
}

TEST(CrashModel, LinesBecomeDurableIndependently) {
  Bench bench(kLine);
  bench.store(0, 1);
  bench.store(64, 2);
  EXPECT_EQ(bench.states(), 4u);
  EXPECT_EQ(bench.after_crash({0, 64}), (Words{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
}

TEST(CrashModel, AFenceAloneMakesNothingDurable) {
  Bench bench(kLine);
  bench.store(0, 1);
  bench.region().persist().fence();
  EXPECT_EQ(bench.after_crash({0}), (Words{{0}, {1}}));
}

TEST(CrashModel, WriteBackAloneMakesNothingDurable) {
  Bench bench(kLine);
  bench.store(0, 1);
  bench.region().persist().write_back(bench.word(0), 8);
  EXPECT_EQ(bench.after_crash({0}), (Words{{0}, {1}}));
}

TEST(CrashModel, PersistMakesThePrefixAtTheWriteBackDurableAndNoMore) {
  Bench bench(kLine);
  const Persist& persist = bench.region().persist();
  bench.store(0, 1);
  persist.write_back(bench.word(0), 8);
  bench.store(8, 2);
  persist.fence();
  EXPECT_EQ(bench.after_crash({0, 8}), (Words{{1, 0}, {1, 2}}));
  persist.persist(bench.word(8), 8);
  EXPECT_EQ(bench.states(), 1u);
  EXPECT_EQ(bench.after_crash({0, 8}), (Words{{1, 2}}));
}

TEST(CrashModel, AStoreThatIsNeverWrittenBackStaysPendingOverFences) {
  Bench bench(kLine);
  bench.store(128, 7);
  for (int i = 0; i < 3; ++i) {
    bench.store(0, i + 1);
    bench.region().persist().persist(bench.word(0), 8);
  }
  EXPECT_EQ(bench.after_crash({0, 128}), (Words{{3, 0}, {3, 7}}));
}

TEST(CrashModel, ALongStoreIsItsWords) {
  Bench bench(kLine);
  const std::uint64_t values[3] = {1, 2, 3};
  bench.region().persist().copy(bench.word(48), values,
                                sizeof values);  // Two words and one: two lines.
  EXPECT_EQ(bench.states(), 3u * 2u);
  EXPECT_EQ(bench.after_crash({48, 56, 64}),
            (Words{{0, 0, 0}, {1, 0, 0}, {1, 2, 0}, {0, 0, 3}, {1, 0, 3}, {1, 2, 3}}));
}

TEST(CrashModel, ThePartOfAWordIsItsBytes) {
  Bench bench(kLine);
  const unsigned char bytes[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  bench.region().persist().copy(bench.region().data() + 6, bytes, sizeof bytes);  // 2 + 8 + 1.
  EXPECT_EQ(bench.states(), 2u + 1u + 1u + 1u);
  EXPECT_TRUE(bench.after_crash({0}).contains({std::uint64_t{1} << 48}));
}

TEST(CrashModel, StreamedWordsHaveNoOrderUntilTheFence) {
  Bench bench(kLineStreaming);
  const std::uint64_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  bench.region().persist().stream(bench.word(0), values, sizeof values);
  EXPECT_EQ(bench.states(), 256u);
  EXPECT_TRUE(bench.after_crash({0, 8, 16}).contains({0, 2, 0}));
  bench.region().persist().fence();
  EXPECT_EQ(bench.states(), 1u);
  EXPECT_EQ(bench.after_crash({0, 56}), (Words{{1, 8}}));
}

TEST(CrashModel, WithoutNtEvictsStreamedBytesAreCopiedAndWrittenBack) {
  Bench bench(kLine);
  const std::uint64_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  bench.region().persist().stream(bench.word(0), values, sizeof values);
  EXPECT_EQ(bench.states(), 9u);
  bench.region().persist().fence();
  EXPECT_EQ(bench.states(), 1u);
}

TEST(CrashModel, OnACpuWhoseStreamsStayInTheCacheAFenceDoesNotMakeThemDurable) {
  Bench bench(kLine);
  const Persist wrong(WriteBackInstruction::kClwb, true);  // Believes that they leave it.
  const std::uint64_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  wrong.stream(bench.word(0), values, sizeof values);
  wrong.fence();
  EXPECT_EQ(bench.states(), 256u);
  wrong.persist(bench.word(0), 64);
  EXPECT_EQ(bench.states(), 1u);
}

TEST(CrashModel, StreamedWordsAreNotOrderedWithOrdinaryStoresOfTheirLine) {
  Bench bench(kLineStreaming);
  std::uint64_t values[8] = {};
  values[0] = 1;
  bench.region().persist().stream(bench.word(0), values, sizeof values);
  bench.store(8, 2);
  EXPECT_EQ(bench.states(), 256u * 2u);
  EXPECT_EQ(bench.after_crash({0, 8}), (Words{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
}

TEST(CrashModel, ALaterDurableStoreIsNotOvertakenByAnEarlierPendingOne) {
  Bench bench(kLineStreaming);
  const Persist ordinary(WriteBackInstruction::kClwb, false);
  bench.store(0, 1);  // Ordinary, never written back.
  std::uint64_t values[8] = {2};
  bench.region().persist().stream(bench.word(0), values, sizeof values);
  ordinary.fence();
  EXPECT_EQ(bench.after_crash({0}), (Words{{2}}));
}

TEST(CrashModel, ByteMediaHoldWhatWasExecuted) {
  Bench bench(kByte);
  std::vector<std::vector<std::uint64_t>> images;
  bench.medium().on_point = [&](PointKind kind, const std::source_location&) {
    EXPECT_EQ(kind, PointKind::kStore);
    const Words words = bench.after_crash({0, 8, 64});
    ASSERT_EQ(words.size(), 1u);
    images.push_back(*words.begin());
  };
  bench.store(64, 9);
  const std::uint64_t values[2] = {1, 2};
  bench.region().persist().copy(bench.word(0), values, sizeof values);
  EXPECT_EQ(images, (std::vector<std::vector<std::uint64_t>>{{0, 0, 9}, {1, 0, 9}, {1, 2, 9}}));
}

TEST(CrashModel, ASectorHoldsAnyStateSinceItsLastSyncOrTwoOfThemTorn) {
  Bench bench(kPage);
  const auto write = [&](std::uint64_t offset, std::vector<std::uint64_t> words) {
    bench.region().write(offset, std::as_bytes(std::span(words))).value();
  };
  write(0, {1, 1});
  EXPECT_EQ(bench.after_crash({0, 8}), (Words{{0, 0}, {1, 0}, {0, 1}, {1, 1}}));
  EXPECT_EQ(bench.states(), 4u);
  write(0, {2, 1});
  EXPECT_EQ(bench.after_crash({0, 8}), (Words{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 1}, {2, 0}}));
  bench.region().sync().value();
  EXPECT_EQ(bench.after_crash({0, 8}), (Words{{2, 1}}));
}

TEST(CrashModel, SectorsAreIndependent) {
  Bench bench(kPage);
  const std::uint64_t words[2] = {1, 2};
  bench.region().write(504, std::as_bytes(std::span(words))).value();
  EXPECT_EQ(bench.after_crash({504, 512}), (Words{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
}

TEST(CrashModel, GrownBytesAreZeroAndShrunkOnesDoNotComeBack) {
  for (const Model& model : {kLine, kByte}) {
    Bench bench(model);
    bench.region().grow(128 * KiB).value();
    bench.store(64 * KiB, 5);
    bench.region().persist().persist(bench.word(64 * KiB), 8);
    bench.region().shrink(64 * KiB).value();
    EXPECT_EQ(bench.states(), 1u);
    bench.region().grow(128 * KiB).value();
    EXPECT_EQ(bench.after_crash({64 * KiB}), (Words{{0}}));
  }
}

TEST(CrashModel, AWriteBackOfACleanLineAndAFenceWithNothingToDoAreCounted) {
  Bench bench(kLine);
  const Persist& persist = bench.region().persist();
  bench.store(0, 1);
  persist.persist(bench.word(0), 128);  // The second line is clean.
  persist.fence();
  const StepCounts counts = bench.medium().counts(bench.medium().thread_slot());
  EXPECT_EQ(counts.fences, 2u);
  EXPECT_EQ(counts.redundant_fences, 1u);
  EXPECT_EQ(counts.lines_written_back, 2u);
  EXPECT_EQ(counts.redundant_write_backs, 1u);
}

TEST(CrashModel, AnImageIsRestoredBetweenStatesAndAfterBeingWrittenTo) {
  Bench bench(kLine);
  bench.store(0, 1);
  Medium image({kLine, 64 * KiB, 64 * KiB, 256 * KiB}, &bench.medium());
  const std::uint32_t cells[] = {0};
  const CellState kept[] = {{1, 0, 0}};
  image.load(cells, kept);
  const std::uint64_t hash = image.durable_hash();
  {
    TraceSink* const before = set_trace_sink(&image);
    Region region = image.open();
    region.grow(128 * KiB).value();
    region.persist().store(reinterpret_cast<std::uint64_t*>(region.data() + 4096), 77);
    region.persist().persist(region.data() + 4096, 8);
    region.persist().store(reinterpret_cast<std::uint64_t*>(region.data() + 8192), 78);  // Pending.
    region.shrink(64 * KiB).value();
    region.grow(192 * KiB).value();
    region.persist().store(reinterpret_cast<std::uint64_t*>(region.data() + 12288),
                           79);  // Pending.
    set_trace_sink(before);
  }
  image.load(cells, kept);
  EXPECT_EQ(image.durable_hash(), hash);
  EXPECT_EQ(image.size_bytes(), 64 * KiB);
  EXPECT_EQ(image.data()[0], std::byte{1});
  for (const std::uint64_t offset : {4096, 8192, 12288}) {
    EXPECT_EQ(image.data()[offset], std::byte{0}) << offset;
  }
}

TEST(CrashModel, TooManyStatesAreCoveredInPairsAndByLine) {
  Bench bench(kLine);
  for (std::uint64_t line = 0; line < 32; ++line) {
    bench.store(line * 64, 1);
    bench.store(line * 64, 2);
  }
  StateSpace space(bench.medium(), 20'000, 2000, 1);
  EXPECT_FALSE(space.exhaustive());
  std::set<std::vector<int>> pairs;  // line, line, kept, kept.
  std::set<std::pair<int, unsigned>> singles;
  const std::uint64_t visited = space.for_each([&](std::span<const CellState> states,
                                                   std::uint64_t) {
    for (int a = 0; a < 32; ++a) {
      singles.insert({a, states[a].kept});
      for (int b = a + 1; b < 32; ++b) {
        if (states[a].kept != 1 && states[b].kept != 1) {
          pairs.insert({a, b, static_cast<int>(states[a].kept), static_cast<int>(states[b].kept)});
        }
      }
    }
    return true;
  });
  EXPECT_EQ(visited, 2000u);
  EXPECT_EQ(singles.size(), 32u * 3u);
  EXPECT_EQ(pairs.size(), 32u * 31u / 2u * 4u);
}

// Once all combinations of "none" and "all" came first, and used up what crashes in recoveries get.
TEST(CrashModel, OfFewLinesEachIsTornAlsoWithASmallLimit) {
  for (const std::uint64_t lines : {6u, 7u, 8u, 9u, 10u}) {
    Bench bench(kLine);
    for (std::uint64_t line = 0; line < lines; ++line) {
      bench.store(line * 64, 1);
      bench.store(line * 64, 2);
    }
    StateSpace space(bench.medium(), 97, 97, 1);
    std::set<std::size_t> torn;
    space.for_each([&](std::span<const CellState> states, std::uint64_t) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        if (states[i].kept == 1) torn.insert(i);
      }
      return true;
    });
    EXPECT_EQ(torn.size(), lines);
  }
}

}  // namespace
}  // namespace holdfast::crash
