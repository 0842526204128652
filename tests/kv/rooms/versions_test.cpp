// What snapshots see: chains of older versions, kept as long as somebody may look.
#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

class Chains : public OnRecords {
 protected:
  // As a writer publishes: the chain first. Returns the line that is dead at once.
  Line publish(std::string_view key, Line line) {
    const auto guard = rooms_.epochs.enter(session_.participant);
    Place place = rooms_.index.place(rooms_.index.hash(ForTests::bytes(key)));
    auto home = rooms_.index.latch(place, session_);
    const Entry entry = home.find(rooms_.index.matches(ForTests::bytes(key)));
    if (!entry) {
      EXPECT_TRUE(home.insert(line));
      return kNoLine;
    }
    const Line dead = versions_.retire(line, OffsetMap::Home::line(entry));
    home.replace(entry, line);
    return dead;
  }
  Line indexed(std::string_view key) {
    const auto guard = rooms_.epochs.enter(session_.participant);
    return rooms_.index.map().find(rooms_.index.hash(ForTests::bytes(key)),
                                   rooms_.index.matches(ForTests::bytes(key)));
  }
  Line visible_at(Line line, std::uint64_t version) {
    const auto guard = rooms_.epochs.enter(session_.participant);
    return versions_.visible_at(line, version, guard);
  }
  void close(std::uint64_t version) { versions_.close(version, session_, rooms_.table); }
  bool dead(Line line) { return rooms_.table.is_dead(line.number); }

  Versions versions_{rooms_.records, rooms_.index, rooms_.sequences, rooms_.epochs, rooms_.gate};
};

TEST_F(Chains, ASnapshotLiesBetweenWhatWasAndWhatComes) {
  const Line before = put("k", "1");
  EXPECT_FALSE(versions_.held());
  const std::uint64_t version = versions_.open();
  const Line after = put("k", "2");
  EXPECT_LT(sequence(before), version);
  EXPECT_GT(sequence(after), version);
  EXPECT_EQ(versions_.snapshots_open(), 1u);
  EXPECT_TRUE(versions_.held());
  close(version);
  EXPECT_EQ(versions_.snapshots_open(), 0u);
  EXPECT_FALSE(versions_.held());
}

TEST_F(Chains, WithoutASnapshotTheOldRecordIsDeadAtOnce) {
  const Line one = put("k", "1"), two = put("k", "2");
  publish("k", one);
  EXPECT_EQ(publish("k", two), one);
  EXPECT_FALSE(versions_.holds(two, one));
}

TEST_F(Chains, ASnapshotKeepsTheOneVersionItSees) {
  const Line one = put("k", "1");
  publish("k", one);
  const std::uint64_t version = versions_.open();
  const Line two = put("k", "2"), three = put("k", "3");
  EXPECT_EQ(publish("k", two), kNoLine);
  EXPECT_EQ(publish("k", three), two) << "nobody can see it";
  EXPECT_EQ(visible_at(three, version), one);
  EXPECT_EQ(visible_at(three, sequence(three)), three);
  EXPECT_TRUE(versions_.holds(three, one));
  EXPECT_FALSE(versions_.holds(three, two));
  close(version);
  EXPECT_TRUE(dead(one));
  EXPECT_FALSE(dead(three));
}

TEST_F(Chains, EachOfSeveralSnapshotsKeepsItsOwn) {
  std::vector<Line> lines{put("k", "0")};
  std::vector<std::uint64_t> versions;
  publish("k", lines.back());
  for (int i = 1; i < 5; ++i) {
    versions.push_back(versions_.open());
    lines.push_back(put("k", std::to_string(i)));
    publish("k", lines.back());
  }
  for (std::size_t i = 0; i < versions.size(); ++i)
    EXPECT_EQ(visible_at(lines.back(), versions[i]), lines[i]) << i;
  close(versions[1]);  // In the middle.
  EXPECT_TRUE(dead(lines[1]));
  EXPECT_EQ(visible_at(lines.back(), versions[0]), lines[0]);
  EXPECT_EQ(visible_at(lines.back(), versions[2]), lines[2]);
  close(versions[0]);
  close(versions[3]);
  EXPECT_TRUE(dead(lines[0]));
  EXPECT_TRUE(dead(lines[3]));
  EXPECT_FALSE(dead(lines[2])) << "one snapshot still sees it";
  close(versions[2]);
  EXPECT_TRUE(dead(lines[2]));
  EXPECT_FALSE(dead(lines[4])) << "the newest";
}

