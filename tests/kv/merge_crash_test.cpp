// append() and merge() under the crash checker: what was acknowledged is there, each append whole or
// not at all; and their fences.
#include <thread>

#include <holdfast/kv/pieces.hpp>

#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvMergeCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvMergeCrash);

constexpr std::size_t kPiece = Pieces::kPieceBytes;

TEST_P(KvMergeCrash, AppendAndAdd) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.put("b", "begun");
    store.add("n", 1);
  };
  crash.during = [](Tested& store) {
    store.append("a", "new");
    store.append("b", value_of('x', 200));
    store.add("n", 2);
    store.add("m", 3);
    store.append("a", "er");
    store.erase("b");
    store.append("b", "again");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// From one record into the first piece of the store, and on to the second piece.
TEST_P(KvMergeCrash, IntoPieces) {
  Crash crash;
  crash.before = [](Tested& store) { store.put("a", value_of('a', kPiece - 100)); };
  crash.during = [](Tested& store) {
    store.append("a", value_of('b', 200));  // The flag of the store, a piece, the record.
    store.append("a", value_of('c', 300));
    store.append("a", value_of('d', kPiece));  // A piece, the record.
    store.put("c", "c");
    store.append("a", "e");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A value in pieces is superseded and erased; its runs are freed and written anew.
TEST_P(KvMergeCrash, PiecesAreCollected) {
  Crash crash;
  crash.before = [](Tested& store) {
    for (const char* key : {"a", "b", "c"}) {
      store.append(key, value_of('a', kPiece / 2));
      store.append(key, value_of('b', kPiece));
      store.append(key, value_of('c', kPiece + 10));
    }
    store.seal();
  };
  crash.during = [](Tested& store) {
    store.put("a", "small");
    store.erase("b");
    store.reclaim();
    store.append("c", value_of('d', kPiece));
    store.reclaim();
    store.put("d", value_of('d', 3'000));
    store.append("a", value_of('e', kPiece));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvMergeCrash, ReclamationMovesPieces) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.append("a", value_of('a', kPiece / 2));
    store.append("a", value_of('b', kPiece));
    for (char key = 'k'; key < 'o'; ++key)
      store.put(std::string(1, key), value_of(key, 900));
    store.append("a", value_of('c', kPiece + 10));
    store.seal();
    std::thread([&] { store.other([] {}); }).join();
  };
  crash.during = [](Tested& store) {
    for (char key = 'k'; key < 'o'; ++key)
      store.put(std::string(1, key), "small");
    store.pass();
    store.append("a", "end");
    store.reclaim();
    store.append("a", value_of('d', kPiece));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvMergeCrash, ClosedAndOpened) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.append("a", value_of('a', kPiece / 2));
    store.append("a", value_of('b', kPiece));
  };
  crash.during = [](Tested& store) {
    store.append("a", value_of('c', kPiece));
    store.put("b", "b");
    store.close();
    store.reopen();
    store.append("a", value_of('d', kPiece));
    store.put("a", "small");
    store.close();
    store.reopen();
    store.append("a", value_of('e', kPiece));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvMergeCrash, InAKeyspace) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("s");
    store.append_in("s", "a", value_of('a', kPiece / 2));
  };
  crash.during = [](Tested& store) {
    store.append_in("s", "a", value_of('b', kPiece));
    store.append_in("s", "a", "c");
    store.append("a", value_of('d', kPiece + 1));
    store.append("a", "e");
    store.drop_space("s");
    store.reclaim();
    store.append("a", value_of('f', kPiece));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// ---- Fences ----

class KvMergeFences : public OnEveryMedium {};
HOLDFAST_ON_MEDIA_THAT_WAIT(KvMergeFences);

TEST_P(KvMergeFences, OnePerAppendTwoWhereAPieceIsFull) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.append("first", value_of('a', kPiece));
    store.append("first", "b");
    store.append("first", value_of('c', kPiece));
  };
  crash.during = [](Tested& store) {
    store.append("new", "a");
    store.append("new", "b");
    store.add("n", 1);
    store.add("n", 2);
    store.append("new", value_of('c', kPiece));
    store.append("new", "d");
    store.append("new", value_of('e', kPiece));
  };
  const Report report = crash.run(GetParam());
  ASSERT_TRUE(holds(report));
  // On pages a piece and the record that leads to it become durable by one sync.
  const unsigned full = GetParam().granularity == Granularity::kPage ? 1 : 2;
  const unsigned expected[] = {1, 1, 1, 1, full, 1, full};
  for (std::uint64_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(report.operation(Crash::kFirst + i).barriers(), expected[i]) << i;
    EXPECT_EQ(report.operation(Crash::kFirst + i).redundant_fences, 0u) << i;
  }
}

TEST_P(KvMergeFences, TheFirstPieceOfAStoreRaisesItsFlag) {
  Crash crash;
  crash.before = [](Tested& store) { store.put("a", value_of('a', kPiece)); };
  crash.during = [](Tested& store) { store.append("a", "b"); };
  const Report report = crash.run(GetParam());
  ASSERT_TRUE(holds(report));
  // The flag and its copy, the piece, the record. On pages the last two share a sync.
  EXPECT_EQ(report.operation(Crash::kFirst).barriers(),
            GetParam().granularity == Granularity::kPage ? 3u : 4u);
}

}  // namespace
}  // namespace holdfast::kv
