// State in RocksDB: directories that are something else, are used or are damaged; and what a crash
// leaves.
#include <holdfast/stream_rocksdb/rocksdb_state.hpp>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/memory/system.hpp>
#include <holdfast/stream_rocksdb/state_directory.hpp>

#include "kept_stores.hpp"

namespace holdfast::stream {
namespace {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// All files and their bytes.
std::map<std::string, std::string> files_of(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) files[entry.path().string()] = read(entry.path().string());
  return files;
}

std::unique_ptr<StateStore> open_state(const std::string& place) {
  return open_rocksdb_state(place).value()(1).value();
}

// Of each epoch one entry, and one that takes its predecessor's place.
void run_epochs(const std::string& place, std::uint64_t first, std::uint64_t last,
                const std::string& state = "s") {
  const auto store = open_state(place);
  const auto found = store->open().value();
  ASSERT_EQ(found ? found->epoch : 0, first - 1);
  std::uint64_t version = first - 1;
  for (auto epoch = first; epoch <= last; ++epoch) {
    store->put(1, "k" + std::to_string(epoch), state).value();
    store->replace(2, "last", std::to_string(epoch), version).value();
    store->complete({epoch, "m" + std::to_string(epoch)}).value();
  }
}

// Empty: it holds what `epoch` completed, no more and no less. Errors: those of the store.
Result<std::string> wrong_in(const std::string& place, std::uint64_t& epoch) {
  HF_ASSIGN_OR_RETURN(const auto open, open_rocksdb_state(place));
  HF_ASSIGN_OR_RETURN(const auto store, open(1));
  HF_ASSIGN_OR_RETURN(const auto found, store->open());
  epoch = found ? found->epoch : 0;
  std::vector<std::string> keys, wanted;
  std::string last;
  HF_RETURN_IF_ERROR(store->for_each(
      1, [&](std::string_view key, std::string_view) { return keys.emplace_back(key), Status(); }));
  HF_RETURN_IF_ERROR(store->for_each(
      2, [&](std::string_view, std::string_view state) { return last += state, Status(); }));
  for (std::uint64_t i = 1; i <= epoch; ++i)
    wanted.push_back("k" + std::to_string(i));
  std::sort(wanted.begin(), wanted.end());
  std::sort(keys.begin(), keys.end());
  if (keys != wanted) return std::to_string(keys.size()) + " entries";
  if (last != (epoch == 0 ? "" : std::to_string(epoch))) return "the replaced entry is " + last;
  if (found && found->metadata != "m" + std::to_string(epoch)) return "metadata " + found->metadata;
  return std::string();
}

void expect_whole(const std::string& place, std::uint64_t epochs) {
  std::uint64_t epoch = 0;
  EXPECT_EQ(wrong_in(place, epoch).value(), "");
  EXPECT_EQ(epoch, epochs);
}

TEST(RocksdbState, APlaceNamesADirectoryAndTwoSizes) {
  const auto place = RocksdbPlace::parse("/a?b/?cache=512M&buffer=1MiB").value();
  EXPECT_EQ(place.path, "/a?b");
  EXPECT_EQ(place.cache_bytes, std::uint64_t{512} << 20);
  EXPECT_EQ(place.buffer_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(RocksdbPlace::parse("state").value().cache_bytes, std::uint64_t{256} << 20);
  for (const auto* wrong : {"", "?cache=1M", "/a?cash=1M", "/a?cache", "/a?cache=x", "/a?cache=1k",
                            "/a?buffer=5G", "/a?buffer=1M&"})
    EXPECT_EQ(RocksdbPlace::parse(wrong).code(), Errc::kInvalidOption) << wrong;
}

TEST(RocksdbState, WhatIsSomethingElseIsRefusedAndStaysAsItIs) {
  Place place;
  write(place / "file", "text");
  fs::create_directory(place / "other");
  write(place / "other/mine.txt", "text");
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, place / "foreign", &db).ok());
  ASSERT_TRUE(db->Put({}, "key", "value").ok());
  delete db;
  const auto before = files_of(place / "");
  for (const auto* name : {"file", "other", "foreign"}) {
    const auto opened = open_rocksdb_state(place / name);
    EXPECT_EQ(opened.code(), Errc::kNotHoldfast) << name;
    EXPECT_NE(opened.error().detail.find(place / name), std::string::npos);
  }
  EXPECT_EQ(files_of(place / ""), before);
}

