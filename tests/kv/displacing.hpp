// displacing.hpp: a store of which nothing is in memory, and keys that its index cannot tell apart.
#pragma once

#include <unordered_map>

#include "absent_region.hpp"
#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {

class Displacing : public testing::Test {
 protected:
  void open(const StoreOptions& options = tiny()) {
    RegionOptions region;
    region.unit_bytes = region.size_bytes = options.segment_bytes;
    region.reserve_bytes = options.max_bytes;
    region.access = RegionAccess::kOpenOrCreate;
    store_.emplace(
        Store<>::open(absent(Region::open(path_, region).value(), &absence_), options).value());
  }
  void close_and_open() {
    ASSERT_TRUE(store_->close());
    store_.reset();
    open();
  }
  void die_and_open() {
    ForTests::abandon(*store_);
    store_.reset();
    open();
  }
  Displaced& displaced() { return *ForTests::rooms(*store_).displaced; }
  std::uint64_t waiting() { return store_->stats().displaced_records; }
  // From here on all is in memory, as far as the store can tell.
  void bring_into_memory() { absence_.ended = true; }
  std::string value(std::string_view key) { return get(*store_, key); }
  void put(std::string_view key, std::string_view value, PutOutcome expected) {
    EXPECT_EQ(store_->put(key, value).value(), expected) << key;
  }

  // Keys that agree in all that the index knows of a hash, several sets of two. Of this store only:
  // its hash is its own.
  std::vector<std::vector<std::string>> twins(std::size_t sets) {
    Rooms& rooms = ForTests::rooms(*store_);
    std::unordered_map<std::uint64_t, std::string> seen;
    std::vector<std::vector<std::string>> found;
    for (std::uint64_t i = 0; found.size() < sets; ++i) {
      std::string key = "key" + std::to_string(i);
      const Place place = rooms.index.place(rooms.index.hash(ForTests::bytes(key)));
      const std::uint64_t known =
          std::uint64_t{rooms.index.map().partition(place.hash)} << 25 | place.tag;
      const auto [at, fresh] = seen.emplace(known, key);
      if (!fresh) found.push_back({at->second, std::move(key)});
    }
    return found;
  }

  Scratch scratch_ = Scratch::tmpfs();
  std::string path_ = scratch_.path("store") + "?granularity=page";
  Absence absence_;
  std::optional<Store<>> store_;
};

}  // namespace holdfast::kv
