// Backups in a directory: each is whole or not there, whatever ends its process, and leads back to
// the store as it was.
#include <holdfast/kv/backup.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include <holdfast/kv/backup_directory.hpp>
#include <holdfast/kv/space.hpp>
#include <holdfast/kv/typed_store.hpp>
#include <holdfast/memory/system.hpp>

#include "damage.hpp"
#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

using memory_detail::Call;

class Backups : public OnEveryPlace {
 protected:
  std::string directory() const { return scratch_.path("backups"); }
  Store<> restored(std::uint32_t number, const std::string& name) const {
    const auto done = restore_backup(directory(), spec(name), number);
    EXPECT_TRUE(done) << done.error().message();
    return open(with_access(RegionAccess::kOpen), name);
  }
  static Contents put_some(Store<>& store, int from, int count, Contents expected = {}) {
    for (int i = from; i < from + count; ++i) {
      const std::string key = "key" + std::to_string(i);
      EXPECT_TRUE(store.put(key, expected[key] = text_of(static_cast<std::uint64_t>(i), 300)));
    }
    return expected;
  }
  std::uint64_t bytes_in_directory() const {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory()))
      bytes += file.file_size();
    return bytes;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Backups, kEveryPlace, place_name);

// Reclamation leaves a run with a damaged record as it is. What else lives there is not missing from
// a backup unsaid, nor from a mark.
TEST_P(Backups, ARunThatReclamationCouldNotMoveIsNotLeftOut) {
  auto store = open();
  Contents expected = put_some(store, 0, 20);
  ASSERT_TRUE(ForTests::seal(store));
  ASSERT_TRUE(store.sync());
  {
    const std::string file = Image::path(scratch_.path("store"), 0);
    std::ifstream before(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(before), {}};
    const std::size_t at = bytes.find(expected["key3"]);
    ASSERT_NE(at, std::string::npos);
    std::fstream spoilt(file, std::ios::binary | std::ios::in | std::ios::out);
    spoilt.seekp(static_cast<std::streamoff>(at + 100)).put(static_cast<char>(~bytes[at + 100]));
  }
  for (int i = 10; i < 20; ++i)
    ASSERT_TRUE(store.erase("key" + std::to_string(i)).value());
  EXPECT_EQ(store.reclaim().code(), Errc::kCorrupt);
  const auto refused = backup(store, directory());
  EXPECT_EQ(refused.code(), Errc::kCorrupt);

  ASSERT_TRUE(store.mark());
  ASSERT_TRUE(store.erase("key0").value());
  ASSERT_TRUE(store.close());
  StoreOptions options = with_access(RegionAccess::kOpen);
  options.at_mark = true;
  store = open(options);
  for (int i = 0; i < 10; ++i) {
    if (i == 3) continue;
    const std::string key = "key" + std::to_string(i);
    EXPECT_EQ(get(store, key), expected[key]);
  }
}

