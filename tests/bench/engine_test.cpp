// The measuring engine that all benchmarks share: threads that begin together and are ended, turns
// in rotated order, and what repetitions come to.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <holdfast/bench/engine/placement.hpp>
#include <holdfast/bench/engine/samples.hpp>
#include <holdfast/bench/engine/team.hpp>

namespace holdfast::bench {
namespace {

TEST(Team, NobodyBeginsBeforeAllAreHere) {
  Team team(3);
  std::atomic<unsigned> here{0};
  std::atomic<bool> early{false};
  team.run([&](Seat& seat) {
    if (seat.index() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    here.fetch_add(1);
    seat.begin();
    if (here.load() != 3) early = true;
    seat.end();
  });
  EXPECT_FALSE(early);
  TeamTimes times;
  for (unsigned t = 0; t < 3; ++t) {
    EXPECT_TRUE(team.seat(t).complete());
    times.add(team.seat(t));
  }
  EXPECT_LT(times.seconds(), 10);
  EXPECT_GE(times.seconds(), 0);
}

TEST(Team, AThreadThatFailsBeforeItBeginsDoesNotKeepTheOthersWaiting) {
  Team team(2);
  team.run([](Seat& seat) {
    if (seat.index() == 1) return;
    seat.begin();
    seat.end();
  });
  EXPECT_TRUE(team.seat(0).complete());
  EXPECT_FALSE(team.seat(1).begun());
  EXPECT_FALSE(team.seat(1).complete());
}

TEST(Team, AThreadThatDoesNotEndItsPartIsNotComplete) {
  Team team(1);
  team.run([](Seat& seat) { seat.begin(); });
  EXPECT_TRUE(team.seat(0).begun());
  EXPECT_FALSE(team.seat(0).complete());
}

void work_until_stopped(Team& team, double seconds_max) {
  team.run_at_most(seconds_max, [&](Seat& seat) {
    seat.begin();
    while (!team.stop_flag().load())
      std::this_thread::yield();
    seat.end();
  });
}

TEST(Team, EndsWhenItsTimeIsUp) {
  Team team(2);
  const auto begin = Clock::now();
  work_until_stopped(team, 0.03);
  EXPECT_GE(seconds_since(begin), 0.03);
  EXPECT_TRUE(team.seat(0).complete() && team.seat(1).complete());
  EXPECT_GT(team.seat(0).cpu_seconds() + team.seat(1).cpu_seconds(), 0);
}

TEST(Team, EndsWhenTheRunIsInterrupted) {
  Team team(1);
  interrupted().store(true);
  work_until_stopped(team, 0);  // Has no other end.
  interrupted().store(false);
  EXPECT_TRUE(team.seat(0).complete());
}

TEST(Team, EndsWhenAThreadSaysSo) {
  Team team(2);
  team.run_at_most(0, [&](Seat& seat) {
    seat.begin();
    if (seat.index() == 0) team.stop();
    while (!team.stop_flag().load())
      std::this_thread::yield();
    seat.end();
  });
  EXPECT_TRUE(team.seat(0).complete() && team.seat(1).complete());
}

TEST(Placement, AThreadIsWhereItWasPut) {
  const auto cpus = usable_cpus();
  ASSERT_FALSE(cpus.empty());
  std::set<int> found;
  std::thread([&] {
    put_this_thread_on({cpus.back()});
    found = cpus_of_this_thread();
  }).join();
  EXPECT_EQ(found, std::set<int>{cpus.back()});
  EXPECT_EQ(usable_cpus(), cpus);  // Of the others nothing changed.
}

using Turns = std::vector<std::pair<std::size_t, unsigned>>;

TEST(InTurn, EachRepetitionBeginsWithAnotherSubject) {
  Turns turns;
  const auto status = in_turn(
      2, 3, [](unsigned) { return true; },
      [&](std::size_t subject, unsigned repetition) {
        turns.emplace_back(subject, repetition);
        return ok_status();
      });
  EXPECT_TRUE(status);
  EXPECT_EQ(turns, (Turns{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {1, 2}}));
}

TEST(InTurn, EndsWhereBeginSaysSoOrATurnFails) {
  unsigned turns = 0;
  const auto good = [&](std::size_t, unsigned) { return ++turns, ok_status(); };
  EXPECT_TRUE(in_turn(2, 9, [](unsigned repetition) { return repetition < 2; }, good));
  EXPECT_EQ(turns, 4u);
  const auto bad = [&](std::size_t subject, unsigned) {
    return subject == 1 ? Status(Error{Errc::kNoSpace, "full"}) : ok_status();
  };
  EXPECT_EQ(in_turn(2, 9, [](unsigned) { return true; }, bad).code(), Errc::kNoSpace);
  interrupted().store(true);
  EXPECT_TRUE(in_turn(2, 9, [](unsigned) { return true; }, good));
  interrupted().store(false);
  EXPECT_EQ(turns, 4u);
}

TEST(Samples, ARepetitionThatDidNotCountIsLeftOut) {
  Samples samples(4);
  samples.set(0, {1000, 1, 8000, 0.5});
  samples.set(2, {1000, 2, 8000, 0.5});
  samples.set(3, {1000, 4, 8000, 0.5});
  EXPECT_EQ(samples.counted(), 3u);
  results::Row row("holdfast", "put", 2);
  samples.describe(row);
  EXPECT_EQ(row.number("ops_per_s_median"), 500);
  EXPECT_EQ(row.number("ops_per_s_low"), 250);
  EXPECT_EQ(row.number("ops_per_s_high"), 1000);
  EXPECT_EQ(row.number("ns_per_op_median"), 4e6);  // Of each of two threads.
  EXPECT_EQ(row.number("repetitions"), 3);
  EXPECT_EQ(row.number("cpu_ns_per_op_median"), 5e5);
  EXPECT_EQ(row.number("bytes_per_s_median"), 4000);
  EXPECT_EQ(row.numbers("ops_per_s_samples").size(), 4u);
}

TEST(Samples, WhatWasNotMeasuredIsNoField) {
  Samples samples(1);
  samples.set(0, {1, 0.5});
  results::Row row("holdfast", "open", 1);
  samples.describe(row);
  EXPECT_EQ(row.number("ops_per_s_median"), 2);
  EXPECT_EQ(row.find("cpu_ns_per_op_median"), nullptr);
  EXPECT_EQ(row.find("bytes_per_s_median"), nullptr);
}

TEST(Samples, RatiosDivideRepetitionByRepetition) {
  Samples ours(3), floor(3);
  for (unsigned i = 0; i < 3; ++i) {
    const double disturbance = i + 1;
    ours.set(i, {100, 2 * disturbance});
    floor.set(i, {100, disturbance});
  }
  results::Row row("holdfast", "put", 1);
  compare(row, ours, floor, "floor");
  EXPECT_EQ(row.number("time_x_floor_low"), 2);
  EXPECT_EQ(row.number("time_x_floor_high"), 2);
  results::Row alone("holdfast", "put", 1);
  compare(alone, ours, Samples(3), "floor");  // It never ran.
  EXPECT_EQ(alone.find("time_x_floor_median"), nullptr);
}

}  // namespace
}  // namespace holdfast::bench
