// Logs under the crash checker, the rest of their life: a segment's next lap, processes that are
// killed, records that wait for one sync.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>

#include <holdfast/blocks/log/space.hpp>

#include "log_crash.hpp"

namespace holdfast::blocks {
namespace {

class LogCrashLife : public LogCrash {};
INSTANTIATE_TEST_SUITE_P(All, LogCrashLife, testing::ValuesIn(all_log_cases()),
                         [](const auto& one) { return one.param.name(); });

// The first record of a segment's new lap over that of the lap before, which differs from it by the
// order of its words: whatever is counted or summed over the two is the same (Hole02).
TEST_P(LogCrashLife, ARecordOfANewLapDoesNotMixWithTheOneThatLayThere) {
  const auto old = pattern(1, 48 + 4 * 64);
  auto fresh = old;
  for (std::size_t line = 48; line + 64 <= fresh.size(); line += 64)
    std::rotate(fresh.begin() + static_cast<std::ptrdiff_t>(line),
                fresh.begin() + static_cast<std::ptrdiff_t>(line + 8),
                fresh.begin() + static_cast<std::ptrdiff_t>(line + 64));
  auto protocol = this->protocol();
  protocol.setup = [&](Region& region) {
    auto log = create(region);
    log.append(bytes(old)).value();
    while (log.append(bytes(std::string(2'000, '\0')))) {
    }
    finish(log);
    log.truncate({log.stable().value + 1}).value();
  };
  protocol.workload = [&](Region& region, crash::Workload& run) {
    auto log = open(region);
    run.perform(1, [&] {
      log.append(bytes(fresh)).value();
      finish(log);
    });
  };
  const auto report = check_next(protocol, fresh);
  ASSERT_TRUE(report.ok()) << report;
}

// The log, whose other segments hold two records, takes segment 0 for its next one. There lie
// records that have been truncated. The new header and the first group in it become durable in any
// order. A group of which a part is missing, below the old header and over old records, is no
// damage. Published formats zero the segment first and look for no damage.
class LogCrashTaken : public LogCrash {
 protected:
  static constexpr std::size_t kBytes = 1'000;
  // Fills all but segment 0.
  template <class Appender>
  static Lsn fill_others(Log& log, Appender& by) {
    const Lsn first = by.append(bytes(pattern(0, log.max_record_bytes()))).value();
    by.append(bytes(pattern(1, log.max_record_bytes()))).value();
    return first;
  }
  static void append_old(const LogCrashTaken& test, Log& log, LogAppender* by) {
    for (std::uint64_t i = 0; i < 7; ++i) {
      const auto old = pattern(100 + i, kBytes);
      (by != nullptr ? by->append(bytes(old)) : log.append(bytes(old))).value();
      test.finish(log);  // So that each begins with what is durable.
    }
  }
  void expect_taken(
      crash::Protocol<Texts>& protocol,
      const std::function<void(Log&)>& prepare = [](Log&) {}) const {
    const auto fresh = pattern(9, kBytes);
    for (std::uint64_t i = 0; i < 2; ++i) {
      auto region = dram(kLogRegionBytes);
      protocol.initial.push_back(pattern(i, create(region).max_record_bytes()));
    }
    protocol.workload = [&](Region& region, crash::Workload& run) {
      auto log = open(region);
      auto other = log.appender().value();
      {
        const auto quiet = run.quiet();
        prepare(log);
      }
      run.perform(1, [&] {
        log.append(bytes(fresh)).value();
        finish(log);
      });
    };
    const auto report = check_next(protocol, fresh);
    ASSERT_TRUE(report.ok()) << report;
  }
};
INSTANTIATE_TEST_SUITE_P(All, LogCrashTaken, testing::ValuesIn([] {
                           auto cases = all_log_cases();
                           std::erase_if(cases, [](const LogCase& one) {
                             return one.kind.format != LogFormat::kChecksum;
                           });
                           return cases;
                         }()),
                         [](const auto& one) { return one.param.name(); });

TEST_P(LogCrashTaken, ATornRecordInASegmentOfAnIdleLaneIsNoDamage) {
  auto protocol = this->protocol();
  protocol.setup = [&](Region& region) {
    {
      auto log = create(region);
      auto idle = log.appender().value();
      append_old(*this, log, &idle);
      log.truncate({log.stable().value + 1}).value();
    }
    auto log = open(region);
    fill_others(log, log);
    finish(log);
  };
  expect_taken(protocol);
}

TEST_P(LogCrashTaken, ATornRecordInALanesOwnSegmentIsNoDamage) {
  auto protocol = this->protocol();
  std::uint64_t first = 0;
  protocol.setup = [&](Region& region) {
    auto log = create(region);
    append_old(*this, log, nullptr);
    auto other = log.appender().value();
    first = fill_others(log, other).value;
    finish(log);
  };
  // A crash before the truncation leaves the old ones, too.
  protocol.recover = [&](Region& region) -> Result<Texts> {
    HF_ASSIGN_OR_RETURN(const auto log, Log::open(region, whole(region)));
    HF_ASSIGN_OR_RETURN(const auto found, entries(log, {first}));
    Texts texts;
    for (const auto& [lsn, text] : found)
      texts.push_back(text);
    return texts;
  };
  expect_taken(protocol, [&](Log& log) {
    EXPECT_EQ(log.free_segments(), 0u);
    log.truncate({first}).value();
    EXPECT_EQ(log.free_segments(), 0u);  // Its last segment.
  });
}

// What the process of `crash` did to the log in `region` before it was killed is executed here on a
// twin; its stores below `durable_below` of the region were fenced, of the others none was.
template <class Crash>
void kill_in(Region& region, std::uint64_t durable_below, std::uint64_t durable_from, Crash crash) {
  auto twin = dram(region.size_bytes());
  std::memcpy(twin.data(), region.data(), region.size_bytes());
  crash(twin);
  const auto copy = [&](bool durable) {
    for (std::uint64_t at = 0; at < region.size_bytes(); at += 8) {
      if ((at < durable_below && at >= durable_from) != durable) continue;
      auto* const to = reinterpret_cast<std::uint64_t*>(region.data() + at);
      const auto word = *reinterpret_cast<const std::uint64_t*>(twin.data() + at);
      if (*to == word) continue;
      region.persist().store(to, word);
      if (durable) region.persist().persist(to, 8);
    }
  };
  copy(true);
  copy(false);
}

// Its next opening shows the record, so it must not go away: the checker demands that at the
// acknowledgement of operation 1, which is that opening.
TEST_P(LogCrashLife, ARecordThatAKilledProcessLeftInCachesIsDurableOnceItWasSeen) {
  // With two fences a killed process leaves less behind, and never a record without its end.
  if (GetParam().model.granularity != Granularity::kLine || fences() != 1) return;
  for (const bool first_in_segment : {true, false}) {
    auto protocol = this->protocol();
    protocol.setup = [&](Region& region) {
      auto log = create(region);
      if (!first_in_segment) log.append(bytes("before")).value();
    };
    if (!first_in_segment) protocol.initial = {"before"};
    const auto record = pattern(1, 100);
    protocol.workload = [&](Region& region, crash::Workload& run) {
      {
        const auto quiet = run.quiet();
        // The state page was fenced when the log was opened.
        kill_in(region, kPageBytes, 0, [&](Region& twin) {
          auto log = open(twin);
          log.append(bytes(record)).value();
        });
      }
      run.perform(1, [&] { EXPECT_EQ(records(open(region)).back(), record); });
      auto log = open(region);
      run.perform(2, [&] { log.append(bytes("after")).value(); });
    };
    protocol.check = [&](const auto& past, const auto& seen) {
      return is_sequence_of(past, seen,
                            [&](std::uint64_t id) { return Texts{id == 1 ? record : "after"}; });
    };
    const auto report = crash::check(protocol, checker());
    ASSERT_TRUE(report.ok()) << report;
  }
}

// The same in a log that has no more LSNs: its opening raises no limit, and is all the same what
// makes durable what it shows.
TEST_P(LogCrashLife, ARecordThatAKilledProcessLeftIsDurableOnceSeenWhenNoLsnsAreLeft) {
  if (GetParam().model.granularity != Granularity::kLine || fences() != 1) return;
  auto protocol = this->protocol();
  const auto record = pattern(1, 100);
  protocol.setup = [&](Region& region) {
    std::uint64_t log_id = 0;
    (void)create(region);
    std::memcpy(&log_id, region.data() + offsetof(SuperblockHeader, id), sizeof log_id);
    // The next opening can still raise the limit, by four rounds, the one after it cannot.
    const auto round = options().lanes * (options().segment_bytes / 16) * options().lanes;
    auto* const limit = reinterpret_cast<std::uint64_t*>(region.data() + log_detail::kStateOffset);
    region.persist().store(
        limit, log_detail::checked(log_detail::kLsnMax - 8 * round, log_id, log_detail::kLimit));
    region.persist().persist(limit, sizeof *limit);
  };
  protocol.workload = [&](Region& region, crash::Workload& run) {
    {
      const auto quiet = run.quiet();
      kill_in(region, kPageBytes, 0, [&](Region& twin) {
        auto log = open(twin);
        log.append(bytes(record)).value();
      });
    }
    run.perform(1, [&] {
      auto log = open(region);
      EXPECT_EQ(records(log), Texts{record});
      EXPECT_EQ(log.append(bytes("no")).code(), Errc::kNoSpace);
    });
  };
  const auto report = check_next(protocol, record);
  ASSERT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(1).barriers(), 1u);
}

TEST_P(LogCrashLife, ALogThatAKilledProcessHadAlmostCreatedIsDurableOnceItIsUsed) {
  if (GetParam().model.granularity != Granularity::kLine) return;
  auto protocol = this->protocol();
  protocol.initial = {"no log"};
  protocol.setup = nullptr;
  const auto recover = protocol.recover;
  protocol.recover = [=](Region& region) -> Result<Texts> {
    auto found = recover(region);
    if (!found && found.code() == Errc::kNotHoldfast) return Texts{"no log"};
    return found;
  };
  protocol.workload = [&](Region& region, crash::Workload& run) {
    {
      const auto quiet = run.quiet();
      // All but the magic word, which comes last.
      kill_in(region, region.size_bytes(), 8, [&](Region& twin) { (void)create(twin); });
    }
    run.perform(1, [&] {
      auto log = open(region);
      log.append(bytes("x")).value();
    });
  };
  protocol.check = [](const auto& past, const Texts& seen) -> std::string {
    if (seen == Texts{"x"}) return "";
    return !past.operations[0].acknowledged() && (seen.empty() || seen == past.base)
               ? ""
               : "the record is lost";
  };
  const auto report = crash::check(protocol, checker());
  ASSERT_TRUE(report.ok()) << report;
}

// Page media: records that one sync makes durable, of which any may arrive before it.
class LogCrashPages : public LogCrash {};
std::vector<LogCase> page_cases() {
  std::vector<LogCase> cases;
  for (const auto& one : all_log_cases()) {
    if (one.model.granularity == Granularity::kPage) cases.push_back(one);
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, LogCrashPages, testing::ValuesIn(page_cases()),
                         [](const auto& one) { return one.param.name(); });

// The second of two arrived, the first did not. A record over the first one must not bring the dead
// second one back: the limit of LSNs rises durably at each opening.
TEST_P(LogCrashPages, ADeadRecordDoesNotComeBackBehindANewOne) {
  auto protocol = this->protocol();
  protocol.setup = [&](Region& region) {
    auto log = create(region);
    log.append(bytes("before")).value();
    log.sync().value();
  };
  protocol.initial = {"before"};
  const auto of = [](std::uint64_t id) {
    return id == 1 ? Texts{pattern(1, 600), pattern(2, 8)} : Texts{pattern(id, 600)};
  };
  const auto perform = [&](Region& region, crash::Workload& run, std::uint64_t id) {
    auto log = open(region);
    run.perform(id, [&] {
      for (const auto& record : of(id))
        log.append(bytes(record)).value();
      log.sync().value();
    });
  };
  protocol.workload = [&](Region& region, crash::Workload& run) { perform(region, run, 1); };
  protocol.then = [&](Region& region, crash::Workload& run, const Texts&) {
    perform(region, run, 3);
  };
  protocol.check = [&](const auto& past, const auto& seen) {
    return is_sequence_of(past, seen, of);
  };
  const auto report = crash::check(protocol, checker());
  ASSERT_TRUE(report.ok()) << report;
}

// The last record of one segment and the first of the next.
TEST_P(LogCrashPages, ASegmentIsOnlyLeftWhenWhatLiesInItIsDurable) {
  // Three of them fill a segment: the next one is the second of its lane, or the third.
  for (const std::uint64_t before : {3, 6}) {
    auto protocol = this->protocol();
    protocol.setup = [&](Region& region) {
      auto log = create(region);
      for (std::uint64_t i = 1; i <= before; ++i)
        log.append(bytes(pattern(i, 2'100))).value();
      log.sync().value();
    };
    for (std::uint64_t i = 1; i <= before; ++i)
      protocol.initial.push_back(pattern(i, 2'100));
    const auto of = [](std::uint64_t) { return Texts{pattern(11, 1'000), pattern(12, 2'000)}; };
    protocol.workload = [&](Region& region, crash::Workload& run) {
      auto log = open(region);
      const auto free = log.free_segments();
      run.perform(1, [&] {
        for (const auto& record : of(1))
          log.append(bytes(record)).value();
        log.sync().value();
      });
      EXPECT_EQ(log.free_segments() + 1, free);
    };
    protocol.check = [&](const auto& past, const auto& seen) {
      return is_sequence_of(past, seen, of);
    };
    const auto report = crash::check(protocol, checker());
    ASSERT_TRUE(report.ok()) << report;
  }
}

}  // namespace
}  // namespace holdfast::blocks
