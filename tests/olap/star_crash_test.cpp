// Loading in every state that a power failure can leave: the old version, or the new one.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/crash/checker.hpp>
#include <holdfast/olap/answer.hpp>
#include <holdfast/olap/rows/row_answer.hpp>

#include "star_support.hpp"

namespace holdfast::olap {
namespace {

// `rows` facts whose revenues are `version`.
void load_version(StarStore& store, std::uint32_t version, std::uint32_t rows) {
  FactRows facts;
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (Column column = 0; column < kColumns; ++column)
      facts.columns[column].push_back(column == kRevenue ? version + row % 2 : 0);
  }
  StarWriter writer(store);
  for (std::uint32_t first = 0; first < rows; first += 8)
    writer.append(encode_block(facts, first, std::min(8u, rows - first))).value();
  writer.finish("version " + std::to_string(version), one_row_each()).value();
}

// The same as rows.
void load_row_version(StarStore& store, std::uint32_t version, std::uint32_t rows) {
  std::vector<FactRow> facts(rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    facts[row].customer = facts[row].part = facts[row].supplier = facts[row].order_date = 1;
    facts[row].revenue = version + row % 2;
  }
  const std::array<DimensionTuple, 1> one{DimensionTuple{1, 0, {}}};
  StarWriter writer(store);
  for (std::size_t i = 0; i < kDimensions; ++i)
    writer.set_tuples(static_cast<Dimension>(i), one).value();
  for (std::uint32_t first = 0; first < rows; first += 8)
    writer.append(std::span<const FactRow>(facts).subspan(first, std::min(8u, rows - first)))
        .value();
  writer.finish_rows("version " + std::to_string(version)).value();
}

struct Seen {
  bool exists = true;
  std::uint32_t version = 0;  // 0: nothing is loaded.
  bool operator==(const Seen&) const = default;
};

Result<Seen> read_star(Region& region) {
  auto store = StarStore::open(region);
  if (!store) {
    if (store.code() != Errc::kNotHoldfast) return std::move(store).error();
    return Seen{false, 0};
  }
  if (!(*store)->loaded()) return Seen{};
  for (auto& text : (*store)->verify())
    return Error{Errc::kCorrupt, text};
  const auto& catalogue = (*store)->catalogue();
  const bool by_row = catalogue.layout == Layout::kByRow;
  StarQuery all;
  all.sum = Sum::kRevenues;
  Team team(1);
  const DimensionCopies none{DimensionCopy()};  // No condition, no join.
  HF_ASSIGN_OR_RETURN(const auto sum,
                      by_row ? answer(all, *(*store)->rows(), none, team)
                             : answer(all, **store, team, kernels(VectorWidth::kPortable)));
  const auto version = by_row ? (*store)->rows()->facts(0).value()[0].revenue
                              : catalogue.blocks.front().columns[kRevenue].min;
  const auto rows = catalogue.rows();
  if (catalogue.source != "version " + std::to_string(version) ||
      sum.table.rows[0][0] != std::to_string(rows * version + rows / 2))
    return Error{Errc::kCorrupt, "parts of two versions"};
  return Seen{true, version};
}

struct Step {
  std::uint64_t id;
  std::uint32_t version, rows;
  Layout layout = Layout::kByColumn;

