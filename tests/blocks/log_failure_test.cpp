// Appends that fail because the file cannot be written: what was refused stays away, and what is
// acknowledged afterwards stays.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include <holdfast/memory/system.hpp>

#include "../memory/scratch.hpp"
#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

constexpr std::uint64_t kSegment = 4 * KiB;

class FailingLog : public testing::Test {
 protected:
  FailingLog() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FailingLog() override {
    writable();
    std::signal(SIGXFSZ, handler_);
  }
  Region file(std::uint64_t segments) const {
    RegionOptions options;
    options.layout = RegionLayout::kFile;
    options.size_bytes = options.unit_bytes = options.reserve_bytes =
        kPageBytes + segments * kSegment;
    return Region::open(scratch_.path("log") + "?granularity=page", options).value();
  }
  static LogOptions options(std::uint32_t lanes) {
    LogOptions options;
    options.segment_bytes = kSegment;
    options.lanes = lanes;
    return options;
  }
  // Writes to the file from `segment`'s byte `at` on fail.
  void writable_below(std::uint64_t segment, std::uint64_t at) {
    writable_below(kPageBytes + segment * kSegment + at);
  }
  void writable_below(std::uint64_t at) {
    auto limit = before_;
    limit.rlim_cur = at;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  void writable() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  const Scratch scratch_ = Scratch::disk();
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(FailingLog, ARefusedRecordIsNotThereAfterReopening) {
  auto region = file(4);
  Entries expected;
  {
    auto log = Log::create(region, whole(region), options(1)).value();
    expected.emplace_back(log.append(bytes("first")).value().value, "first");
    const std::vector<Record> group{bytes("refused"),
                                    bytes(std::string_view("refused, too, and cut"))};
    writable_below(0, 128 + 40);  // The first of the two fits.
    EXPECT_EQ(log.append_many(group).code(), Errc::kIo);
    writable();
    EXPECT_EQ(entries(log).value(), expected);
  }
  EXPECT_EQ(entries(Log::open(region, whole(region)).value()).value(), expected);
}

// A failed draw was not published: another lane took the segment with a base below the LSN of the
// refused record, and its own record ended where that one began.
TEST_F(FailingLog, ARefusedRecordDoesNotComeBackInAnotherLanesSegment) {
  auto region = file(2);
  Entries expected;
  {
    auto log = Log::create(region, whole(region), options(2)).value();
    auto mine = log.appender().value();
    ASSERT_TRUE(mine.append(bytes(pattern(1, 2'000))));
    const auto cut = pattern(2, 1'500);
    const std::vector<Record> group{bytes("REFUSED!"), bytes(cut)};
    writable_below(0, 2'112 + 64 + 8);  // The first of the two fits, and nothing that clears it.
    EXPECT_EQ(mine.append_many(group).code(), Errc::kIo);
    writable_below(1, 64);  // The next segment's header fits, its first record does not.
    EXPECT_EQ(mine.append(bytes(pattern(3, 3'000))).code(), Errc::kIo);
    writable();
    ASSERT_TRUE(log.truncate({log.stable().value + 1}));
    const auto record = pattern(4, 2'000);
    expected.emplace_back(log.append(bytes(record)).value().value, record);
    EXPECT_EQ(entries(log).value(), expected);
  }
  EXPECT_EQ(entries(Log::open(region, whole(region)).value()).value(), expected);
}

std::atomic<int> log_writes_left{0};

int fail_log_writes(memory_detail::Call call, int) {
  return call == memory_detail::Call::kWrite && --log_writes_left < 0 ? EIO : 0;
}

// What failed may lie at its tail. It is cleared there by the lane's next append, of any thread.
TEST_F(FailingLog, ALaneThatFailedKeepsItsLastSegmentUntilItsNextAppend) {
  auto region = file(2);
  Entries expected;
  {
    auto log = Log::create(region, whole(region), options(2)).value();
    {
      auto gone = log.appender().value();
      ASSERT_TRUE(gone.append(bytes(pattern(1, 2'000))));
      const auto cut = pattern(2, 1'500);
      const std::vector<Record> group{bytes("REFUSED!"), bytes(cut)};
      writable_below(0, 2'112 + 64 + 8);  // The first of the two fits.
      log_writes_left = 1;                // Nothing clears it.
      memory_detail::set_fault_hook(&fail_log_writes);
      EXPECT_EQ(gone.append_many(group).code(), Errc::kIo);
      memory_detail::set_fault_hook(nullptr);
      writable();
      EXPECT_LT(log_writes_left, 0);
    }
    ASSERT_TRUE(log.truncate({log.stable().value + 1}));
    const auto append = [&](auto& by, unsigned number) {
      const auto lsn = by.append(bytes(pattern(number, 2'000)));
      if (lsn) expected.emplace_back(lsn->value, pattern(number, 2'000));
      return lsn.code();
    };
    EXPECT_EQ(append(log, 3), Errc::kOk);
    EXPECT_EQ(append(log, 4), Errc::kNoSpace);
    auto next = log.appender().value();  // Of the lane that failed, which has a segment.
    EXPECT_EQ(append(next, 5), Errc::kOk);
    EXPECT_EQ(entries(log).value(), expected);
  }
  EXPECT_EQ(entries(Log::open(region, whole(region)).value()).value(), expected);
}

// LSNs were drawn at each try, and only a new segment raised the durable limit: what was appended
// beyond it was acknowledged, and gone after the next opening.
TEST_F(FailingLog, AppendsThatFailAgainAndAgainDoNotPassTheDurableLimit) {
  auto region = file(4);
  Entries expected;
  {
    auto log = Log::create(region, whole(region), options(1)).value();
    expected.emplace_back(log.append(bytes("first")).value().value, "first");
    writable_below(0, 128);
    for (int i = 0; i < 5'000; ++i)
      ASSERT_EQ(log.append(bytes("refused")).code(), Errc::kIo);
    writable();
    expected.emplace_back(log.append(bytes("acknowledged")).value().value, "acknowledged");
    ASSERT_TRUE(log.sync());
  }
  EXPECT_EQ(entries(Log::open(region, whole(region)).value()).value(), expected);
}

// The same where the limit cannot be raised either: then no more LSNs are drawn.
TEST_F(FailingLog, AppendsThatFailWithTheStateWordsDoNotPassTheDurableLimit) {
  auto region = file(4);
  Entries expected;
  {
    auto log = Log::create(region, whole(region), options(1)).value();
    expected.emplace_back(log.append(bytes("first")).value().value, "first");
    writable_below(kCacheLineBytes);
    for (int i = 0; i < 5'000; ++i)
      ASSERT_EQ(log.append(bytes("refused")).code(), Errc::kIo);
    writable();
    expected.emplace_back(log.append(bytes("acknowledged")).value().value, "acknowledged");
    ASSERT_TRUE(log.sync());
  }
  EXPECT_EQ(entries(Log::open(region, whole(region)).value()).value(), expected);
}

// Its segments must not be taken: the head that is durable still needs them.
TEST_F(FailingLog, ATruncationThatFailsTruncatesNothing) {
  auto region = file(3);
  Entries expected;
  {
    auto log = Log::create(region, whole(region), options(1)).value();
    const auto append = [&] {
      const auto record = pattern(expected.size(), 900);
      const auto lsn = log.append(bytes(record));
      if (lsn) expected.emplace_back(lsn->value, record);
      return lsn.code();
    };
    while (append() == Errc::kOk) {
    }
    const auto head = log.head();
    writable_below(kCacheLineBytes);
    EXPECT_EQ(log.truncate({log.stable().value + 1}).code(), Errc::kIo);
    writable();
    EXPECT_EQ(log.head(), head);
    EXPECT_EQ(log.free_segments(), 0u);
    EXPECT_EQ(append(), Errc::kNoSpace);
    EXPECT_EQ(entries(log).value(), expected);
  }
  EXPECT_EQ(entries(Log::open(region, whole(region)).value()).value(), expected);
}

}  // namespace
}  // namespace holdfast::blocks
