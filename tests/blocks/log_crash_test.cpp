// Logs under the crash checker at depth 2: append, groups, rollover, truncation and reuse,
// creation, several appenders; all formats, dense and padded, on all media that each is made for.
#include <gtest/gtest.h>

#include <algorithm>

#include "log_crash.hpp"

namespace holdfast::blocks {
namespace {

INSTANTIATE_TEST_SUITE_P(All, LogCrash, testing::ValuesIn(all_log_cases()),
                         [](const auto& one) { return one.param.name(); });

// Records that take about one to four lines.
std::string of_lines(std::uint64_t number, std::uint64_t lines) {
  return pattern(number, lines * 64 - 40);
}

// And of twenty, which are streamed where that leaves the cache.
TEST_P(LogCrash, AppendsOfOneToFourLinesAreThereOrNot) {
  for (const std::uint64_t lines : {1, 2, 3, 4, 20}) {
    auto protocol = this->protocol();
    const auto of = [=](std::uint64_t id) { return Texts{of_lines(id, id == 2 ? 1 : lines)}; };
    protocol.workload = [&](Region& region, crash::Workload& run) {
      auto log = open(region);
      for (std::uint64_t id = 1; id <= 2; ++id) {
        run.perform(id, [&] {
          log.append(bytes(of(id)[0])).value();
          finish(log);
        });
      }
    };
    protocol.then = [&](Region& region, crash::Workload& run, const Texts&) {
      auto log = open(region);
      run.perform(3, [&] {
        log.append(bytes(of(3)[0])).value();
        finish(log);
      });
    };
    protocol.check = [&](const auto& past, const auto& seen) {
      return is_sequence_of(past, seen, of);
    };
    const auto report = crash::check(protocol, checker());
    ASSERT_TRUE(report.ok()) << lines << " lines\n" << report;
    EXPECT_GT(report.images_in_all(), 10u);
    // Barriers are a constant: the second append takes no segment.
    EXPECT_EQ(report.operation(2).barriers(), fences());
    EXPECT_EQ(report.operation(2).redundant_fences, 0u);
  }
}

// A torn record, and over it one of the same length that shares words with it: with these the dead
// one would be whole again. They share words of a line, the same in a group, or whole lines.
TEST_P(LogCrash, ATornRecordDoesNotComeBackWhenTheNextOneBringsItsMissingWords) {
  enum { kWords, kGroup, kLines };
  for (const auto shared : {kWords, kGroup, kLines}) {
    auto protocol = this->protocol();
    const auto of = [=](std::uint64_t id) {
      if (shared == kLines) return Texts{pattern(id, 40) + pattern(7, 64)};
      Texts texts{pattern(7, 8) + pattern(id, 8)};
      if (shared == kGroup) texts.push_back(pattern(8, 8) + pattern(id + 10, 8));
      return texts;
    };
    const auto append = [&](Log& log, std::uint64_t id) {
      const auto texts = of(id);
      std::vector<Record> group;
      for (const auto& one : texts)
        group.push_back(bytes(one));
      log.append_many(group).value();
      finish(log);
    };
    protocol.workload = [&](Region& region, crash::Workload& run) {
      auto log = open(region);
      run.perform(1, [&] { append(log, 1); });
      run.perform(2, [&] { append(log, 2); });
    };
    protocol.then = [&](Region& region, crash::Workload& run, const Texts&) {
      auto log = open(region);
      run.perform(3, [&] { append(log, 3); });
    };
    protocol.check = [&](const auto& past, const auto& seen) {
      return is_sequence_of(past, seen, of);
    };
    auto options = checker();
    options.nested_states_per_point = 300;
    options.images_per_run *= 4;
    const auto report = crash::check(protocol, options);
    ASSERT_TRUE(report.ok()) << report;
  }
}

// The tail is in the middle of a line, as a crash leaves it that takes only the end of a group. The
// next group begins on the line behind, and is torn, too; the one that follows has its length and
// shares words with it.
TEST_P(LogCrash, AGroupThatIsTornBehindACutOneDoesNotComeBack) {
  if (GetParam().kind.format != LogFormat::kChecksum) return;
  for (const bool whole_lines : {false, true}) {
    auto protocol = this->protocol();
    protocol.initial = {"A"};
    protocol.setup = [&](Region& region) {
      std::uint64_t second = 0;  // Where the second frame of the group begins.
      {
        auto log = create(region);
        const std::vector<Record> group{bytes("A"), bytes("B")};
        log.append_many(group).value();
        auto reader = log.read();
        while (reader.next().value())
          second = static_cast<std::uint64_t>(reader.record().data() - region.data()) - 24;
        finish(log);
      }
      const std::byte zeros[8] = {};
      region.write(second, zeros).value();
      region.sync().value();
    };
    const auto of = [=](std::uint64_t id) {
      return whole_lines ? pattern(id, 40) + pattern(7, 64) : pattern(7, 8) + pattern(id, 8);
    };
    const auto perform = [&](Region& region, crash::Workload& run, std::uint64_t id) {
      auto log = open(region);
      run.perform(id, [&] {
        log.append(bytes(of(id))).value();
        finish(log);
      });
    };
    protocol.workload = [&](Region& region, crash::Workload& run) { perform(region, run, 1); };
    protocol.then = [&](Region& region, crash::Workload& run, const Texts&) {
      perform(region, run, 2);
    };
    protocol.check = [&](const auto& past, const auto& seen) {
      return is_sequence_of(past, seen, [&](std::uint64_t id) { return Texts{of(id)}; });
    };
    auto options = checker();
    options.nested_states_per_point = 300;
    options.images_per_run *= 4;
    const auto report = crash::check(protocol, options);
    ASSERT_TRUE(report.ok()) << report;
  }
}

TEST_P(LogCrash, OfAGroupAPrefixIsThere) {
  auto protocol = this->protocol();
  const auto of = [](std::uint64_t id) {
    return Texts{pattern(10 * id, 8), pattern(10 * id + 1, 70), pattern(10 * id + 2, 24)};
  };
  const auto append_group = [&](Log& log, std::uint64_t id) {
    const auto texts = of(id);
    const std::vector<Record> group{bytes(texts[0]), bytes(texts[1]), bytes(texts[2])};
    log.append_many(group).value();
    finish(log);
  };
  protocol.workload = [&](Region& region, crash::Workload& run) {
    auto log = open(region);
    run.perform(1, [&] { append_group(log, 1); });
    run.perform(2, [&] { append_group(log, 2); });
  };
  // Records of the same sizes over what a torn group left: the dead must not come back.
  protocol.then = [&](Region& region, crash::Workload& run, const Texts&) {
    auto log = open(region);
    run.perform(3, [&] { append_group(log, 3); });
  };
  protocol.check = [&](const auto& past, const auto& seen) {
    return is_sequence_of(past, seen, of);
  };
  const auto report = crash::check(protocol, checker());
  ASSERT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(2).barriers(), fences());
}

TEST_P(LogCrash, RolloverTruncationAndReuseLoseNothing) {
  // Three segments; records of which three fill one. Two laps.
  auto protocol = this->protocol();
  const auto length = (8 * KiB - 65 * 64) / 3 - 400;
  const auto text_of = [=](std::uint64_t id) { return pattern(id, length); };
  std::uint64_t fill = 0;
  {
    auto region = dram(kLogRegionBytes);
    auto log = create(region);
    while (log.append(bytes(text_of(1))))
      ++fill;
  }
  ASSERT_GE(fill, 9u);
  protocol.setup = [&](Region& region) {
    auto log = create(region);
    for (std::uint64_t i = 0; i < fill; ++i)
      log.append(bytes(text_of(i))).value();
    finish(log);
  };
  for (std::uint64_t i = 0; i < fill; ++i)
    protocol.initial.push_back(text_of(i));
  // Operation 1 truncates, 2 to 4 append into what it freed, 5 truncates all.
  const std::uint64_t cut = fill - 2;
  protocol.workload = [&](Region& region, crash::Workload& run) {
    auto log = open(region);
    const auto all = entries(log).value();
    run.perform(1, [&] { log.truncate({all[cut].first}).value(); });
    for (std::uint64_t id = 2; id <= 4; ++id) {
      run.perform(id, [&] {
        log.append(bytes(pattern(100 + id, 300))).value();
        finish(log);
      });
    }
    run.perform(5, [&] { log.truncate({log.stable().value + 1}).value(); });
  };
  protocol.check = [&](const auto& past, const Texts& seen) -> std::string {
    Texts expected = past.base;
    for (const auto& operation : past.operations) {
      const auto before = expected;
      if (operation.id == 1)
        expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(cut));
      else if (operation.id == 5)
        expected.clear();
      else
        expected.push_back(pattern(100 + operation.id, 300));
      if (!operation.acknowledged() && seen == before) return "";
    }
    return seen == expected ? "" : "not what was acknowledged";
  };
  protocol.then = [&](Region& region, crash::Workload& run, const Texts& found) {
    auto log = open(region);
    if (found.size() == fill) return;  // Still full.
    run.perform(6, [&] {
      log.append(bytes(pattern(106, 300))).value();
      finish(log);
    });
  };
  auto options = checker();
  options.states_per_point /= 4;
  const auto report = crash::check(protocol, options);
  ASSERT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(1).barriers(), 1u);
}

