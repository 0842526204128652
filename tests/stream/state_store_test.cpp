// Both state stores: what is put counts from its completed checkpoint on, and never twice.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/snapshot_store.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

namespace holdfast::stream {
namespace {

class Place {
 public:
  Place() {
    char path[] = "/tmp/holdfast_state_XXXXXX";
    path_ = ::mkdtemp(path);
  }
  ~Place() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string contents(StateStore& store) {
  std::string all;
  const auto slices = store.slices().value();
  for (const auto slice : slices) {
    store
        .for_each(slice,
                  [&](std::string_view key, std::string_view state) {
                    all += std::to_string(slice) + ":" + std::string(key) + "=" +
                           std::string(state) + " ";
                    return Status();
                  })
        .value();
  }
  return all;
}

TEST(KvStateStore, EntriesOfAnEpochThatWasNotCompletedAreGone) {
  Place place;
  {
    auto region = KvStateStore::open_region(place / "kv").value();
    KvStateStore store(region, 1), other(region, 2);
    EXPECT_FALSE(store.open().value());
    store.put(-60, "k", "1").value();
    store.put(60, "k", "2").value();
    store.complete({1, "first"}).value();
    store.put(60, "k", "3").value();
    store.put(120, "z", "4").value();
    EXPECT_FALSE(other.open().value()) << "a query sees its own state only";
    EXPECT_EQ(contents(other), "");
  }
  KvStateStore store(KvStateStore::open_region(place / "kv").value(), 1);
  const auto found = store.open().value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->epoch, 1u);
  EXPECT_EQ(found->metadata, "first");
  EXPECT_EQ(contents(store), "-60:k=1 60:k=2 ");
  store.put(60, "k", "5").value();
  store.complete({2, ""}).value();
  EXPECT_EQ(contents(store), "-60:k=1 60:k=2 60:k=5 ") << "deltas of two epochs";
}

TEST(KvStateStore, ADroppedSliceStaysUntilTheNextCheckpoint) {
  Place place;
  {
    KvStateStore store(KvStateStore::open_region(place / "kv").value(), 1);
    store.open().value();
    store.put(60, "k", "1").value();
    store.complete({1, ""}).value();
    store.drop(60);
  }
  KvStateStore store(KvStateStore::open_region(place / "kv").value(), 1);
  store.open().value();
  EXPECT_EQ(contents(store), "60:k=1 ");
  store.drop(60);
  store.complete({2, ""}).value();
  EXPECT_EQ(contents(store), "");
}

TEST(SnapshotStore, TheFileIsTheLastCompletedCheckpoint) {
  Place place;
  {
    SnapshotStore store(place / "file");
    EXPECT_FALSE(store.open().value());
    store.put(60, "k", "1").value();
    store.complete({1, "first"}).value();
    store.put(60, "k", "2").value();
  }
  SnapshotStore store(place / "file");
  EXPECT_EQ(store.open().value()->metadata, "first");
  EXPECT_EQ(contents(store), "60:k=1 ");
}

TEST(SnapshotStore, EachDamagedByteIsFound) {
  Place place;
  SnapshotStore writer(place / "file");
  writer.put(60, "key", "state").value();
  writer.complete({1, "meta"}).value();
  const auto good = read_file(place / "file").value();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    replace_file(place / "file", bad).value();
    EXPECT_EQ(SnapshotStore(place / "file").open().code(), Errc::kCorrupt) << i;
    replace_file(place / "file", good.substr(0, i)).value();
    EXPECT_EQ(SnapshotStore(place / "file").open().code(), Errc::kCorrupt) << i;
  }
}

}  // namespace
}  // namespace holdfast::stream
