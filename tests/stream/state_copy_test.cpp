// Savepoints: a checkpoint of any store as a file, and that file as the beginning of any store.
#include <gtest/gtest.h>

#include <string>

#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/savepoint.hpp>
#include <holdfast/stream/snapshot_store.hpp>

#include "kept_stores.hpp"

namespace holdfast::stream {
namespace {

class StateCopies : public KeptStores {};
INSTANTIATE_TEST_SUITE_P(Kept, StateCopies, kKeptStores, kept_name);

// To a file and back: deltas of several epochs, and those that replace one another.
TEST_P(StateCopies, ACopyHasAllEntries) {
  Place place;
  const auto metadata = [] {
    ByteWriter bytes;
    for (int i = 0; i < 3; ++i)
      bytes.text("");
    for (int i = 0; i < 5; ++i)
      bytes.number(0);
    return bytes.take();
  }();
  {
    const auto store = open_one(place / "first");
    store->open().value();
    for (std::uint64_t epoch = 1; epoch < 4; ++epoch) {
      store->put(60, "k", std::to_string(epoch)).value();
      store->complete({epoch, metadata}).value();
    }
    SnapshotStore saved(place / "file");
    EXPECT_EQ(copy_checkpoint(*open_one(place / "other"), saved).code(), Errc::kNotFound);
    copy_checkpoint(*store, saved).value();
  }
  SnapshotStore saved(place / "file");
  const auto store = open_one(place / "second");
  copy_checkpoint(saved, *store).value();
  EXPECT_EQ(contents(*store), "60:k=1 60:k=2 60:k=3 ");
  EXPECT_EQ(store->open().value()->epoch, 3u);
}

}  // namespace
}  // namespace holdfast::stream
