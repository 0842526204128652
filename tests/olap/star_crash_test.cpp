// Loading in every state that a power failure can leave: the old version, or the new one.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/crash/checker.hpp>
#include <holdfast/olap/answer.hpp>
#include <holdfast/olap/rows/row_answer.hpp>

namespace holdfast::olap {
namespace {

// Dimensions of one row each, and `rows` facts whose revenues are `version`.
std::vector<DimensionTable> one_row_each() {
  std::vector<DimensionTable> tables;
  for (std::size_t i = 0; i < kDimensions; ++i)
    tables.push_back(
        DimensionTable::build(static_cast<Dimension>(i), {{1, {"1", "1", "1", "1"}}}).value());
  return tables;
}

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
  const DimensionIndexes none;  // No condition, no join.
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

}  // namespace
}  // namespace holdfast::olap