TEST_P(Backups, EachLeadsBackToItsMoment) {
  auto store = open();
  std::vector<Contents> moments{{}};
  std::uint64_t first_bytes = 0;
  for (int round = 0; round < 4; ++round) {
    moments.push_back(round == 0 ? put_some(store, 0, 1000)
                                 : put_some(store, 950 + round, 10, moments.back()));
    if (round == 2) {
      store.erase("key7").value();
      moments.back().erase("key7");
      ASSERT_TRUE(store.reclaim());
    }
    const BackupReport report = backup(store, directory()).value();
    EXPECT_EQ(report.number, static_cast<std::uint32_t>(round + 1));
    EXPECT_GE(report.bytes, 300'000u);
    if (round == 0) {
      first_bytes = report.copied_bytes;
      EXPECT_EQ(report.copied_bytes, report.bytes);
    } else {
      EXPECT_LT(report.copied_bytes, first_bytes / 10) << "only what is new";
      EXPECT_GT(report.copied_bytes, 0u);
    }
  }
  const auto backups = list_backups(directory()).value();
  ASSERT_EQ(backups.size(), 4u);
  for (std::uint32_t number = 1; number <= 4; ++number) {
    EXPECT_EQ(backups[number - 1].number, number);
    auto copy = restored(number, "copy" + std::to_string(number));
    expect_contents(copy, moments[number]);
  }
  auto newest = restored(0, "newest");
  expect_contents(newest, moments.back());
  const BackupVerification verified = verify_backup(directory()).value();
  EXPECT_TRUE(verified.defects.empty());
  EXPECT_EQ(verified.backups, 4u);
  EXPECT_GT(verified.runs, backups.back().runs) << "those of older ones, too";
}

TEST_P(Backups, OldOnesGoWithWhatOnlyTheyNeed) {
  auto store = open();
  Contents expected;
  std::uint64_t bytes = 0;
  for (int round = 0; round < 6; ++round) {
    expected = put_some(store, 0, 300);  // All of it anew.
    ASSERT_TRUE(store.put("round", expected["round"] = std::to_string(round)));
    ASSERT_TRUE(store.reclaim());
    BackupOptions options;
    options.keep = 2;
    const BackupReport report = backup(store, directory(), options).value();
    EXPECT_EQ(report.removed_backups, round >= 2 ? 1u : 0u);
    if (round == 2) bytes = bytes_in_directory();
  }
  EXPECT_EQ(list_backups(directory()).value().size(), 2u);
  EXPECT_LT(bytes_in_directory(), bytes * 3 / 2) << "what nobody needs was removed";
  EXPECT_TRUE(verify_backup(directory()).value().defects.empty());
  auto copy = restored(0, "copy");
  expect_contents(copy, expected);
  EXPECT_EQ(get(restored(5, "before"), "round"), "4");
  const auto gone = restore_backup(directory(), spec("gone"), 1);
  EXPECT_EQ(gone.code(), Errc::kNotFound);
  EXPECT_TRUE(mentions(gone.error(), "5 to 6"));
}

TEST_P(Backups, CopyingRestsBesideWritersOnly) {
  auto store = open();
  const Contents before = put_some(store, 0, 300);
  int rounds = 0;
  const auto wait = [](std::uint64_t, std::uint64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  };
  const auto write = [&](std::uint64_t, std::uint64_t) {
    (void)put_some(store, 0, 40);
    wait(0, 0);
    ++rounds;
  };
  BackupOptions options;
  options.progress.emplace(wait);
  EXPECT_EQ(backup(store, directory(), options).value().rested_seconds, 0) << "nobody writes";
  (void)put_some(store, 0, 300);
  options.progress.emplace(write);
  EXPECT_GE(backup(store, directory(), options).value().rested_seconds, 0.001);
  EXPECT_GT(rounds, 1);
  (void)put_some(store, 0, 300);
  options.considerate = false;
  EXPECT_EQ(backup(store, directory(), options).value().rested_seconds, 0);
  for (std::uint32_t number = 1; number <= 3; ++number) {
    auto again = restored(number, "again" + std::to_string(number));
    expect_contents(again, before);
  }
}

TEST_P(Backups, ARestoredStoreIsBackedUpBesideIt) {
  {
    auto store = open();
    put_some(store, 0, 500);
    ASSERT_TRUE(backup(store, directory()));
  }
  auto copy = restored(0, "copy");
  const Contents expected = put_some(copy, 500, 10, contents_of(copy));
  const BackupReport report = backup(copy, directory()).value();
  EXPECT_LT(report.copied_bytes, report.bytes / 5) << "its runs came from there";
  auto again = restored(2, "again");
  expect_contents(again, expected);
}

// ---- Ends ----

std::string g_watched;             // The calls that count are those on files below.
int g_calls_left = 0;              // At the last one the process ends.
std::set<std::string> g_unsynced;  // Written and not synced.
bool g_renamed_too_early = false;

std::string path_of(int fd) {
  char path[512] = {};
  const auto link = "/proc/self/fd/" + std::to_string(fd);
  return ::readlink(link.c_str(), path, sizeof path - 1) > 0 ? path : "";
}
bool is_watched(int fd) { return path_of(fd).starts_with(g_watched); }

int end_at_last_call(Call, int fd) {
  if (is_watched(fd) && --g_calls_left == 0) ::_exit(9);
  return 0;
}

TEST_P(Backups, AKillLeavesTheOnesBefore) {
  Contents first, second;
  {
    auto store = open();
    first = put_some(store, 0, 200);
    ASSERT_TRUE(backup(store, directory()));
    second = put_some(store, 200, 50, first);
    ASSERT_TRUE(store.close());
  }
  g_watched = directory();
  std::uint32_t newest = 1;
  bool finished = false;
  int kills = 0;
  for (int calls = 1; !finished; ++calls) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = Store<>::open(spec(), with_access(RegionAccess::kOpen));
      g_calls_left = calls;
      memory_detail::set_fault_hook(&end_at_last_call);
      BackupOptions options;
      options.keep = 2;
      const bool done = store && backup(*store, directory(), options);
      ::_exit(done ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9))
        << status;
    finished = WEXITSTATUS(status) == 0;
    kills += !finished;
    const auto backups = list_backups(directory()).value();
    ASSERT_FALSE(backups.empty());
    EXPECT_GE(backups.back().number, newest);
    newest = backups.back().number;
    EXPECT_TRUE(verify_backup(directory()).value().defects.empty()) << "after " << calls;
    auto copy = restored(0, "copy" + std::to_string(calls));
    expect_contents(copy, newest == 1 ? first : second);
  }
  EXPECT_GE(kills, 5);
  EXPECT_GE(newest, 2u);
  EXPECT_FALSE(std::filesystem::exists(directory() + "/backup.unfinished"));
}

