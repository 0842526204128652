// support.hpp: what the tests of the store share: small geometries, every granularity, a dull
// reader.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/kv/store.hpp>

#include "../memory/scratch.hpp"

namespace holdfast::kv {

using Contents = std::map<std::string, std::string>;

// The smallest geometry there is: everything that happens once per block or segment happens often.
inline StoreOptions tiny() {
  StoreOptions options;
  options.block_bytes = 8 * KiB;
  options.segment_bytes = 64 * KiB;
  options.initial_bytes = 64 * KiB;
  options.file_bytes = 64 * KiB;
  options.max_bytes = 256 * MiB;
  options.background = false;
  options.recovery_threads = 2;
  return options;
}

inline StoreOptions with_access(RegionAccess access, StoreOptions options = tiny()) {
  options.access = access;
  return options;
}

inline StoreOptions with_words(std::vector<std::uint32_t> words, StoreOptions options = tiny()) {
  options.patchable_words = std::move(words);
  return options;
}

// A granularity that tmpfs can stand in for; appended to a path it makes a spec.
struct Where {
  const char* name;
  const char* suffix;
};
inline constexpr Where kNonePlace{"None", ""}, kLinePlace{"Line", "?granularity=line"},
    kBytePlace{"Byte", "?granularity=byte"}, kPagePlace{"Page", "?granularity=page"};
inline const auto kEveryPlace = testing::Values(kNonePlace, kLinePlace, kBytePlace, kPagePlace);
inline std::string place_name(const testing::TestParamInfo<Where>& info) { return info.param.name; }

// A directory on tmpfs for each test, and the specs of stores in it.
class OnEveryPlace : public testing::TestWithParam<Where> {
 protected:
  std::string spec(const std::string& name = "store") const {
    return scratch_.path(name) + GetParam().suffix;
  }
  bool paged() const { return GetParam().name == std::string_view("Page"); }
  bool loses_all_with_the_power() const { return GetParam().name == std::string_view("None"); }
  Store<> open(const StoreOptions& options = tiny(), const std::string& name = "store") const {
    return Store<>::open(spec(name), options).value();
  }
  // What the death of the process would leave: the files as they are, beside the open store.
  void copy_files(const std::string& to, const std::string& from = "store") const {
    std::filesystem::copy(scratch_.path(from), scratch_.path(to),
                          std::filesystem::copy_options::recursive);
  }

  Scratch scratch_ = Scratch::tmpfs();
};

inline std::string get(const Store<>& store, std::string_view key) {
  std::string value;
  const auto got = store.get(key, value);
  return got ? value : "<" + std::string(name(got.code())) + ">";
}

inline Contents contents_of(const Snapshot& snapshot) {
  Contents contents;
  const auto walked = snapshot.for_each([&](std::string_view key, std::string_view value, Version) {
    EXPECT_TRUE(contents.emplace(key, value).second) << "visited twice: " << key.substr(0, 100);
    return true;
  });
  EXPECT_TRUE(walked) << walked.error().message();
  return contents;
}
inline Contents contents_of(Store<>& store) { return contents_of(store.snapshot()); }

// The store holds exactly `expected`, by every way of asking, and its medium is sound.
inline void expect_contents(Store<>& store, const Contents& expected) {
  EXPECT_EQ(store.count(), expected.size());
  std::string value;
  for (const auto& [key, wanted] : expected) {
    const auto got = store.get(key, value);
    ASSERT_TRUE(got) << key.substr(0, 100) << ": " << got.error().message();
    ASSERT_TRUE(value == wanted) << key.substr(0, 100) << " has another value of " << value.size()
                                 << " bytes";
  }
  EXPECT_TRUE(contents_of(store) == expected);
  const VerifyReport report = store.verify();
  EXPECT_TRUE(report.ok()) << report.defects_total
                           << " defects, the first: " << report.defects.front().what;
}

// Bytes that tell where they came from: no two (seed, position) pairs share a run of them.
inline std::string text_of(std::uint64_t seed, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t i = 0; i < bytes; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text[i] = static_cast<char>(state >> 56);
  }
  return text;
}

// Fills blocks until the records written before lie in sealed ones.
inline void seal_blocks(Store<>& store, const StoreOptions& options = tiny()) {
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(store.put("seal", std::string(options.block_bytes * 3 / 4, 's')));
}

inline bool mentions(const Error& error, std::string_view what) {
  return error.detail.find(what) != std::string::npos;
}

}  // namespace holdfast::kv