TEST_P(LogCrash, CreationOverAnOldLogIsOneLogOrTheOther) {
  auto protocol = this->protocol();
  protocol.initial = {"old"};
  protocol.setup = [&](Region& region) {
    auto log = create(region);
    log.append(bytes("dead")).value();
    const auto lsn = log.append(bytes("old")).value();
    log.truncate(lsn).value();
    finish(log);
  };
  const auto recover = protocol.recover;
  protocol.recover = [=](Region& region) -> Result<Texts> {
    auto found = recover(region);
    if (!found && found.code() == Errc::kNotHoldfast) return Texts{"no log"};
    return found;
  };
  protocol.workload = [&](Region& region, crash::Workload& run) {
    run.perform(1, [&] { (void)Log::replace(region, whole(region), options()).value(); });
    auto log = open(region);
    run.perform(2, [&] {
      log.append(bytes("new")).value();
      finish(log);
    });
  };
  protocol.check = [](const auto& past, const Texts& seen) -> std::string {
    const auto& operations = past.operations;
    if (!operations[0].acknowledged())
      return seen == past.base || seen == Texts{} || seen == Texts{"no log"}
                 ? ""
                 : "neither the old log nor an empty one nor none";
    const bool appended = operations.size() > 1 && operations[1].acknowledged();
    return (seen.empty() && !appended) || (seen == Texts{"new"} && operations.size() > 1)
               ? ""
               : "not the new log";
  };
  auto options = checker();
  options.kept_once_shown = false;  // "No log" has shown nothing: the old one may come back.
  const auto report = crash::check(protocol, options);
  ASSERT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(1).barriers(), 3u);
}