int watch_order(Call call, int fd) {
  if (!is_watched(fd)) return 0;
  if (call == Call::kWrite) g_unsynced.insert(path_of(fd));
  if (call == Call::kDataSync) g_unsynced.erase(path_of(fd));
  if (call == Call::kRename && !g_unsynced.empty()) g_renamed_too_early = true;
  return 0;
}

TEST_P(Backups, TheListComesIntoBeingWhenAllItNamesIsDurable) {
  auto store = open();
  put_some(store, 0, 100);
  g_watched = directory();
  g_unsynced.clear();
  g_renamed_too_early = false;
  memory_detail::set_fault_hook(&watch_order);
  const auto done = backup(store, directory());
  memory_detail::set_fault_hook(nullptr);
  ASSERT_TRUE(done);
  EXPECT_FALSE(g_renamed_too_early);
}

std::string g_parent;
bool g_parent_synced = false, g_list_before_parent = false;
int watch_parent(Call call, int fd) {
  if (call == Call::kDirectorySync && path_of(fd) == g_parent) g_parent_synced = true;
  if (call == Call::kRename && is_watched(fd) && !g_parent_synced) g_list_before_parent = true;
  return 0;
}

// The name of a new directory could go with the power, and all backups in it.
TEST_P(Backups, ANewDirectoryIsDurableBeforeItsFirstBackup) {
  auto store = open();
  put_some(store, 0, 10);
  for (const char* const slash : {"", "/"}) {
    const std::string place = directory() + (*slash != 0 ? "2" : "");
    g_watched = place;
    g_parent = std::filesystem::canonical(std::filesystem::path(place).parent_path());
    g_parent_synced = g_list_before_parent = false;
    memory_detail::set_fault_hook(&watch_parent);
    const auto done = backup(store, place + slash);
    memory_detail::set_fault_hook(nullptr);
    ASSERT_TRUE(done);
    EXPECT_TRUE(g_parent_synced);
    EXPECT_FALSE(g_list_before_parent);
  }
}

int fail_writes(Call call, int fd) { return call == Call::kWrite && is_watched(fd) ? ENOSPC : 0; }

TEST_P(Backups, AFullDiskLeavesTheOnesBefore) {
  auto store = open();
  const Contents expected = put_some(store, 0, 100);
  ASSERT_TRUE(backup(store, directory()));
  put_some(store, 100, 10);
  g_watched = directory();
  memory_detail::set_fault_hook(&fail_writes);
  EXPECT_EQ(backup(store, directory()).code(), Errc::kNoSpace);
  memory_detail::set_fault_hook(nullptr);
  EXPECT_EQ(list_backups(directory()).value().size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(directory() + "/runs-00000002-000")) << "the disk is full";
  expect_contents(*std::make_unique<Store<>>(restored(0, "copy")), expected);
  EXPECT_EQ(backup(store, directory()).value().number, 2u) << "the next one goes on";
  EXPECT_TRUE(store.close()) << "no checkpoint was left";
}

