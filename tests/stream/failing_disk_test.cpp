// Every call on the directories of checkpoints and parts fails once: the checkpoint before stays
// whole, what is shown stays a prefix, and a new run goes on to the whole.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <holdfast/memory/system.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/malformed.hpp>
#include <holdfast/stream/members.hpp>
#include <holdfast/stream/part_files.hpp>
#include <holdfast/stream/snapshot_store.hpp>

namespace holdfast::stream {
namespace {

int calls_until_fault = 0, fault = 0;  // The hook is a plain function.

int fail_once(memory_detail::Call, int) { return calls_until_fault-- == 0 ? fault : 0; }

class Fault {
 public:
  Fault(int after_calls, int error_number) {
    calls_until_fault = after_calls;
    fault = error_number;
    memory_detail::set_fault_hook(fail_once);
  }
  ~Fault() { memory_detail::set_fault_hook(nullptr); }
  bool hit() const { return calls_until_fault < 0; }
};

constexpr std::uint64_t kEpochs = 4;

std::string rows_of(std::uint64_t epoch) {
  // More than the buffer of a part in the second epoch: several writes.
  return std::string(epoch == 2 ? 150'000 : 10, static_cast<char>('a' + epoch)) + "\n";
}

std::string whole() {
  std::string all;
  for (std::uint64_t epoch = 1; epoch <= kEpochs; ++epoch)
    all += rows_of(epoch);
  return all;
}

// A run as a pipeline makes it: from the last checkpoint to the end, or to the first error.
Status run(const std::string& directory) {
  SnapshotStore state(directory + "/state");
  HF_ASSIGN_OR_RETURN(const auto found, state.open());
  const std::uint64_t from = found ? found->epoch : 0;
  // The metadata of a checkpoint and its entries are of one moment.
  std::string entry;
  const auto look = [&](std::string_view, std::string_view value) {
    entry = value;
    return Status();
  };
  HF_RETURN_IF_ERROR(state.for_each(1, look));
  EXPECT_EQ(entry, found ? std::to_string(from) : "");
  PartFiles parts(directory + "/out");
  HF_RETURN_IF_ERROR(parts.begin(from, found ? found->metadata : ""));
  for (std::uint64_t epoch = from + 1; epoch <= kEpochs; ++epoch) {
    HF_RETURN_IF_ERROR(parts.write(rows_of(epoch)));
    HF_RETURN_IF_ERROR(parts.prepare(epoch));
    HF_RETURN_IF_ERROR(state.put(1, "k", std::to_string(epoch)));
    HF_RETURN_IF_ERROR(state.complete({epoch, parts.run()}));
    HF_RETURN_IF_ERROR(parts.commit(epoch));
  }
  return {};
}

std::string shown(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/out", none))
    if (entry.path().filename().string().starts_with("part-")) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  std::string all;
  for (const auto& name : names)
    all += read_file(name).value();
  return all;
}

class FailingDisk : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Errors, FailingDisk, testing::Values(ENOSPC, EIO));

TEST_P(FailingDisk, EachCallFailsOnce) {
  const std::string expected = whole();
  int failed = 0;
  for (bool hit = true; hit; ++failed) {
    char path[] = "/dev/shm/holdfast_disk_XXXXXX";  // Faults are of the calls, not of a disk.
    const std::string directory = ::mkdtemp(path);
    Status status;
    {
      const Fault one(failed, GetParam());
      status = run(directory);
      hit = one.hit();
    }
    const Errc expected_code = GetParam() == ENOSPC ? Errc::kNoSpace : Errc::kIo;
    EXPECT_EQ(status.code(), hit ? expected_code : Errc::kOk) << "call " << failed;
    EXPECT_TRUE(expected.starts_with(shown(directory))) << "call " << failed;
    run(directory).value();
    EXPECT_EQ(shown(directory), expected) << "call " << failed;
    std::filesystem::remove_all(directory);
  }
  // Of each epoch write, sync, rename, directory; write, sync, rename, directory; rename, directory.
  EXPECT_GT(failed, 10 * static_cast<int>(kEpochs));
}

// The message had the name of the file only.
TEST(PartFiles, AFileThatCannotBeMadeIsNamedWithItsDirectory) {
  char path[] = "/dev/shm/holdfast_disk_XXXXXX";
  const std::string directory = ::mkdtemp(path);
  PartFiles parts(directory);
  parts.begin(0, {}).value();
  parts.write("row\n").value();
  std::filesystem::create_directory(directory + "/.part-" + parts.run() + ".inprogress");
  std::filesystem::create_directory(directory + "/state.new");
  const auto part = parts.prepare(1), state = replace_file(directory + "/state", "");
  EXPECT_NE(part.error().detail.find(directory + "/.part-"), std::string::npos);
  EXPECT_NE(state.error().detail.find(directory + "/state.new"), std::string::npos);
  std::filesystem::remove_all(directory);
}

// A second one took the hidden parts of the first away, whose rows were lost.
TEST(PartFiles, OneRunAtATimeWritesToADirectory) {
  char path[] = "/dev/shm/holdfast_disk_XXXXXX";
  const std::string directory = ::mkdtemp(path);
  {
    PartFiles first(directory), second(directory);
    first.begin(0, {}).value();
    first.write("row\n").value();
    EXPECT_EQ(second.begin(0, {}).code(), Errc::kBusy);
    first.prepare(1).value();
    first.commit(1).value();
  }
  EXPECT_EQ(read_file(directory + "/part-0000000001.csv").value(), "row\n");
  PartFiles(directory).begin(0, {}).value();
  std::filesystem::remove_all(directory);
}

std::size_t hidden_in(const std::string& directory) {
  const std::filesystem::directory_iterator files(directory), end;
  return static_cast<std::size_t>(std::count_if(files, end, [](const auto& entry) {
    return entry.path().filename().string().starts_with(".part-");
  }));
}

// A directory of parts that several queries have, one after the other.
class SharedParts : public testing::Test {
 protected:
  SharedParts() { std::filesystem::create_directories(place_ + "/out"); }
  ~SharedParts() override { std::filesystem::remove_all(place_); }
  std::string shown() const { return holdfast::stream::shown(place_); }

