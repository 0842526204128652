// Appenders and readers of one log beside one another. Runs under TSan, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

constexpr unsigned kAppenders = 3;

// `append(thread, call, appender)` again and again in kAppenders threads, until `beside` returns.
// Each has an appender for some calls, then another one.
void run(Log& log, const std::function<void(unsigned, unsigned, LogAppender&)>& append,
         const std::function<void()>& beside) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kAppenders; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned call = 0; !stop;) {
        auto appender = log.appender().value();
        do
          append(t, call, appender);
        while (++call % 500 != 0 && !stop);
      }
    });
  }
  beside();
  stop = true;
  for (auto& thread : threads)
    thread.join();
}

class ConcurrentLog : public testing::TestWithParam<LogKind> {};
INSTANTIATE_TEST_SUITE_P(Formats, ConcurrentLog, testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return kind.param.name(); });

TEST_P(ConcurrentLog, WhatReturnedBeforeAnotherBeganHasTheSmallerLsn) {
  auto region = dram(16 * MiB);
  auto log = Log::create(region, whole(region), GetParam().options()).value();
  std::atomic<std::uint64_t> acknowledged{0};  // The greatest LSN.
  std::atomic<unsigned> disordered{0}, calls{0};
  const auto record = pattern(1, 20);
  const std::vector<Record> group(3, bytes(record));
  run(
      log,
      [&](unsigned, unsigned call, LogAppender& appender) {
        const auto before = acknowledged.load(std::memory_order_acquire);
        const std::size_t count = call % 4 == 0 ? group.size() : 1;
        const auto first = appender.append_many({group.data(), count}).value().value;
        if (first <= before) ++disordered;
        const auto last = first + (count - 1) * log.options().lanes;
        for (auto greatest = before; greatest < last;) {
          if (acknowledged.compare_exchange_weak(greatest, last)) break;
        }
        ++calls;
      },
      [&] {
        while (calls < 20'000)
          std::this_thread::yield();
      });
  EXPECT_EQ(disordered, 0u);
  EXPECT_EQ(entries(log).value().back().first, acknowledged.load());
}

// What a reader has been given is all that there will ever be up to there.
TEST_P(ConcurrentLog, NothingAppearsBehindAReadersBack) {
  auto region = dram(4 * MiB);
  // Small segments: a reader begins at the start of one.
  auto log = Log::create(region, whole(region), GetParam().options(8 * KiB)).value();
  std::vector<std::uint64_t> appended[kAppenders];  // LSNs.
  std::vector<std::vector<std::uint64_t>> given;    // By reader, behind where it began.
  run(
      log,
      [&](unsigned t, unsigned, LogAppender& appender) {
        const auto lsn = appender.append(bytes(pattern(t, 20)));
        if (lsn)
          appended[t].push_back(lsn->value);
        else
          std::this_thread::yield();  // No space just now.
      },
      [&] {
        while (given.size() < 300) {
          // From what is the end just now: it sees what was going on then.
          const auto from = log.stable();
          std::vector<std::uint64_t> lsns{from.value};
          for (auto reader = log.read(from); reader.next().value();)
            lsns.push_back(reader.lsn().value);
          log.truncate(from).value();
          if (lsns.size() > 2)
            given.push_back(std::move(lsns));
          else
            std::this_thread::yield();  // The end had not moved.
        }
      });
  std::vector<std::uint64_t> all;
  for (const auto& lsns : appended)
    all.insert(all.end(), lsns.begin(), lsns.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "an LSN was given twice";
  for (const auto& lsns : given) {
    const auto count = static_cast<std::ptrdiff_t>(lsns.size() - 1);
    const auto begin = std::lower_bound(all.begin(), all.end(), lsns.front());
    ASSERT_LE(count, all.end() - begin);
    ASSERT_EQ(std::vector(lsns.begin() + 1, lsns.end()), std::vector(begin, begin + count));
  }
}

}  // namespace
}  // namespace holdfast::blocks