// ---- Damage and mistakes ----

void flip(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(file.get() ^ 16);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

TEST_P(Backups, DamageIsNamedAndNothingIsRemoved) {
  auto store = open();
  put_some(store, 0, 100);
  ASSERT_TRUE(backup(store, directory()));
  const std::string runs = directory() + "/runs-00000001-000",
                    list = directory() + "/backup-00000001";
  flip(runs, 5000);
  const auto verified = verify_backup(directory()).value();
  ASSERT_EQ(verified.defects.size(), 1u);
  EXPECT_NE(verified.defects[0].find(runs), std::string::npos) << verified.defects[0];
  const auto refused = restore_backup(directory(), spec("copy"));
  EXPECT_EQ(refused.code(), Errc::kCorrupt);
  EXPECT_TRUE(mentions(refused.error(), runs));
  flip(runs, 5000);
  flip(list, 100);
  EXPECT_EQ(verify_backup(directory()).value().defects.size(), 1u);
  const auto listed = list_backups(directory()).value();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_NE(listed[0].defect.find(list), std::string::npos) << listed[0].defect;
  const auto again = backup(store, directory());
  EXPECT_EQ(again.code(), Errc::kCorrupt);
  EXPECT_TRUE(mentions(again.error(), list));
  EXPECT_TRUE(std::filesystem::exists(runs)) << "its runs are not taken for left-overs";
  flip(list, 100);
  std::filesystem::resize_file(runs, 6000);
  EXPECT_EQ(restore_backup(directory(), spec("cut")).code(), Errc::kCorrupt);
  // A run that is not there is copied again.
  ASSERT_TRUE(backup(store, directory()));
  expect_contents(*std::make_unique<Store<>>(restored(0, "whole")), contents_of(store));
}

// A backup knows nothing of the machine that it is of: lines, bytes, pages and plain memory alike.
TEST_P(Backups, AreRestoredOnEveryKindOfMedium) {
  auto store = open();
  Contents expected = put_some(store, 0, 400);
  ASSERT_TRUE(store.create_space("users").value().put("ada", "1815"));
  ASSERT_TRUE(store.erase("key7").value());
  expected.erase("key7");
  ASSERT_TRUE(backup(store, directory()));
  for (const Where& other : {kNonePlace, kLinePlace, kBytePlace, kPagePlace}) {
    const std::string there = scratch_.path(other.name) + other.suffix;
    const auto done = restore_backup(directory(), there);
    ASSERT_TRUE(done) << other.name << ": " << done.error().message();
    for (int opening = 0; opening < 2; ++opening) {
      auto copy = Store<>::open(there, with_access(RegionAccess::kOpen)).value();
      EXPECT_TRUE(copy.verify().ok()) << other.name;
      Contents own = expected;
      if (opening == 1) own["written there"] = "x";
      expect_contents(copy, own);
      std::string value;
      ASSERT_TRUE(copy.space("users").value().get("ada", value));
      EXPECT_EQ(value, "1815");
      ASSERT_TRUE(copy.put("written there", "x"));
      ASSERT_TRUE(copy.close());
    }
  }
}

TEST_P(Backups, WhatIsMissingForeignOrOfAnotherTypeIsNamed) {
  auto store = open();
  put_some(store, 0, 100);
  ASSERT_TRUE(backup(store, directory()));
  // Files of others are left alone.
  const std::string foreign = directory() + "/notes.txt";
  std::ofstream(foreign) << "not a backup";
  EXPECT_TRUE(verify_backup(directory()).value().defects.empty());
  ASSERT_TRUE(restore_backup(directory(), spec("copy")));
  EXPECT_TRUE(std::filesystem::exists(foreign));
  const auto typed =
      Store<std::uint64_t, std::uint64_t>::open(spec("copy"), with_access(RegionAccess::kOpen));
  EXPECT_EQ(typed.code(), Errc::kWrongType) << "its keys are bytes";
  const std::string runs = directory() + "/runs-00000001-000";
  std::filesystem::rename(runs, runs + ".away");
  const auto missing = restore_backup(directory(), spec("none"));
  EXPECT_FALSE(missing);
  EXPECT_TRUE(mentions(missing.error(), runs)) << missing.error().message();
  EXPECT_FALSE(Store<>::open(spec("none"), with_access(RegionAccess::kOpen)));
  const BackupVerification verified = verify_backup(directory()).value();
  EXPECT_FALSE(verified.defects.empty());
  for (const std::string& defect : verified.defects)
    EXPECT_NE(defect.find(runs), std::string::npos) << defect;
  std::ofstream(runs) << "not a run";
  const auto other = restore_backup(directory(), spec("none either"));
  EXPECT_EQ(other.code(), Errc::kCorrupt);
  EXPECT_TRUE(mentions(other.error(), runs)) << other.error().message();
}

TEST_P(Backups, MistakesAreExplained) {
  auto store = open(), other = open(tiny(), "other");
  put_some(store, 0, 10);
  EXPECT_EQ(restore_backup(directory(), spec("copy")).code(), Errc::kNotFound);
  EXPECT_EQ(verify_backup(directory()).code(), Errc::kNotFound);
  ASSERT_TRUE(backup(store, directory()));
  EXPECT_EQ(backup(other, directory()).code(), Errc::kWrongType);
  const auto exists = restore_backup(directory(), spec("other"));
  EXPECT_FALSE(exists);
  {
    const auto held = BackupDirectory::open(directory(), true).value();
    EXPECT_EQ(backup(store, directory()).code(), Errc::kBusy);
  }
  StoreOptions small;
  small.max_bytes = 4 * MiB;
  put_some(store, 0, 20'000);
  ASSERT_TRUE(backup(store, directory()));
  const auto full = restore_backup(directory(), spec("small"), 0, small);
  EXPECT_EQ(full.code(), Errc::kNoSpace);
  EXPECT_TRUE(mentions(full.error(), "needs"));
}

TEST_P(Backups, AnyBytesAsAListAreAnError) {
  auto store = open();
  put_some(store, 0, 20);
  ASSERT_TRUE(backup(store, directory()));
  const Manifest manifest = BackupDirectory::open(directory(), false).value().read(1).value();
  const auto bytes = manifest.encode();
  for (std::size_t size = 0; size < bytes.size(); size += 3)
    EXPECT_FALSE(Manifest::decode(std::span(bytes).first(size))) << size;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto damaged = bytes;
    damaged[at] ^= std::byte{1};
    EXPECT_FALSE(Manifest::decode(damaged)) << at;
  }
}

// Its runs went on with the names that those of the other history had: the next backup took the old
// ones for copies of them, and said that all was well.
TEST_P(Backups, OfAStoreThatWasPutBackFromACopyAreRefused) {
  const std::string path = scratch_.path("store"), copy = scratch_.path("copied");
  {
    auto store = open();
    (void)put_some(store, 0, 50);
    ASSERT_TRUE(store.close());
  }
  std::filesystem::copy(path, copy, std::filesystem::copy_options::recursive);
  const auto write_and_back_up = [&](char with, const std::string& into) {
    auto store = open(with_access(RegionAccess::kOpen));
    for (int i = 0; i < 50; ++i)
      EXPECT_TRUE(store.put("key" + std::to_string(i), std::string(300, with)));
    const auto report = backup(store, into);
    EXPECT_TRUE(store.close());
    return report.code();
  };
  EXPECT_EQ(write_and_back_up('a', directory()), Errc::kOk);
  std::filesystem::remove_all(path);
  std::filesystem::copy(copy, path, std::filesystem::copy_options::recursive);
  EXPECT_EQ(write_and_back_up('b', directory()), Errc::kWrongType);
  EXPECT_EQ(write_and_back_up('b', scratch_.path("more")), Errc::kOk);
  const auto back = restored(0, "back");  // What was backed up before is there.
  EXPECT_EQ(get(back, "key7"), std::string(300, 'a'));
}

}  // namespace
}  // namespace holdfast::kv
