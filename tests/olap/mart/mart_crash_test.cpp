// Loads, appends and merges in every state that a power failure can leave.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/crash/checker.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/olap/mart/mart_store.hpp>

namespace holdfast::olap::mart {
namespace {

Schema small_schema() {
  Schema schema;
  schema.tables.resize(1);
  schema.tables[0].name = "t";
  schema.tables[0].columns = {{"n", sql::kBigIntType, 0}, {"word", sql::kStringType, 0}};
  return schema;
}

// Rows n = step, with the text of the step; one block and one piece of a dictionary each.
void append_step(MartStore& store, std::int64_t step, std::size_t rows) {
  MartWriter writer(store);
  Catalogue next;
  if (writer.present() != nullptr) {
    next = writer.present()->catalogue();
  } else {
    next.schema = small_schema();
    next.tables.resize(1);
    next.tables[0].dictionaries.resize(2);
  }
  const auto text = "step " + std::to_string(step);
  const auto number = static_cast<std::int64_t>(next.tables[0].texts(1)) + 1;
  std::vector<Words> columns(2);
  for (std::size_t i = 0; i < rows; ++i)
    columns[0].add(step * 100 + static_cast<std::int64_t>(i)), columns[1].add(number);
  next.tables[0].blocks.push_back(
      writer.put(encode_block(next.schema.tables[0], columns, 0, rows)).value());
  const std::vector<std::string_view> texts{text};
  next.tables[0].dictionaries[1].push_back(writer.put(texts).value());
  writer.finish(std::move(next)).value();
}

// The steps that are there: "1 2", each whole; "none" where there is no star.
Result<std::string> read_steps(Region& region) {
  auto store = MartStore::open(region);
  if (!store) {
    if (store.code() != Errc::kNotHoldfast) return std::move(store).error();
    return std::string("none");
  }
  const auto version = (*store)->version();
  if (version == nullptr) return std::string();
  for (auto& text : version->verify())
    return Error{Errc::kCorrupt, text};
  HF_ASSIGN_OR_RETURN(const auto numbers, version->words(0, 0));
  HF_ASSIGN_OR_RETURN(const auto words, version->words(0, 1));
  HF_ASSIGN_OR_RETURN(const auto texts, version->dictionary(0, 1));
  std::string steps;
  for (std::size_t row = 0; row < numbers->size(); ++row) {
    const auto step = std::to_string(numbers->values[row] / 100);
    if ((*texts)[static_cast<std::size_t>(words->values[row]) - 1] != "step " + step)
      return Error{Errc::kCorrupt, "a row has the text of another"};
    if (numbers->values[row] % 100 == 0) steps += steps.empty() ? step : " " + step;
  }
  if (numbers->size() % 3 != 0) return Error{Errc::kCorrupt, "a part of a step is there"};
  return steps;
}

// Operation 50 merges, any other appends its step; a merge changes no row.
crash::Protocol<std::string> steps(std::vector<std::uint64_t> before,
                                   std::vector<std::uint64_t> run) {
  const auto perform = [](MartStore& store, std::uint64_t step) {
    if (step == 50)
      merge(store).value();
    else
      append_step(store, static_cast<std::int64_t>(step), 3);
  };
  crash::Protocol<std::string> protocol;
  const auto text_of = [](const std::vector<std::uint64_t>& all) {
    std::string text;
    for (const auto step : all) {
      if (step != 50) text += (text.empty() ? "" : " ") + std::to_string(step);
    }
    return text;
  };
  protocol.initial = text_of(before);
  protocol.setup = [=](Region& region) {
    auto store = MartStore::create(region).value();
    for (const auto step : before)
      perform(*store, step);
  };
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    auto store = MartStore::open(region).value();
    for (const auto step : run)
      workload.perform(step, [&] { perform(*store, step); });
  };
  protocol.recover = read_steps;
  protocol.check = [=](const crash::Past<std::string>& past,
                       const std::string& seen) -> std::string {
    std::string sure = past.base, maybe;
    for (const auto& operation : past.operations) {
      const auto with = operation.id == 50
                            ? sure
                            : sure + (sure.empty() ? "" : " ") + std::to_string(operation.id);
      (operation.acknowledged() ? sure : maybe) = with;
    }
    if (seen == sure || (!maybe.empty() && seen == maybe)) return "";
    return "'" + seen + "' is seen, '" + sure + "' was acknowledged";
  };
  protocol.then = [](Region& region, crash::Workload& workload, const std::string&) {
    auto store = MartStore::open(region).value();
    workload.perform(99, [&] { append_step(*store, 99, 3); });
  };
  protocol.print = [](const std::string& seen) { return "'" + seen + "'"; };
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

TEST(MartCrash, ALoadAndAppendsAreThereWhollyOrNotAtAllAndTakeTwoFencesEach) {
  for (const auto& model : kModels) {
    const auto report = crash::check(steps({}, {1, 2, 3}), medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 10u);
    for (const std::uint64_t operation : {1, 2, 3})
      EXPECT_EQ(report.operation(operation).barriers(), 2u);
  }
}

TEST(MartCrash, AMergeLosesNothingAndTakesTwoFences) {
  for (const auto& model : kModels) {
    const auto report = crash::check(steps({1, 2}, {50, 3, 4}), medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 10u);
    for (const std::uint64_t operation : {50, 3, 4})
      EXPECT_EQ(report.operation(operation).barriers(), 2u);
  }
}

TEST(MartCrash, AVersionThatAKilledProcessSwitchedToIsDurableBeforeItIsShown) {
  // The killed process has stored the root word and not waited. Operation 2 opens the star.
  const auto switched = std::make_shared<std::uint64_t>();
  auto protocol = steps({1}, {});
  protocol.setup = [=](Region& region) {
    auto store = MartStore::create(region).value();
    append_step(*store, 1, 3);
    const DurableWriter writer(region);
    const auto before = writer.word(kMartRootAt);
    append_step(*store, 2, 3);
    *switched = writer.word(kMartRootAt);
    writer.put_word(kMartRootAt, before).value();
    writer.order().value();
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    run.perform(2, [&] {
      const DurableWriter writer(region);
      if (writer.paged())
        writer.put_word(kMartRootAt, *switched).value();
      else
        writer.persist().store(reinterpret_cast<std::uint64_t*>(writer.at(kMartRootAt)), *switched);
      EXPECT_EQ(MartStore::open(region).value()->version()->catalogue().fact_rows(), 6u);
    });
  };
  for (const auto& model : kModels) {
    const auto report = crash::check(protocol, medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_EQ(report.operation(2).barriers(), 1u);
  }
}

TEST(MartCrash, AStarThatIsCreatedIsThereWhollyOrNotAtAll) {
  crash::Protocol<std::string> protocol;
  protocol.initial = "none";
  protocol.setup = [](Region& region) {
    const std::vector<std::byte> rubbish(region.size_bytes(), std::byte{0xa5});
    region.write(0, rubbish).value();
  };
  protocol.workload = [](Region& region, crash::Workload& run) {
    run.perform(1, [&] { MartStore::create(region).value(); });
  };
  protocol.recover = read_steps;
  protocol.check = [](const crash::Past<std::string>& past,
                      const std::string& seen) -> std::string {
    if (seen != "none" && !seen.empty()) return "tables came out of nothing";
    return past.operations.back().acknowledged() && seen == "none" ? "the star is gone" : "";
  };
  for (const auto& model : kModels) {
    const auto report = crash::check(protocol, medium(model));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_EQ(report.operation(1).barriers(), 2u);
  }
}

// They said "there is none here" for ever.
TEST(MartCrash, ALoadMakesAStarOfWhatACrashLeftOfACreation) {
  crash::Protocol<std::string> protocol;
  protocol.initial = "1";
  protocol.setup = [](Region&) {};
  protocol.workload = [](Region& region, crash::Workload& run) {
    run.perform(1, [&] { MartStore::open_or_create(region).value(); });
  };
  protocol.recover = [](Region& region) -> Result<std::string> {
    {
      HF_ASSIGN_OR_RETURN(auto store, MartStore::open_or_create(region));
      if (store->version() == nullptr) append_step(*store, 1, 3);
    }
    return read_steps(region);
  };
  protocol.check = [](const crash::Past<std::string>&, const std::string& seen) -> std::string {
    return seen == "1" ? "" : "'" + seen + "' is seen";
  };
  for (const auto& model : kModels) {
    const auto report = crash::check(protocol, medium(model));
    EXPECT_TRUE(report.ok()) << report;
  }
}

}  // namespace
}  // namespace holdfast::olap::mart
