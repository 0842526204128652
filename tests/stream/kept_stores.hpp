// kept_stores.hpp: the state stores that keep entries, for tests which each of them must pass.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/stream_kv/kv_state_store.hpp>
#include <holdfast/stream_rocksdb/rocksdb_state.hpp>

namespace holdfast::stream {

// A directory of the test's own.
class Place {
 public:
  Place() {
    char path[] = "/dev/shm/holdfast_state_XXXXXX";
    path_ = ::mkdtemp(path);
  }
  ~Place() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// "kv", and "rocksdb" where the library is there.
class KeptStores : public testing::TestWithParam<const char*> {
 protected:
  // The stores of all queries; what is open goes with the last of them.
  static StateOfQuery open_all(const std::string& place) {
#ifdef HF_HAS_ROCKSDB
    if (GetParam() == std::string("rocksdb")) return open_rocksdb_state(place).value();
#endif
    return [region = KvStateStore::open_region(place).value()](std::uint32_t query) {
      return Result<std::unique_ptr<StateStore>>(std::make_unique<KvStateStore>(region, query));
    };
  }
  static std::unique_ptr<StateStore> open_one(const std::string& place) {
    return open_all(place)(1).value();
  }
};

inline std::string kept_name(const testing::TestParamInfo<const char*>& info) { return info.param; }

#ifdef HF_HAS_ROCKSDB
inline const auto kKeptStores = testing::Values("kv", "rocksdb");
#else
inline const auto kKeptStores = testing::Values("kv");
#endif

inline std::string contents(StateStore& store) {
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

}  // namespace holdfast::stream
