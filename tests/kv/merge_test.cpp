// append() and merge(): values that grow, in one record or in pieces, read as one by every verb.
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/piece_collector.hpp>
#include <holdfast/kv/pieces.hpp>
#include <holdfast/kv/pipeline.hpp>
#include <holdfast/kv/space.hpp>

#include "displacing.hpp"
#include "for_tests.hpp"
#include "kept_checkpoints.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class Merge : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, Merge, kEveryPlace, place_name);

template <class Number>
std::string bytes_of_number(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// Records of pieces that the index of pieces has.
std::uint64_t pieces_in(Store<>& store) {
  const Pieces& pieces = ForTests::rooms(store).pieces;
  return pieces.any() ? pieces.space().index.map().size() : 0;
}

// Appends until the value has at least so many bytes; returns it.
std::string grow(Store<>& store, const std::string& key, std::size_t bytes,
                 std::size_t step = 300) {
  std::string value = get(store, key);
  if (value.starts_with('<')) value.clear();
  while (value.size() < bytes) {
    const std::string added = text_of(value.size() + key.size(), step);
    EXPECT_TRUE(store.append(key, added));
    value += added;
  }
  return value;
}

TEST_P(Merge, AppendAddsToWhatIsThereByteForByte) {
  auto store = open();
  Contents expected;
  std::string& value = expected["key"];
  for (std::size_t i = 0; i < 400; ++i) {
    const std::string added = text_of(i, i % 61);
    const auto version = store.append("key", added);
    ASSERT_TRUE(version) << version.error().message();
    value += added;
    ASSERT_TRUE(get(store, "key") == value) << i;
  }
  // Each piece has a little more than its limit.
  EXPECT_GE(pieces_in(store), value.size() / (Pieces::kPieceBytes + 60) - 1);
  EXPECT_LE(pieces_in(store), value.size() / Pieces::kPieceBytes);
  expect_contents(store, expected);
}

TEST_P(Merge, AnAppendWritesWhatItAddsAndNotTheValue) {
  StoreOptions options = tiny();
  options.block_bytes = 32 * KiB;
  options.segment_bytes = options.initial_bytes = 1 * MiB;
  auto store = open(options);
  const std::string large = text_of(1, 5 * MiB);
  ASSERT_TRUE(store.put("log", large));
  ASSERT_TRUE(store.append("log", "first"));  // Copies it, once.
  const std::uint64_t before = store.stats().used_bytes;
  std::string expected = large + "first";
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(store.append("log", "0123456789"));
    expected += "0123456789";
  }
  // Each append writes what is behind the last piece, half a piece on average: not 5 MiB.
  EXPECT_LT(store.stats().used_bytes - before, 2'000 * (Pieces::kPieceBytes + 256));
  EXPECT_TRUE(get(store, "log") == expected);
}

TEST_P(Merge, EveryVerbReadsAValueInPiecesAsOne) {
  StoreOptions options = tiny();
  options.order = true;
  auto store = open(options);
  const std::string value = grow(store, "list", 5'000);
  ASSERT_GT(pieces_in(store), 2u);
  ASSERT_TRUE(store.put("plain", "p"));

  std::vector<std::byte> buffer(value.size() + 10);
  EXPECT_EQ(store.get("list", std::span(buffer)).value(), value.size());
  EXPECT_EQ(std::memcmp(buffer.data(), value.data(), value.size()), 0);
  std::byte few[100];
  EXPECT_EQ(store.get("list", std::span(few)).value(), value.size());
  EXPECT_EQ(std::memcmp(few, value.data(), sizeof few), 0);
  const Pinned pinned = store.get_pinned("list").value();
  EXPECT_EQ(pinned.value(), value);
  const std::string_view keys[] = {"plain", "list", "absent"};
  std::string values[3];
  Errc outcomes[3];
  ASSERT_TRUE(store.get_many(keys, values, outcomes));
  EXPECT_EQ(values[0], "p");
  EXPECT_EQ(values[1], value);
  EXPECT_EQ(outcomes[2], Errc::kNotFound);
  EXPECT_EQ(contents_of(store), (Contents{{"list", value}, {"plain", "p"}}));
  std::string at_snapshot;
  ASSERT_TRUE(store.snapshot().get("list", at_snapshot));
  EXPECT_EQ(at_snapshot, value);

  auto cursor = store.cursor().value();
  ASSERT_TRUE(cursor.first());
  EXPECT_EQ(cursor.value(), value);
  std::vector<std::byte> packed(16 * KiB);
  std::span<const std::byte> records(packed.data(), cursor.fill(packed, 10).value());
  const auto first = unpack(records);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->key, "list");
  EXPECT_EQ(first->value, value);
  ASSERT_TRUE(unpack(records));
  EXPECT_FALSE(unpack(records));

  std::string got;
  {
    auto pipeline = Pipeline<>::open(store).value();
    EXPECT_TRUE(pipeline.wait(pipeline.get("list", got)));
  }
  EXPECT_EQ(got, value);
}

TEST_P(Merge, EveryVerbChangesAValueInPieces) {
  auto store = open(with_words({0}));
  std::string value = grow(store, "list", 4'000);
  const auto check = [&](const char* what) {
    EXPECT_TRUE(get(store, "list") == value) << what;
    value = grow(store, "list", value.size() + 1'500);
    EXPECT_TRUE(get(store, "list") == value) << "grown after " << what;
  };
  ASSERT_TRUE(store.update("list", [&](std::string& old) {
    EXPECT_TRUE(old == value);
    old[100] = '!';
  }));
  value[100] = '!';
  check("update");
  std::uint64_t before = 0;
  std::memcpy(&before, value.data() + 1'600, 8);
  const auto change = [](std::uint64_t word) { return word + 1; };
  EXPECT_EQ(store.update_word("list", 1'600, change).value(), before);
  value.replace(1'600, 8, bytes_of_number(before + 1));
  check("update_word");
  EXPECT_EQ(store.update_word("list", 80'000, change).code(), Errc::kInvalidOption);
  EXPECT_EQ(store.update_word("list", 3, change).code(), Errc::kInvalidOption);
  EXPECT_TRUE(get(store, "list") == value);
  const std::string_view key = "list";
  Errc outcome;
  ASSERT_TRUE(store.update_many({&key, 1}, [](std::size_t, std::string& old) { old += "many"; },
                                {&outcome, 1}));
  value += "many";
  check("update_many");
  std::memcpy(&before, value.data(), 8);
  ASSERT_TRUE(store.update_word_many(
      {&key, 1}, 0, [](std::size_t, std::uint64_t word) { return word * 3; }, {&outcome, 1}));
  value.replace(0, 8, bytes_of_number(before * 3));
  check("update_word_many");
  const Version version = store.append("list", "").value();
  ASSERT_TRUE(store.compare_and_put("list", version, value = text_of(7, 100)));
  check("compare_and_put");
  WriteBatch batch;
  batch.put("list", value = text_of(8, 2'000));
  batch.put("other", "o");
  ASSERT_TRUE(store.write(batch));
  check("write");
  const std::string_view values[] = {"by put_many"};
  ASSERT_TRUE(store.put_many({&key, 1}, values));
  value = "by put_many";
  check("put_many");
  EXPECT_TRUE(store.erase("list").value());
  EXPECT_EQ(get(store, "list"), "<kNotFound>");
  EXPECT_FALSE(store.erase("list").value());
  value = grow(store, "list", 3'000);
  check("erase");
  EXPECT_EQ(store.put_if_absent("list", "x").code(), Errc::kAlreadyExists);
  EXPECT_EQ(store.count(), 2u);
  expect_contents(store, {{"list", value}, {"other", "o"}});
}

TEST_P(Merge, FunctionsOfNumbers) {
  auto store = open();
  const auto merge = [&](MergeFunction function, const std::string& operand) {
    return store.merge("n", function, operand);
  };
  const auto set = [&](const std::string& value) { ASSERT_TRUE(store.put("n", value)); };
  ASSERT_TRUE(
      merge(MergeFunction::kAdd, bytes_of_number<std::int64_t>(-5)));  // Absent: the operand.
  ASSERT_TRUE(merge(MergeFunction::kAdd, bytes_of_number<std::int64_t>(3)));
  EXPECT_EQ(get(store, "n"), bytes_of_number<std::int64_t>(-2));
  ASSERT_TRUE(merge(MergeFunction::kMax, bytes_of_number<std::int64_t>(-7)));
  EXPECT_EQ(get(store, "n"), bytes_of_number<std::int64_t>(-2));
  ASSERT_TRUE(merge(MergeFunction::kMin, bytes_of_number<std::int64_t>(1)));
  EXPECT_EQ(get(store, "n"), bytes_of_number<std::int64_t>(-2));
  ASSERT_TRUE(merge(MergeFunction::kMinUnsigned, bytes_of_number<std::uint64_t>(1)));
  EXPECT_EQ(get(store, "n"), bytes_of_number<std::uint64_t>(1));
  ASSERT_TRUE(merge(MergeFunction::kMaxUnsigned, bytes_of_number<std::int64_t>(-1)));
  EXPECT_EQ(get(store, "n"), bytes_of_number<std::int64_t>(-1));
  ASSERT_TRUE(merge(MergeFunction::kAdd, bytes_of_number<std::uint64_t>(1)));
  EXPECT_EQ(get(store, "n"), bytes_of_number<std::uint64_t>(0)) << "it wraps";
  set(bytes_of_number(0.5));
  ASSERT_TRUE(merge(MergeFunction::kAddDouble, bytes_of_number(0.25)));
  EXPECT_EQ(get(store, "n"), bytes_of_number(0.75));
  set(std::string("\x01\x10\x00", 3));
  ASSERT_TRUE(merge(MergeFunction::kOr, std::string("\x02\x10\x01", 3)));
  EXPECT_EQ(get(store, "n"), std::string("\x03\x10\x01", 3));
}

TEST_P(Merge, WrongSizesAreRefusedAndNothingChanges) {
  auto store = open();
  ASSERT_TRUE(store.put("n", "four"));
  const auto refused = store.merge("n", MergeFunction::kAdd, bytes_of_number<std::uint64_t>(1));
  ASSERT_EQ(refused.code(), Errc::kInvalidOption);
  EXPECT_TRUE(mentions(refused.error(), "a value of 4 bytes")) << refused.error().message();
  EXPECT_EQ(store.merge("n", MergeFunction::kOr, "three").code(), Errc::kInvalidOption);
  EXPECT_EQ(store.merge("absent", MergeFunction::kMin, "four").code(), Errc::kInvalidOption);
  EXPECT_EQ(store.merge("n", static_cast<MergeFunction>(99), "fourfour").code(),
            Errc::kInvalidOption);
  expect_contents(store, {{"n", "four"}});
}

TEST_P(Merge, SurvivesClosesAndDeaths) {
  Contents expected;
  {
    auto store = open();
    expected["a"] = grow(store, "a", 6'000);
    expected["b"] = grow(store, "b", 600);
    ASSERT_TRUE(store.close());
  }
  {
    auto store = open();
    EXPECT_TRUE(store.recovery().clean);
    expect_contents(store, expected);
    expected["a"] = grow(store, "a", 9'000);
    expected["b"] = grow(store, "b", 3'000);
    copy_files("copy");
  }
  auto store = open(tiny(), "copy");
  EXPECT_FALSE(store.recovery().clean);
  expect_contents(store, expected);
  expected["a"] = grow(store, "a", 12'000);
  expect_contents(store, expected);
}

// ---- Pieces that nothing counts any more ----

TEST_P(Merge, PiecesGoWithTheirRecord) {
  auto store = open();
  (void)grow(store, "put", 4'000);
  (void)grow(store, "erased", 4'000);
  const std::string kept = grow(store, "kept", 4'000);
  const std::uint64_t of_kept = 3;
  EXPECT_GT(pieces_in(store), of_kept);
  ASSERT_TRUE(store.put("put", "small"));
  ASSERT_TRUE(store.erase("erased").value());
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(pieces_in(store), of_kept);
  expect_contents(store, {{"put", "small"}, {"kept", kept}});
}

TEST_P(Merge, NoMoreSpaceThanWithoutPieces) {
  auto store = open();
  for (int round = 0; round < 60; ++round) {
    const std::string key = "list" + std::to_string(round % 3);
    ASSERT_TRUE(store.put(key, ""));
    (void)grow(store, key, 20'000, 500);
  }
  ASSERT_TRUE(store.reclaim());
  const StoreStats stats = store.stats();
  EXPECT_LT(stats.live_bytes, 3 * 26'000u) << "60 lists of 20,000 bytes were written";
  EXPECT_LT(stats.used_bytes, 3 * 26'000u * 3);
}

TEST_P(Merge, ASnapshotKeepsThePiecesThatItSees) {
  auto store = open();
  const std::string before = grow(store, "list", 4'000);
  std::optional<Snapshot> snapshot(store.snapshot());
  const std::string grown = grow(store, "list", 9'000);
  ASSERT_TRUE(store.put("list", "small"));
  ASSERT_TRUE(store.reclaim());
  std::string value;
  ASSERT_TRUE(snapshot->get("list", value));
  EXPECT_TRUE(value == before);
  EXPECT_EQ(contents_of(*snapshot), (Contents{{"list", before}}));
  EXPECT_LE(pieces_in(store), 4u) << "those that only the grown value had are gone";
  snapshot.reset();
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(pieces_in(store), 0u);
  expect_contents(store, {{"list", "small"}});
}

TEST_P(Merge, AReaderThatFoundTheRecordFindsItsPieces) {
  auto store = open();
  const std::string before = grow(store, "list", 4'000);
  Rooms& rooms = ForTests::rooms(store);
  std::thread reclaims;
  {
    const auto guard = rooms.epochs.enter(rooms.sessions.of_this_thread().participant);
    const RecordView record = rooms.records.at(ForTests::line_of(store, "list"));
    std::thread([&] { EXPECT_TRUE(store.put("list", "small")); }).join();
    reclaims = std::thread([&] { EXPECT_TRUE(store.reclaim()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto gathered = rooms.pieces.gather(record);
    EXPECT_TRUE(gathered && *gathered == before);
  }
  reclaims.join();
  EXPECT_EQ(pieces_in(store), 0u);
}

// The collector may hear of a lineage before its last record is superseded: here of a version.
TEST_P(Merge, PiecesAreCountedBeforeReadersAreWaitedFor) {
  auto store = open();
  const std::string before = grow(store, "list", 4'000);
  Rooms& rooms = ForTests::rooms(store);
  const RecordView record = rooms.records.at(ForTests::line_of(store, "list"));
  PiecesView view;
  ASSERT_TRUE(PiecesView::read(record, view));
  rooms.pieces.end({"list", kDefaultSpace, view.head.lineage, view.head.pieces});
  std::thread collects;
  EpochDomain::Participant late = rooms.epochs.join();
  {
    std::optional<EpochDomain::Guard> found;
    {
      const auto early = rooms.epochs.enter(rooms.sessions.of_this_thread().participant);
      collects = std::thread([&] { EXPECT_TRUE(PieceCollector(rooms).collect()); });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      found.emplace(rooms.epochs.enter(late));
      std::thread([&] { EXPECT_TRUE(store.put("list", "small")); }).join();
    }
    collects.join();
    const auto gathered = rooms.pieces.gather(record);
    EXPECT_TRUE(gathered && *gathered == before);
  }
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(pieces_in(store), 0u);
}

// An append that put a piece, and found no room for its record, tries again: here with the first
// piece of a value, while the collector waits for a reader.
TEST_P(Merge, TheFirstPieceOfAFailedAppendStaysOnceItIsCounted) {
  auto store = open();
  (void)grow(store, "another", 4'000);
  ASSERT_TRUE(store.put("list", std::string(1'000, 'a')));
  Rooms& rooms = ForTests::rooms(store);
  std::thread collects;
  {
    const auto guard = rooms.epochs.enter(rooms.sessions.of_this_thread().participant);
    const RecordView record = rooms.records.at(ForTests::line_of(store, "list"));
    rooms.pieces.end({"list", kDefaultSpace, record.sequence(), 1});
    collects = std::thread([&] { EXPECT_TRUE(PieceCollector(rooms).collect()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::thread([&] { EXPECT_TRUE(store.append("list", std::string(500, 'b'))); }).join();
  }
  collects.join();
  EXPECT_EQ(get(store, "list"), std::string(1'000, 'a') + std::string(500, 'b'));
}

// The same with a later piece: while the collector is about to remove what the first try left.
TEST_P(Merge, ALaterPieceOfAFailedAppendStaysOnceItIsCounted) {
  auto store = open();
  Rooms& rooms = ForTests::rooms(store);
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    std::string expected(1'500, 'a');
    ASSERT_TRUE(store.put("list", expected.substr(0, 1'000)));
    ASSERT_TRUE(store.append("list", expected.substr(1'000)));
    PiecesView view;
    ASSERT_TRUE(PiecesView::read(rooms.records.at(ForTests::line_of(store, "list")), view));
    SpaceRooms& space = rooms.pieces.space();
    const std::string name = piece_key("list", view.head.lineage, view.head.pieces, kDefaultSpace);
    // As the first try left it, and the collector cannot get at it yet.
    EXPECT_TRUE(BasicWrites<SpaceRooms>(space, ForTests::maintenance(store))
                    .put_within(ForTests::bytes(name), ForTests::bytes("of the first try"),
                                BlockTable::Purpose::kUpdate, {}));
    rooms.pieces.end({"list", kDefaultSpace, view.head.lineage, view.head.pieces + 1});
    Session& own = space.sessions.of_this_thread();
    std::thread collects, appends;
    {
      const auto guard = rooms.epochs.enter(own.participant);
      Place place = space.index.place(space.index.hash(ForTests::bytes(name)));
      auto home = space.index.latch(place, own);
      collects = std::thread([&] { EXPECT_TRUE(PieceCollector(rooms).collect()); });
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      appends = std::thread([&] { EXPECT_TRUE(store.append("list", std::string(1'100, 'b'))); });
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    collects.join();
    appends.join();
    expected += std::string(1'100, 'b');
    EXPECT_TRUE(get(store, "list") == expected) << get(store, "list").substr(0, 100);
  }
}

TEST_P(Merge, PiecesOfADeadProcessAreFoundAtOpen) {
  {
    auto store = open();
    (void)grow(store, "list", 5'000);
    ASSERT_TRUE(store.put("list", "small"));
    copy_files("copy");
  }
  auto store = open(tiny(), "copy");
  EXPECT_EQ(pieces_in(store), 0u);
  expect_contents(store, {{"list", "small"}});
}

// The members of a batch have one sequence, which is the lineage of what grows from them.
TEST_P(Merge, ValuesOfOneBatchGrowApart) {
  auto store = open();
  Contents expected;
  WriteBatch batch;
  for (const char* key : {"a", "b"})
    batch.put(key, expected[key] = text_of(static_cast<std::uint64_t>(key[0]), 900));
  ASSERT_TRUE(store.write(batch));
  for (const char* key : {"a", "b"})
    expected[key] = grow(store, key, 5'000);
  expect_contents(store, expected);
  ASSERT_TRUE(store.put("a", "small"));
  ASSERT_TRUE(store.reclaim());
  expected["a"] = "small";
  expect_contents(store, expected);
}

// A value that was put anew and grows again shares no piece with what it was before.
TEST_P(Merge, PutAndGrowAgainBesideASnapshot) {
  auto store = open();
  const std::string before = grow(store, "list", 4'000, 301);
  const Snapshot snapshot = store.snapshot();
  ASSERT_TRUE(store.put("list", ""));
  const std::string after = grow(store, "list", 4'000, 299);
  ASSERT_TRUE(store.put("list", ""));
  ASSERT_TRUE(store.reclaim());
  std::string value;
  ASSERT_TRUE(snapshot.get("list", value));
  EXPECT_TRUE(value == before);
  EXPECT_EQ(pieces_in(store), 3u) << "those of the snapshot";
}

// A piece that was put, and a record that had no room: the append failed, and the piece goes.
TEST_P(Merge, AFullMediumLeavesNoPieceOfAnAppendThatFailed) {
  auto store = open();
  (void)grow(store, "list", 2'000);
  const std::string value = grow(store, "list", get(store, "list").size() + 1, 900);
  const std::uint64_t before = pieces_in(store);
  ForTests::take_all_blocks(store);
  // The store's own lane is filled up; that of pieces has room.
  for (const std::size_t bytes : {100, 0}) {
    while (store.put("filler", std::string(bytes, 'f'))) {
    }
  }
  const auto failed = store.append("list", std::string(1'100, 'x'));
  ASSERT_EQ(failed.code(), Errc::kNoSpace) << "it takes a piece and a record";
  EXPECT_TRUE(get(store, "list") == value);
  EXPECT_FALSE(store.append("list", std::string(1'100, 'x')));  // Collects what the first one left.
  (void)store.reclaim();
  EXPECT_EQ(pieces_in(store), before);
}

// ---- Keyspaces, expiry, checkpoints ----

TEST_P(Merge, InKeyspaces) {
  auto store = open();
  Space space = store.create_space("s").value();
  std::string in_space, own;
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(space.append("key", text_of(1, 200)));
    in_space += text_of(1, 200);
    ASSERT_TRUE(store.append("key", text_of(2, 200)));
    own += text_of(2, 200);
  }
  ASSERT_TRUE(space.merge("n", MergeFunction::kAdd, bytes_of_number<std::uint64_t>(4)));
  std::string value;
  ASSERT_TRUE(space.get("key", value));
  EXPECT_TRUE(value == in_space);
  EXPECT_TRUE(get(store, "key") == own);
  const std::uint64_t both = pieces_in(store);
  ASSERT_TRUE(store.drop_space("s"));
  EXPECT_EQ(pieces_in(store), both / 2);
  expect_contents(store, {{"key", own}});
}

TEST_P(Merge, WhatGrowsExpiresByItsStamp) {
  auto store = open();
  ASSERT_TRUE(store.expire({.prefix = "t", .ttl = 10}));
  ASSERT_TRUE(store.expire({.prefix = "far", .offset_bytes = 200, .ttl = 10}));
  ASSERT_TRUE(store.put("t", bytes_of_number<std::uint64_t>(100)));
  (void)grow(store, "t", 5'000);
  ASSERT_TRUE(store.put("far", std::string(200, 'x') + bytes_of_number<std::uint64_t>(100)));
  const std::string far = grow(store, "far", 5'000);
  ASSERT_TRUE(store.set_clock(109));
  EXPECT_GT(get(store, "t").size(), 5'000u);
  EXPECT_TRUE(get(store, "far") == far);
  ASSERT_TRUE(store.set_clock(110));
  EXPECT_EQ(get(store, "t"), "<kNotFound>");
  EXPECT_EQ(get(store, "far"), "<kNotFound>");
  ASSERT_TRUE(store.append("t", "anew"));
  EXPECT_EQ(get(store, "t"), "anew") << "what had expired is no part of it";
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(pieces_in(store), 0u);
  const auto refused = store.expire({.prefix = "x", .offset_bytes = 57});
  ASSERT_EQ(refused.code(), Errc::kInvalidOption);
  EXPECT_TRUE(mentions(refused.error(), "offset_bytes=57")) << refused.error().message();
  EXPECT_TRUE(store.expire({.prefix = "x", .offset_bytes = 56}));
}

// Kept or renewed, as the option says: by every verb that changes a value, in one piece and in many.
TEST_P(Merge, AStampIsRenewedByOption) {
  auto store = open();
  constexpr WriteOptions kRenew{.renew = true};
  const auto stamp = [](std::uint64_t at) { return bytes_of_number<std::uint64_t>(at); };
  ASSERT_TRUE(store.expire({.prefix = "t", .ttl = 10}));
  ASSERT_TRUE(store.expire({.prefix = "big",
                            .offset_bytes = 3,
                            .width_bytes = 4,
                            .order = std::endian::big,
                            .ttl = 10}));
  ASSERT_TRUE(store.expire({.prefix = "end"}));  // Its stamp is the end.
  const std::vector<std::string> names{"t append", "t merge", "t update",
                                       "t many",   "t long",  "t kept"};
  for (const std::string& name : names)
    ASSERT_TRUE(store.put(name, stamp(1'000)));
  ASSERT_TRUE(store.put("end", stamp(1'005)));
  ASSERT_TRUE(store.put("big", std::string("abc\0\0\x03\xe8", 7)));
  const std::string grown = grow(store, "t long", 5'000).substr(8);
  ASSERT_TRUE(store.set_clock(1'004));

  ASSERT_TRUE(store.append("t append", "x", kRenew));
  ASSERT_TRUE(store.append("t long", "x", kRenew));
  ASSERT_TRUE(store.append("t kept", "x"));
  ASSERT_TRUE(store.append("big", "x", kRenew));
  ASSERT_TRUE(store.append("end", "x", kRenew));
  ASSERT_TRUE(store.append("t", "short", kRenew));
  ASSERT_TRUE(store.append("none", "x", kRenew));
  ASSERT_TRUE(store.merge("t merge", MergeFunction::kOr, stamp(0), kRenew));
  ASSERT_TRUE(store.update("t update", [](std::string& value) { value += "x"; }, kRenew));
  std::vector<Errc> outcomes(1);
  const std::vector<std::string_view> many{"t many"};
  ASSERT_TRUE(store.update_many(
      many, [](std::size_t, std::string& value) { value += "x"; }, outcomes, kRenew));
  auto space = store.create_space("of its own").value();
  ASSERT_TRUE(store.expire(space, {.prefix = "", .ttl = 10}));
  ASSERT_TRUE(space.put("a", stamp(1'000)));
  ASSERT_TRUE(space.append("a", "x", kRenew));
  ASSERT_TRUE(space.put("b", stamp(1'000)));
  ASSERT_TRUE(space.update("b", [](std::string& value) { value += "x"; }, kRenew));

  Contents expected{{"t append", stamp(1'004) + "x"},
                    {"t merge", stamp(1'004)},
                    {"t update", stamp(1'004) + "x"},
                    {"t many", stamp(1'004) + "x"},
                    {"t long", stamp(1'004) + grown + "x"},
                    {"t kept", stamp(1'000) + "x"},
                    {"big", std::string("abc\0\0\x03\xecx", 8)},
                    {"end", stamp(1'005) + "x"},
                    {"t", "short"},
                    {"none", "x"}};
  expect_contents(store, expected);
  ASSERT_TRUE(store.set_clock(1'013));
  for (const auto& [key, value] : expected) {
    const bool ended = key == "t kept" || key == "end";
    EXPECT_EQ(get(store, key) == value, !ended) << key;
  }
  std::string value;
  ASSERT_TRUE(space.get("a", value));
  EXPECT_EQ(value, stamp(1'004) + "x");
  ASSERT_TRUE(space.get("b", value));
  EXPECT_EQ(value, stamp(1'004) + "x");
  ASSERT_TRUE(store.set_clock(1'014));
  EXPECT_EQ(get(store, "t append"), "<kNotFound>");
}

TEST_P(Merge, CheckpointsHaveThePieces) {
  auto store = open();
  Contents expected;
  const std::string in_checkpoint = expected["a"] = grow(store, "a", 5'000);
  expected["b"] = grow(store, "b", 100);
  Kept kept;
  kept.take(store.checkpoint().value());
  (void)grow(store, "a", 9'000);
  ASSERT_TRUE(store.put("b", "later"));
  ASSERT_TRUE(store.reclaim());
  ASSERT_TRUE(kept.restore_to(spec("restored")));
  auto restored = open(tiny(), "restored");
  expect_contents(restored, expected);
  expected["a"] = grow(restored, "a", 7'000);
  expect_contents(restored, expected);
  auto other = open(tiny(), "other");
  ASSERT_TRUE(other.put("c", "c"));
  const auto read = kept.reader();
  EXPECT_EQ(import_checkpoint(other, kept.private_part, read, {}).value(), 2u);
  expected = {{"a", in_checkpoint}, {"b", expected["b"]}, {"c", "c"}};
  expect_contents(other, expected);
}

// ---- What is too large, or damaged ----

TEST_P(Merge, AKeyTooLongForPiecesIsRewritten) {
  StoreOptions options = tiny();
  options.block_bytes = 256 * KiB;
  options.segment_bytes = options.initial_bytes = 2 * MiB;
  auto store = open(options);
  const std::string key(kMaxKeyBytes - 3, 'k');
  const std::string value = grow(store, key, 3'000);
  EXPECT_EQ(pieces_in(store), 0u);
  expect_contents(store, {{key, value}});
  EXPECT_EQ(store.append(std::string(kMaxKeyBytes + 1, 'k'), "x").code(), Errc::kTooLarge);
}

TEST_P(Merge, AMissingPieceIsNamed) {
  auto store = open();
  (void)grow(store, "list", 4'000);
  Rooms& rooms = ForTests::rooms(store);
  SpaceRooms& pieces = rooms.pieces.space();
  {
    PiecesView view;
    ASSERT_TRUE(PiecesView::read(rooms.records.at(ForTests::line_of(store, "list")), view));
    const std::string name = piece_key("list", view.head.lineage, 1, kDefaultSpace);
    const Bytes key = std::as_bytes(std::span(name));
    Session& own = pieces.sessions.of_this_thread();
    const auto guard = rooms.epochs.enter(own.participant);
    Place place = pieces.index.place(pieces.index.hash(key));
    auto home = pieces.index.latch(place, own);
    const Entry entry = home.find(pieces.index.matches(key));
    ASSERT_TRUE(entry);
    home.remove(entry);
  }
  std::string value;
  const auto damaged = store.get("list", value);
  ASSERT_EQ(damaged.code(), Errc::kCorrupt);
  EXPECT_TRUE(mentions(damaged.error(), "piece 1 of 3")) << damaged.error().message();
  EXPECT_EQ(store.update("list", [](std::string&) {}).code(), Errc::kCorrupt);
  ForTests::seal(store).value();
  rooms.group.finish_sealing().value();
  const VerifyReport report = store.verify();
  ASSERT_FALSE(report.ok());
  ASSERT_TRUE(store.put("list", "anew"));
  EXPECT_EQ(get(store, "list"), "anew");
}

// ---- Beside records that left the index unread ----

class MergeDisplaced : public Displacing {
 protected:
  // Two keys that the index cannot tell apart: the first in pieces, then displaced by the second.
  void SetUp() override {
    open();
    const auto twins = this->twins(1);
    grown_ = twins[0][0], twin_ = twins[0][1];
    for (int i = 0; i < 40; ++i)
      ASSERT_TRUE(store_->put("filler" + std::to_string(i), "f"));
    value_ = grow(*store_, grown_, 4'000);
  }
  std::string grown_, twin_, value_;
};

TEST_F(MergeDisplaced, AppendFindsWhatAPutDisplaced) {
  put(twin_, "twin", PutOutcome::kWritten);
  ASSERT_EQ(waiting(), 1u);
  EXPECT_TRUE(value(grown_) == value_);
  ASSERT_TRUE(store_->append(grown_, "end"));
  EXPECT_TRUE(value(grown_) == value_ + "end");
  EXPECT_EQ(value(twin_), "twin");
}

TEST_F(MergeDisplaced, PiecesOfWhatStandsApartStay) {
  {
    const Snapshot snapshot = store_->snapshot();
    ASSERT_TRUE(store_->append(grown_, "end"));
  }  // The record that it saw died: its pieces are looked at.
  put(twin_, "twin", PutOutcome::kWritten);
  ASSERT_EQ(waiting(), 1u);
  ForTests::rooms(*store_).drain_notes();
  ASSERT_TRUE(ForTests::rooms(*store_).pieces.any_ended());
  store_->core()->maintenance.maintain();
  EXPECT_FALSE(ForTests::rooms(*store_).pieces.any_ended());
  EXPECT_TRUE(value(grown_) == value_ + "end");
}

TEST_F(MergeDisplaced, PiecesOfWhatWasDisplacedGoWhenItIsSettled) {
  put(grown_, "small", PutOutcome::kWritten);
  EXPECT_GT(pieces_in(*store_), 0u);
  ASSERT_TRUE(store_->reclaim());
  EXPECT_EQ(pieces_in(*store_), 0u);
  EXPECT_EQ(value(grown_), "small");
}

}  // namespace
}  // namespace holdfast::kv