  void load(StarStore& store) const {
    (layout == Layout::kByRow ? load_row_version : load_version)(store, version, rows);
  }
};

crash::Protocol<Seen> loading(std::vector<Step> before, std::vector<Step> steps) {
  crash::Protocol<Seen> protocol;
  protocol.initial = {true, before.empty() ? 0 : before.back().version};
  protocol.setup = [=](Region& region) {
    auto store = StarStore::create(region).value();
    for (const auto& step : before)
      step.load(*store);
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    auto store = StarStore::open(region).value();
    for (const auto& step : steps)
      run.perform(step.id, [&] { step.load(*store); });
  };
  protocol.recover = read_star;
  protocol.check = [=](const crash::Past<Seen>& past, const Seen& seen) -> std::string {
    std::uint32_t last = past.base.version, in_flight = 0;
    for (const auto& operation : past.operations) {
      std::uint32_t version = 99;  // Of `then`.
      for (const auto& step : steps)
        version = step.id == operation.id ? step.version : version;
      (operation.acknowledged() ? last : in_flight) = version;
    }
    if (seen.version == last || (in_flight != 0 && seen.version == in_flight)) return "";
    return "version " + std::to_string(seen.version) + " is seen, " + std::to_string(last) +
           " was acknowledged";
  };
  protocol.then = [](Region& region, crash::Workload& run, const Seen&) {
    auto store = StarStore::open(region).value();
    run.perform(1000, [&] { load_version(*store, 99, 12); });
  };
  protocol.print = [](const Seen& seen) {
    return seen.exists ? "version " + std::to_string(seen.version) : std::string("no star");
  };
  return protocol;
}

crash::Options medium(const crash::Model& model) {
  crash::Options options;
  options.model = model;
  options.size_bytes = options.unit_bytes = 16 * KiB;
  options.max_size_bytes = 256 * KiB;
  options.states_per_point = options.nested_states_per_point = 1'000;
  options.images_per_run = 20'000;
  return options;
}

const crash::Model kModels[] = {crash::kLine, crash::kLineStreaming, crash::kByte, crash::kPage};

TEST(StarCrash, AFirstLoadIsThereWhollyOrNotAtAllAndTakesTwoFences) {
  for (const auto& model : kModels) {
    const auto report = crash::check(loading({}, {{1, 7, 20}}), medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 5u);
    EXPECT_EQ(report.operation(1).barriers(), 2u);
  }
}

// A process was killed when it had stored the magic in a cache. Another one opens the star and loads.
TEST(StarCrash, AStarThatAKilledProcessCreatedStaysOnceItWasOpened) {
  auto protocol = loading({}, {{1, 7, 20}});
  protocol.initial.exists = false;
  protocol.setup = [](Region& region) {
    StarStore::create(region).value();
    const DurableWriter writer(region);
    writer.put_word(0, 0).value();
    writer.order().value();
  };
  protocol.workload = [](Region& region, crash::Workload& run) {
    run.begin(99);
    region.persist().store(reinterpret_cast<std::uint64_t*>(region.data()), kStarFormat.magic);
    auto store = StarStore::open(region).value();
    run.acknowledge(99);
    run.perform(1, [&] { load_version(*store, 7, 20); });
  };
  protocol.check = [](const crash::Past<Seen>& past, const Seen& seen) -> std::string {
    const auto acknowledged = [&](std::size_t i) {
      return past.operations.size() > i && past.operations[i].acknowledged();
    };
    if (acknowledged(1) && seen.version != 7) return "what was loaded is gone";
    return acknowledged(0) && !seen.exists ? "the star is gone" : "";
  };
  protocol.then = nullptr;
  for (const auto& model : {crash::kLine, crash::kLineStreaming, crash::kByte}) {
    const auto report = crash::check(protocol, medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 5u);
  }
}

TEST(StarCrash, ALoadOverAnotherLeavesOneOfTheTwo) {
  for (const auto& model : kModels) {
    const auto report =
        crash::check(loading({{1, 3, 30}, {2, 5, 9}}, {{3, 7, 20}, {4, 8, 24}}), medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 5u);
    EXPECT_EQ(report.operation(3).barriers(), 2u);
    EXPECT_EQ(report.operation(4).barriers(), 2u);
  }
}

TEST(StarCrash, RowsAreLoadedOverColumnsAndColumnsOverRowsByTwoFences) {
  for (const auto& model : kModels) {
    const auto first = crash::check(loading({}, {{1, 7, 20, Layout::kByRow}}), medium(model));
    EXPECT_TRUE(first.ok()) << first;
    EXPECT_GE(first.images_in_all(), 5u);
    EXPECT_EQ(first.operation(1).barriers(), 2u);
    const auto report = crash::check(
        loading({{1, 3, 30}}, {{2, 7, 20, Layout::kByRow}, {3, 8, 24, Layout::kByRow}, {4, 9, 9}}),
        medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 5u);
    for (const std::uint64_t operation : {2, 3, 4})
      EXPECT_EQ(report.operation(operation).barriers(), 2u);
  }
}

// ---- Appending and merging: what is seen is how many appends there were ----

struct Grown {
  bool exists = true;
  std::uint32_t appends = 0;
  bool operator==(const Grown&) const = default;
};

// Append `number` adds 2 + number rows whose revenues are 2^number, in two blocks.
void append_number(StarStore& store, std::uint32_t number) {
  FactRows facts;
  for (std::uint32_t row = 0; row < 2 + number; ++row) {
    for (Column column = 0; column < kColumns; ++column)
      facts.columns[column].push_back(column == kRevenue ? 1u << number : 0);
  }
  const std::vector<EncodedBlock> blocks{encode_block(facts, 0, 1),
                                         encode_block(facts, 1, facts.size() - 1)};
  store.append(blocks).value();
}

std::int64_t sum_after(std::uint32_t appends) {
  std::int64_t sum = 4 * 1'000'000 + 2;  // load_version(1'000'000, 4).
  for (std::uint32_t number = 1; number <= appends; ++number)
    sum += (std::int64_t{2} + number) << number;
  return sum;
}

Result<Grown> read_grown(Region& region) {
  HF_ASSIGN_OR_RETURN(const auto store, StarStore::open(region));
  for (auto& text : store->verify())
    return Error{Errc::kCorrupt, text};
  StarQuery all;
  all.sum = Sum::kRevenues;
  Team team(1);
  HF_ASSIGN_OR_RETURN(const auto sum, answer(all, *store, team, kernels(VectorWidth::kPortable)));
  for (std::uint32_t appends = 0; appends < 8; ++appends) {
    if (std::to_string(sum_after(appends)) == sum.table.rows[0][0]) return Grown{true, appends};
  }
  return Error{Errc::kCorrupt, "a part of an append is seen: " + sum.table.rows[0][0]};
}

constexpr std::uint64_t kMergeId = 100;

// `steps`: numbers of appends, or kMergeId and above for merges.
crash::Protocol<Grown> growing(std::uint32_t before, std::vector<std::uint64_t> steps) {
  crash::Protocol<Grown> protocol;
  protocol.initial = {true, before};
  protocol.setup = [=](Region& region) {
    auto store = StarStore::create(region).value();
    load_version(*store, 1'000'000, 4);
    for (std::uint32_t number = 1; number <= before; ++number)
      append_number(*store, number);
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    auto store = StarStore::open(region).value();
    for (const auto step : steps)
      run.perform(step, [&] {
        if (step >= kMergeId)
          store->merge().value();
        else
          append_number(*store, static_cast<std::uint32_t>(step));
      });
  };
  protocol.recover = read_grown;
  protocol.check = [](const crash::Past<Grown>& past, const Grown& seen) -> std::string {
    std::uint32_t last = past.base.appends, in_flight = 0;
    for (const auto& operation : past.operations) {
      if (operation.id >= kMergeId) continue;
      (operation.acknowledged() ? last : in_flight) = static_cast<std::uint32_t>(operation.id);
    }
    if (seen.appends == last || (in_flight != 0 && seen.appends == in_flight)) return "";
    return std::to_string(seen.appends) + " appends are seen, " + std::to_string(last) +
           " were acknowledged";
  };
  protocol.then = [](Region& region, crash::Workload& run, const Grown& seen) {
    auto store = StarStore::open(region).value();
    run.perform(seen.appends + 1, [&] { append_number(*store, seen.appends + 1); });
    run.perform(kMergeId + 50, [&] { store->merge().value(); });
  };
  protocol.print = [](const Grown& seen) { return std::to_string(seen.appends) + " appends"; };
  return protocol;
}

TEST(StarCrash, AnAppendIsThereWhollyOrNotAtAllAndTakesTwoFences) {
  for (const auto& model : kModels) {
    const auto report = crash::check(growing(0, {1, 2, 3}), medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 10u);
    for (const std::uint64_t operation : {1, 2, 3})
      EXPECT_EQ(report.operation(operation).barriers(), 2u);
  }
}

TEST(StarCrash, AMergeLosesNothingAndTakesTwoFences) {
  for (const auto& model : kModels) {
    const auto report = crash::check(growing(2, {kMergeId, 3, kMergeId + 1, 4}), medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 10u);
    for (const std::uint64_t operation : {kMergeId, kMergeId + 1, std::uint64_t{3}})
      EXPECT_EQ(report.operation(operation).barriers(), 2u);
  }
}

TEST(StarCrash, AnAppendThatAKilledProcessStoredIsDurableBeforeItIsShown) {
  // The killed process has stored the delta word and not waited. Operation 1 opens the star.
  const auto word = std::make_shared<std::uint64_t>();
  const auto word_at = std::make_shared<std::uint64_t>();
  auto protocol = growing(0, {});
  protocol.setup = [=](Region& region) {
    auto store = StarStore::create(region).value();
    load_version(*store, 1'000'000, 4);
    *word_at = store->catalogue().place.offset_bytes + offsetof(CatalogueHeader, deltas);
    append_number(*store, 1);
    const DurableWriter writer(region);
    *word = writer.word(*word_at);
    writer.put_word(*word_at, 0).value();
    writer.order().value();
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    run.perform(1, [&] {
      const DurableWriter writer(region);
      if (writer.paged())
        writer.put_word(*word_at, *word).value();
      else
        writer.persist().store(reinterpret_cast<std::uint64_t*>(writer.at(*word_at)), *word);
      EXPECT_EQ(StarStore::open(region).value()->catalogue().deltas.size(), 1u);
    });
  };
  for (const auto& model : kModels) {
    const auto report = crash::check(protocol, medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_EQ(report.operation(1).barriers(), 1u);
  }
}

TEST(StarCrash, AVersionThatAKilledProcessSwitchedToIsDurableBeforeItIsShown) {
  // The killed process has stored the root word and not waited. Operation 1 opens the star.
  const auto switched = std::make_shared<std::uint64_t>();
  auto protocol = loading({{2, 3, 30}}, {{1, 5, 9}});
  protocol.setup = [=](Region& region) {
    auto store = StarStore::create(region).value();
    load_version(*store, 3, 30);
    const DurableWriter writer(region);
    const auto before = writer.word(kRootAt);
    load_version(*store, 5, 9);
    *switched = writer.word(kRootAt);
    writer.put_word(kRootAt, before).value();
    writer.order().value();
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    run.perform(1, [&] {
      const DurableWriter writer(region);
      if (writer.paged())
        writer.put_word(kRootAt, *switched).value();
      else
        writer.persist().store(reinterpret_cast<std::uint64_t*>(writer.at(kRootAt)), *switched);
      EXPECT_EQ(StarStore::open(region).value()->catalogue().source, "version 5");
    });
  };
  for (const auto& model : kModels) {
    const auto report = crash::check(protocol, medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_EQ(report.operation(1).barriers(), 1u);
  }
}

TEST(StarCrash, AStarThatIsCreatedIsThereWhollyOrNotAtAll) {
  crash::Protocol<Seen> protocol;
  protocol.initial = {false, 0};
  protocol.setup = [](Region& region) {
    const std::vector<std::byte> rubbish(region.size_bytes(), std::byte{0xa5});
    region.write(0, rubbish).value();
  };
  protocol.workload = [](Region& region, crash::Workload& run) {
    run.perform(1, [&] { StarStore::create(region).value(); });
  };
  protocol.recover = read_star;
  protocol.check = [](const crash::Past<Seen>& past, const Seen& seen) -> std::string {
    if (seen.version != 0) return "tables came out of nothing";
    return past.operations.back().acknowledged() && !seen.exists ? "the star is gone" : "";
  };
  for (const auto& model : kModels) {
    const auto report = crash::check(protocol, medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_EQ(report.operation(1).barriers(), 2u);
  }
}

// They said "there is none here" for ever.
TEST(StarCrash, ALoadMakesAStarOfWhatACrashLeftOfACreation) {
  crash::Protocol<Seen> protocol;
  protocol.initial = {true, 7};
  protocol.setup = [](Region&) {};
  protocol.workload = [](Region& region, crash::Workload& run) {
    run.perform(1, [&] { StarStore::open_or_create(region).value(); });
  };
  protocol.recover = [](Region& region) -> Result<Seen> {
    {
      HF_ASSIGN_OR_RETURN(auto store, StarStore::open_or_create(region));
      load_version(*store, 7, 20);
    }
    return read_star(region);
  };
  protocol.check = [](const crash::Past<Seen>&, const Seen& seen) -> std::string {
    return seen.version == 7 ? "" : "version " + std::to_string(seen.version) + " is seen";
  };
  for (const auto& model : kModels) {
    const auto report = crash::check(protocol, medium(model));
    EXPECT_TRUE(report.ok()) << report;
  }
}

}  // namespace
}  // namespace holdfast::olap