TEST(RocksdbState, OneProcessHasIt) {
  Place place;
  run_epochs(place / "state", 1, 1);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const auto child = ::fork();
  if (child == 0) {
    const auto store = open_state(place / "state");
    (void)!::write(ready[1], "x", 1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto refused = open_rocksdb_state(place / "state");
  EXPECT_EQ(refused.code(), Errc::kBusy);
  EXPECT_NE(refused.error().detail.find("process " + std::to_string(child)), std::string::npos)
      << refused.error().detail;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]), ::close(ready[1]);
  expect_whole(place / "state", 1);
  const auto open = open_rocksdb_state(place / "state").value();
  EXPECT_EQ(open_rocksdb_state(place / "state").code(), Errc::kBusy) << "nor twice in one";
}

// As a process that was killed while it made the database leaves it.
TEST(RocksdbState, ADatabaseThatWasHalfMadeIsMadeAgain) {
  Place place;
  const auto state = place / "state";
  for (const auto& head : {std::string(), std::string(StateDirectory::kHeadBytes, '\0')}) {
    fs::remove_all(state);
    fs::create_directory(state);
    write(state + "/HOLDFAST", head);
    write(state + "/MANIFEST-000001", "half");
    write(state + "/000001.dbtmp", "MANI");
    write(state + "/IDENTITY", "");
    run_epochs(state, 1, 2);
    expect_whole(state, 2);
    // It was made, and the process ended before it said so.
    auto bytes = read(state + "/HOLDFAST");
    write(state + "/HOLDFAST", std::string(StateDirectory::kHeadBytes, '\0'));
    expect_whole(state, 2);
    EXPECT_TRUE(read(state + "/HOLDFAST").starts_with("holdfast stream state 1\n"));
  }
}

TEST(RocksdbState, AMissingFileIsNamedAndNothingIsMadeAnew) {
  Place place;
  const auto state = place / "state";
  run_epochs(state, 1, 3);
  const auto current = read(state + "/CURRENT");
  fs::remove(state + "/CURRENT");
  for (const bool head : {true, false}) {
    if (!head) write(state + "/HOLDFAST", "");
    const auto before = files_of(state);
    const auto opened = open_rocksdb_state(state);
    EXPECT_EQ(opened.code(), Errc::kCorrupt);
    EXPECT_NE(opened.error().detail.find("CURRENT"), std::string::npos);
    EXPECT_EQ(files_of(state), before);
  }
  write(state + "/CURRENT", current);
  expect_whole(state, 3);
  write(state + "/HOLDFAST", "holdfast stream state 2\n" + std::string(8, '\0'));
  EXPECT_EQ(open_rocksdb_state(state).code(), Errc::kNewerFormat);
}