TEST_P(LogCrash, TwoAppendersLoseNothingAcknowledged) {
  auto protocol = this->protocol();
  const auto of = [](std::uint64_t id) { return pattern(id, 30 + id); };
  protocol.workload = [&](Region& region, crash::Workload& run) {
    auto log = open(region);
    auto second = log.appender().value();
    const auto body = [&](std::uint64_t first, std::uint32_t session, auto& target) {
      return [&run, &target, &log, &of, first, session, this] {
        for (auto id = first; id < first + 2; ++id) {
          run.perform(
              id,
              [&] {
                target.append(bytes(of(id))).value();
                finish(log);
              },
              session);
        }
      };
    };
    run.threads({body(1, 1, log), body(11, 2, second)});
  };
  // Each session's records in order, all acknowledged ones there; one that began after another was
  // acknowledged comes after it.
  protocol.check = [&](const auto& past, const Texts& seen) -> std::string {
    std::vector<std::size_t> places;
    for (const auto& operation : past.operations) {
      const auto at = std::find(seen.begin(), seen.end(), of(operation.id));
      if (at == seen.end() && operation.acknowledged()) return "an acknowledged record is lost";
      places.push_back(static_cast<std::size_t>(at - seen.begin()));
    }
    for (std::size_t a = 0; a < places.size(); ++a) {
      for (std::size_t b = 0; b < places.size(); ++b) {
        const auto& first = past.operations[a];
        if (places[a] < seen.size() && places[b] < seen.size() && first.acknowledged() &&
            first.acknowledged_at < past.operations[b].begun_at && places[a] >= places[b])
          return "the order is not that of the appends";
      }
    }
    const auto there = static_cast<std::size_t>(
        std::count_if(places.begin(), places.end(), [&](auto p) { return p < seen.size(); }));
    return seen.size() == there + past.base.size() ? "" : "a record that nobody appended";
  };
  auto options = checker();
  options.schedules.seeds = 8;
  options.states_per_point /= 8;
  const auto report = crash::check(protocol, options);
  ASSERT_TRUE(report.ok()) << report;
  EXPECT_GT(report.schedules, 4u);
}

}  // namespace
}  // namespace holdfast::blocks