TEST_F(Chains, WhatLiesBehindARecordIsTakenOutOneByOne) {
  const Line one = put("k", "1");
  publish("k", one);
  const std::uint64_t first = versions_.open();
  const Line two = put("k", "2");
  publish("k", two);
  const std::uint64_t second = versions_.open();
  const Line three = put("k", "3");
  publish("k", three);
  EXPECT_EQ(versions_.detach(three), two);
  EXPECT_FALSE(versions_.holds(three, two));
  EXPECT_EQ(versions_.detach(two), one);
  EXPECT_EQ(versions_.detach(one), kNoLine);
  close(first);
  close(second);
  EXPECT_FALSE(dead(one)) << "the caller notes it";
}

TEST_F(Chains, AKeyThatIsNewerThanTheSnapshotIsNotThere) {
  const std::uint64_t version = versions_.open();
  const Line line = put("k", "1");
  publish("k", line);
  EXPECT_EQ(visible_at(line, version), kNoLine);
  close(version);
}

TEST_F(Chains, AnErasedKeyIsSeenBehindItsTombstoneOnly) {
  const Line one = put("k", "1");
  publish("k", one);
  const std::uint64_t before = versions_.open();
  const Line erased = tombstone("k");
  EXPECT_EQ(publish("k", erased), kNoLine);
  rooms_.index.count_tombstone(1);
  versions_.note_tombstone(rooms_.index.hash(ForTests::bytes("k")), sequence(erased));
  const std::uint64_t after = versions_.open();
  EXPECT_EQ(visible_at(erased, before), one);
  EXPECT_EQ(visible_at(erased, after), kNoLine);
  close(after);
  EXPECT_EQ(indexed("k"), erased) << "the older snapshot needs the way";
  close(before);
  EXPECT_EQ(indexed("k"), kNoLine);
  EXPECT_TRUE(dead(one));
}

TEST_F(Chains, AMovedVersionIsReachedByEitherLineUntilItIsForgotten) {
  const Line one = put("k", "1");
  publish("k", one);
  const std::uint64_t first = versions_.open();
  const Line two = put("k", "2");
  publish("k", two);
  const std::uint64_t second = versions_.open();
  const Line three = put("k", "3");
  publish("k", three);
  // Reclamation copies the version in the middle, then the oldest: records of their sequences.
  const auto copy = [&](Line from) {
    const RecordView record = rooms_.records.at(from);
    Appended appended;
    const SumRule rule = rooms_.records.rule(rooms_.table.run_of(offset_of(from)));
    EXPECT_TRUE(rooms_.appender.append_copy(session_.lane, record, 0, rule, appended).value());
    rooms_.appender.commit(session_.lane).value();
    return line_at(appended.offset);
  };
  const Line two_moved = copy(two), one_moved = copy(one);
  versions_.move(three, two, two_moved);
  EXPECT_TRUE(versions_.holds(three, two_moved));
  EXPECT_FALSE(versions_.holds(three, two));
  EXPECT_EQ(visible_at(three, second), two_moved);
  EXPECT_EQ(visible_at(three, first), one);
  EXPECT_EQ(visible_at(two, first), one) << "a reader that had found the old line goes on from it";
  versions_.move(three, one, one_moved);
  EXPECT_EQ(visible_at(three, first), one_moved);
  versions_.forget(two);
  EXPECT_EQ(visible_at(two, first), kNoLine);
  EXPECT_EQ(visible_at(three, first), one_moved);
  close(first);
  close(second);
}

TEST_F(Chains, WhatTheyTakeInMemoryGoesWithTheLastSnapshot) {
  EXPECT_EQ(versions_.dram_bytes(), 0u);
  const std::uint64_t version = versions_.open();
  for (int i = 0; i < 20; ++i) {
    const std::string key = "key" + std::to_string(i);
    publish(key, put(key, "1"));
  }
  const std::uint64_t later = versions_.open();
  for (int i = 0; i < 20; ++i) {
    const std::string key = "key" + std::to_string(i);
    publish(key, put(key, "2"));
  }
  EXPECT_GT(versions_.dram_bytes(), 0u);
  close(version);
  close(later);
  EXPECT_EQ(versions_.dram_bytes(), 0u);
}

}  // namespace
}  // namespace holdfast::kv
