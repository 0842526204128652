// golden_content.hpp: what the golden stores hold. Both the tool that made them and the tests that
// open them for ever go by it. Never change what is here; add another store instead.
#pragma once

#include <cstring>
#include <functional>

#include "support.hpp"

namespace holdfast::kv {

// The smallest geometry: a golden store is a file of 64 KiB, compressed to a few.
inline StoreOptions golden_options() {
  StoreOptions options = tiny();
  options.access = RegionAccess::kOpenOrCreate;
  return options;
}

struct Golden {
  const char* name;
  bool clean;  // Closed in order; else its files were copied while it was open.
  int version;
  const char* medium;  // The suffix of the spec under which it was made.
  StoreOptions options;
  // Writes into the store and says what it then holds.
  std::function<Contents(Store<>&)> fill;
};

// Those of one format version.
inline std::vector<Golden> golden_stores(int version) {
  const auto add = [](Store<>& store, Contents& contents, const std::string& key,
                      const std::string& value) {
    store.put(key, value).value();
    contents[key] = value;
  };
  const auto simple = [add](Store<>& store) {
    Contents contents;
    for (int i = 0; i < 60; ++i)
      add(store, contents, "key" + std::to_string(i), text_of(i, i * 3));
    for (int i = 0; i < 60; i += 4)
      add(store, contents, "key" + std::to_string(i), text_of(i + 100, 20));
    add(store, contents, "", "the empty key");
    add(store, contents, std::string("\0\xff\0", 3), "");
    return contents;
  };
  const auto erased = [add, simple](Store<>& store) {
    Contents contents = simple(store);
    // Enough that the first block is sealed, with dead records in it and tombstones behind them.
    for (int i = 0; i < 60; ++i)
      add(store, contents, "more" + std::to_string(i), text_of(i + 300, 100));
    for (int i = 0; i < 60; i += 3) {
      store.erase("key" + std::to_string(i)).value();
      contents.erase("key" + std::to_string(i));
    }
    store.reclaim().value();  // Puts dead bits.
    for (int i = 0; i < 10; ++i)
      add(store, contents, "last" + std::to_string(i), "x");
    return contents;
  };
  const auto batches = [add](Store<>& store) {
    Contents contents;
    add(store, contents, "replaced", "old");
    add(store, contents, "erased", "old");
    contents.erase("erased");
    WriteBatch batch;
    for (int i = 0; i < 10; ++i) {
      contents["batch" + std::to_string(i)] = text_of(i, 40);
      batch.put("batch" + std::to_string(i), text_of(i, 40));
    }
    batch.erase("erased");
    batch.put("replaced", contents["replaced"] = "new");
    store.write(batch).value();
    WriteBatch large;  // A run of its own.
    for (int i = 0; i < 4; ++i) {
      contents["large" + std::to_string(i)] = text_of(i + 50, 3000);
      large.put("large" + std::to_string(i), text_of(i + 50, 3000));
    }
    store.write(large).value();
    return contents;
  };
  const auto large = [add](Store<>& store) {
    Contents contents;
    add(store, contents, "large", std::string(20'000, 'L') + text_of(1, 100));
    add(store, contents, std::string(9'000, 'K'), "of a key larger than a block");
    add(store, contents, "small", "s");
    return contents;
  };
  const auto words = [add](Store<>& store) {
    Contents contents;
    for (int i = 0; i < 10; ++i)
      add(store, contents, "counter" + std::to_string(i), std::string(40, '\0'));
    for (int i = 0; i < 2; ++i)
      add(store, contents, "seal", std::string(5'000, 's'));
    for (int i = 0; i < 10; ++i) {
      for (const std::uint32_t offset : {0u, 16u}) {
        const std::uint64_t word = 1000u * static_cast<unsigned>(i) + offset;
        store
            .update_word("counter" + std::to_string(i), offset, [&](std::uint64_t) { return word; })
            .value();
        std::memcpy(contents["counter" + std::to_string(i)].data() + offset, &word, sizeof word);
      }
    }
    return contents;
  };
  const auto grown = [add](Store<>& store) {
    Contents contents;
    const auto append = [&](const std::string& key, const std::string& bytes) {
      store.append(key, bytes).value();
      contents[key] += bytes;
    };
    for (int i = 0; i < 16; ++i) {
      append("list", text_of(static_cast<std::uint64_t>(i), 300));
      append("replaced", text_of(static_cast<std::uint64_t>(i) + 100, 200));
      append("short", "+");
    }
    add(store, contents, "replaced", "small");
    return contents;
  };
  // The first word is the end; none has come yet.
  const auto expiring = [add](Store<>& store) {
    Contents contents;
    store.expire({.prefix = "until"}).value();
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::uint64_t end = 200 + i;
      add(store, contents, "until" + std::to_string(i),
          std::string(reinterpret_cast<const char*>(&end), sizeof end) + text_of(i, 50));
      add(store, contents, "always" + std::to_string(i), "a");
    }
    store.set_clock(100).value();
    return contents;
  };
  // All keys that came behind the mark begin with "later".
  const auto marked = [add, erased](Store<>& store) {
    Contents contents = erased(store);
    store.mark().value();
    for (int i = 0; i < 40; ++i)
      add(store, contents, "later" + std::to_string(i), text_of(i, 100));
    return contents;
  };
  // Keys with and without a common beginning, none and long ones among them.
  const auto ordered = [add, simple](Store<>& store) {
    Contents contents = simple(store);
    for (int i = 0; i < 20; ++i)
      add(store, contents, std::string(300, 'p') + std::to_string(i), text_of(i, 10));
    store.erase("key7").value();
    contents.erase("key7");
    return contents;
  };
  StoreOptions in_order = golden_options();
  in_order.order = true;
  StoreOptions with_patches = golden_options();
  with_patches.patchable_words = {0, 16};
  struct State {
    const char* name;
    bool clean;
    const char* medium_of_version2;  // Those of version 1 are all of a line medium.
    StoreOptions options;
    std::function<Contents(Store<>&)> fill;
  };
  constexpr const char *kNone = "", *kLine = "?granularity=line", *kByte = "?granularity=byte",
                       *kPage = "?granularity=page";
  std::vector<State> states{{"simple_closed", true, kLine, golden_options(), simple},
                            {"simple_died", false, kPage, golden_options(), simple},
                            {"erased_closed", true, kPage, golden_options(), erased},
                            {"erased_died", false, kLine, golden_options(), erased},
                            {"batches_closed", true, kByte, golden_options(), batches},
                            {"batches_died", false, kLine, golden_options(), batches},
                            {"large_closed", true, kNone, golden_options(), large},
                            {"large_died", false, kPage, golden_options(), large},
                            {"words_closed", true, kLine, with_patches, words},
                            {"words_died", false, kByte, with_patches, words}};
  if (version != 1) {
    states.push_back({"grown_closed", true, kPage, golden_options(), grown});
    states.push_back({"grown_died", false, kLine, golden_options(), grown});
    states.push_back({"expiring_closed", true, kLine, golden_options(), expiring});
    states.push_back({"expiring_died", false, kPage, golden_options(), expiring});
    states.push_back({"ordered_closed", true, kLine, in_order, ordered});
    states.push_back({"marked_closed", true, kByte, golden_options(), marked});
    states.push_back({"marked_died", false, kLine, golden_options(), marked});
  }
  std::vector<Golden> stores;
  for (const State& state : states)
    stores.push_back({state.name, state.clean, version,
                      version == 1 ? kLine : state.medium_of_version2, state.options, state.fill});
  return stores;
}

// In the directory of golden stores.
inline std::string golden_name(const Golden& golden) {
  return std::string(golden.name) + ".v" + std::to_string(golden.version) + ".hex";
}

// Directories of two backups, each of a store as above: of what fill() put, and of one key more.
inline constexpr const char* kBehindTheFirstBackup = "behind the first backup";
inline std::vector<Golden> golden_backups() {
  std::vector<Golden> backups;
  for (const Golden& golden : golden_stores(2))
    if (golden.clean && golden.name != std::string("marked_closed")) backups.push_back(golden);
  return backups;
}
inline std::string golden_backup_name(const Golden& golden) {
  return std::string(golden.name) + ".backup" + std::to_string(golden.version) + ".hex";
}

// What the store holds, made anew.
inline Contents golden_contents(const Golden& golden) {
  const Scratch fresh = Scratch::tmpfs();
  auto store = Store<>::open(fresh.path("store"), golden.options).value();
  return golden.fill(store);
}

}  // namespace holdfast::kv