// Tables, logs and all other files: each with bytes changed, cut short, or gone.
TEST(RocksdbState, DamageIsAnErrorOrChangesNothing) {
  Place place;
  constexpr std::uint64_t kEpochs = 40;
  // Several tables, and a log.
  std::string states;
  Random random(1);
  while (states.size() < 100'000)
    states += static_cast<char>(random.below(256));
  run_epochs((place / "good") + "?buffer=1M", 1, kEpochs / 2, states);
  run_epochs((place / "good") + "?buffer=1M", kEpochs / 2 + 1, kEpochs, states);
  const auto good = files_of(place / "good");
  std::size_t tables = 0, errors = 0, fine = 0;
  for (const auto& [path, bytes] : good) {
    tables += path.ends_with(".sst") ? 1 : 0;
    std::vector<std::string> damaged{"", bytes.substr(0, bytes.size() / 2)};
    constexpr std::size_t kPlaces = 16;
    for (std::size_t i = 0; i < kPlaces && !bytes.empty(); ++i) {
      damaged.push_back(bytes);
      auto& byte = damaged.back()[i * (bytes.size() - 1) / (kPlaces - 1)];
      byte = static_cast<char>(byte ^ 0x40);
    }
    damaged.emplace_back();  // Gone.
    for (std::size_t i = 0; i < damaged.size(); ++i) {
      fs::remove_all(place / "bad");
      fs::copy(place / "good", place / "bad", fs::copy_options::recursive);
      const auto name = (place / "bad/") + fs::path(path).filename().string();
      if (i + 1 == damaged.size())
        fs::remove(name);
      else
        write(name, damaged[i]);
      std::uint64_t epoch = 0;
      const auto wrong = wrong_in(place / "bad", epoch);
      (wrong ? fine : errors) += 1;
      if (!wrong) continue;
      EXPECT_EQ(*wrong, "") << name << ", damage " << i;
      EXPECT_EQ(epoch, kEpochs) << name << ", damage " << i;
    }
  }
  EXPECT_GT(tables, 1u);
  EXPECT_GT(errors, 50u);
  EXPECT_GT(fine, 50u) << "of files that are not needed";
}

std::string log_of(const std::string& state) {
  for (const auto& [path, bytes] : files_of(state))
    if (path.ends_with(".log") && !bytes.empty()) return path;
  return {};
}

TEST(RocksdbState, ADamagedLogIsNamedAndItsBytesAreKept) {
  Place place;
  const auto state = place / "state";
  run_epochs(state, 1, 9);
  const auto log = log_of(state);
  auto bytes = read(log);
  auto& byte = bytes[bytes.size() / 2];
  byte = static_cast<char>(byte ^ 1);
  write(log, bytes);
  const auto kept = state + "/kept-logs/" + fs::path(log).filename().string();
  for (int time = 0; time < 2; ++time) {
    const auto opened = open_rocksdb_state(state);
    EXPECT_EQ(opened.code(), Errc::kCorrupt);
    EXPECT_NE(opened.error().detail.find("checkpoint 9 of query 1 was completed"),
              std::string::npos)
        << opened.error().detail;
    EXPECT_EQ(read(kept), bytes);
  }
}

// A log that ends anywhere within the last checkpoint, which nobody was told of.
TEST(RocksdbState, ACheckpointIsThereWhollyOrNotAtAll) {
  Place place;
  const auto state = place / "state";
  run_epochs(state, 1, 3);
  const auto floors = read(state + "/HOLDFAST");
  const auto store = open_state(state);
  store->open().value();
  const auto log = log_of(state);
  const auto before = log.empty() ? 0 : fs::file_size(log);
  std::uint64_t version = 3;
  store->put(1, "k4", "s").value();
  store->replace(2, "last", "4", version).value();
  store->complete({4, "m4"}).value();
  const auto path = log_of(state);
  ASSERT_TRUE(log.empty() || log == path);
  const auto bytes = read(path);
  ASSERT_GT(bytes.size(), before + 50);
  fs::copy(state, place / "copy", fs::copy_options::recursive);
  std::map<std::uint64_t, int> found;
  for (auto size = before; size <= bytes.size(); ++size) {
    fs::remove_all(place / "torn");
    fs::copy(place / "copy", place / "torn", fs::copy_options::recursive);
    write((place / "torn/") + fs::path(path).filename().string(), bytes.substr(0, size));
    write(place / "torn/HOLDFAST", floors);
    std::uint64_t epoch = 0;
    ASSERT_EQ(wrong_in(place / "torn", epoch).value(), "") << size;
    ++found[epoch];
  }
  EXPECT_GT(found[3], 50);
  EXPECT_EQ(found[4], 1) << "the whole log";
  EXPECT_EQ(found.size(), 2u);
}

int fail_writes(memory_detail::Call call, int) {
  return call == memory_detail::Call::kWrite || call == memory_detail::Call::kDataSync ? ENOSPC : 0;
}

TEST(RocksdbState, ANoteThatCannotBeWrittenIsAnErrorAndLosesNothing) {
  Place place;
  const auto state = place / "state";
  memory_detail::set_fault_hook(fail_writes);
  EXPECT_EQ(open_rocksdb_state(state).code(), Errc::kNoSpace) << "it is not said to be made";
  memory_detail::set_fault_hook(nullptr);
  run_epochs(state, 1, 2);
  {
    const auto store = open_state(state);
    store->open().value();
    std::uint64_t version = 2;
    store->put(1, "k3", "s").value();
    store->replace(2, "last", "3", version).value();
    memory_detail::set_fault_hook(fail_writes);
    EXPECT_EQ(store->complete({3, "m3"}).code(), Errc::kNoSpace);
    memory_detail::set_fault_hook(nullptr);
  }
  expect_whole(state, 3);
  run_epochs(state, 4, 4);
  expect_whole(state, 4);
}

// RocksDB's own files cannot grow: an error, and the last checkpoint is whole.
TEST(RocksdbState, AFileThatCannotGrowEndsTheRunAndLosesNothing) {
  Place place;
  const auto state = place / "state";
  run_epochs(state, 1, 3);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    const auto store = open_state(state);
    store->open().value();
    const rlimit small{1 << 20, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    Status status;
    const std::string megabyte(1 << 20, 'b');
    for (int i = 0; i < 40 && status; ++i)
      status = store->put(1, "k" + std::to_string(100 + i), megabyte);
    if (status) status = store->complete({4, "m4"});
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(status.code(), Errc::kIo);
    EXPECT_NE(status.error().detail.find(state), std::string::npos) << status.error().detail;
  }
  std::signal(SIGXFSZ, handler);
  expect_whole(state, 3);
}

}  // namespace
}  // namespace holdfast::stream