  std::string make_place() {
    char path[] = "/dev/shm/holdfast_parts_XXXXXX";
    return ::mkdtemp(path);
  }
  std::string place_ = make_place(), directory_ = place_ + "/out";
};

// A query that had finished took every number up to its last checkpoint for its own.
TEST_F(SharedParts, AQueryThatHasFinishedShowsNoPartThatAnotherIsWriting) {
  std::string run;
  {
    PartFiles first(directory_);
    first.begin(0, {}).value();
    run = first.run();
    first.write("first\n").value();
    for (std::uint64_t epoch = 1; epoch <= 6; ++epoch) {
      first.prepare(epoch).value();
      first.commit(epoch).value();
    }
  }
  {
    PartFiles second(directory_);
    second.begin(0, {}).value();
    second.write(std::string(1 << 17, 'x')).value();  // And is killed.
  }
  EXPECT_EQ(hidden_in(directory_), 1u);
  PartFiles(directory_).begin(6, run).value();
  EXPECT_EQ(shown(), "first\n");
  EXPECT_EQ(hidden_in(directory_), 0u) << "no checkpoint can cover it";
}

// It removed the part of a checkpoint that was complete.
TEST_F(SharedParts, APartOfACompleteCheckpointIsShownByItsOwnRunOnly) {
  std::string first_run, second_run;
  {
    PartFiles first(directory_);
    first.begin(0, {}).value();
    first_run = first.run();
    first.write("first\n").value();
    first.prepare(1).value();
    first.commit(1).value();
  }
  {
    PartFiles second(directory_);
    second.begin(0, {}).value();
    second_run = second.run();
    second.write("second\n").value();
    second.prepare(1).value();  // And is killed before commit().
  }
  PartFiles(directory_).begin(1, first_run).value();
  PartFiles(directory_).begin(0, {}).value();
  EXPECT_EQ(shown(), "first\n");
  PartFiles(directory_).begin(1, second_run).value();
  EXPECT_EQ(shown(), "first\nsecond\n");
  // One that no complete checkpoint covers goes.
  {
    PartFiles second(directory_);
    second.begin(1, second_run).value();
    second.write("never\n").value();
    second.prepare(2).value();
  }
  PartFiles(directory_).begin(1, second_run).value();
  EXPECT_EQ(shown(), "first\nsecond\n");
  EXPECT_EQ(hidden_in(directory_), 0u);
}

TEST_F(SharedParts, TwoRunsThatGoOnInTurnKeepTheOrderInWhichTheyShowed) {
  std::string runs[2], all;
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    for (auto& run : runs) {
      PartFiles parts(directory_);
      parts.begin(epoch - 1, run).value();
      run = parts.run();
      const auto row = run + std::to_string(epoch) + "\n";
      parts.write(row).value();
      parts.prepare(epoch).value();
      parts.commit(epoch).value();
      all += row;
    }
  }
  EXPECT_EQ(shown(), all);
}

TEST_F(SharedParts, ACheckpointOfAnEarlierBuildShowsItsPart) {
  replace_file(directory_ + "/part-0000000003.csv", "third\n").value();
  replace_file(directory_ + "/.part-0000000004.inprogress", "fourth\n").value();
  replace_file(directory_ + "/.part-0000000005.inprogress", "half of the fi").value();
  PartFiles parts(directory_);
  parts.begin_behind(2, 2).value();  // Its second checkpoint, behind two parts of others.
  EXPECT_EQ(shown(), "third\nfourth\n");
  EXPECT_EQ(hidden_in(directory_), 0u);
  parts.write("fifth\n").value();
  parts.prepare(3).value();
  parts.commit(3).value();
  EXPECT_EQ(read_file(directory_ + "/part-0000000005.csv").value(), "fifth\n");
}

// mkdir() alone: a power failure may take the directory with all that is in it.
TEST_F(SharedParts, NewDirectoriesAreDurable) {
  const auto deep = place_ + "/a/b/c";
  int failed = 0;
  for (bool hit = true; hit; ++failed) {
    std::filesystem::remove_all(place_ + "/a");
    const Fault one(failed, EIO);
    EXPECT_EQ(make_directories(deep).code(), failed < 3 ? Errc::kIo : Errc::kOk);
    hit = one.hit();
  }
  EXPECT_EQ(failed, 4) << "a sync of each directory in which one was made";
  replace_file(place_ + "/file", "").value();
  EXPECT_EQ(make_directories(place_ + "/file/d").code(), Errc::kIo);
  EXPECT_TRUE(make_directories(deep + "/"));
}

TEST_P(FailingDisk, AMemberThatCannotJoinLeavesNothing) {
  char path[] = "/dev/shm/holdfast_disk_XXXXXX";
  const std::string directory = ::mkdtemp(path);
  {
    const Fault rename(0, GetParam());
    EXPECT_EQ(Membership::join(directory).code(),
              GetParam() == ENOSPC ? Errc::kNoSpace : Errc::kIo);
    EXPECT_TRUE(rename.hit());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory + "/members"));
  auto member = Membership::join(directory).value();
  EXPECT_EQ(member.members().value().size(), 1u);
  std::filesystem::remove_all(directory);
}

TEST_P(FailingDisk, AMalformedRecordThatIsNotKeptEndsTheQueryAndTheFileStaysReadable) {
  char path[] = "/dev/shm/holdfast_disk_XXXXXX";
  const std::string directory = ::mkdtemp(path), kept = directory + "/kept";
  replace_file(kept, "first\nhalf of a rec").value();  // As a full disk leaves it.
  sql::Table table;
  table.options.push_back({"malformed-records.path", kept, {}});
  TableOptions options(table);
  auto malformed = Malformed::of(table, options, false, "json.ignore-parse-errors").value();
  {
    const Fault write(0, GetParam());
    EXPECT_EQ(malformed.take("record 1", "wrong", "lost", false).code(),
              GetParam() == ENOSPC ? Errc::kNoSpace : Errc::kIo);
    EXPECT_TRUE(write.hit());
  }
  EXPECT_FALSE(malformed.take("record 2", "wrong", "second", false).value());
  EXPECT_EQ(read_file(kept).value(), "first\nhalf of a rec\nsecond\n");
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace holdfast::stream
