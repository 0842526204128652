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
  EXPECT_EQ(entry, found ? found->metadata : "");
  PartFiles parts(directory + "/out");
  HF_RETURN_IF_ERROR(parts.begin(from, 0));
  for (std::uint64_t epoch = from + 1; epoch <= kEpochs; ++epoch) {
    HF_RETURN_IF_ERROR(parts.write(rows_of(epoch)));
    HF_RETURN_IF_ERROR(parts.prepare(epoch));
    HF_RETURN_IF_ERROR(state.put(1, "k", std::to_string(epoch)));
    HF_RETURN_IF_ERROR(state.complete({epoch, std::to_string(epoch)}));
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
  // Of each epoch write, sync, directory; write, sync, rename, directory; rename, directory.
  EXPECT_GT(failed, 9 * static_cast<int>(kEpochs));
}

// The message had the name of the file only.
TEST(PartFiles, AFileThatCannotBeMadeIsNamedWithItsDirectory) {
  char path[] = "/dev/shm/holdfast_disk_XXXXXX";
  const std::string directory = ::mkdtemp(path);
  PartFiles parts(directory);
  parts.begin(0, 0).value();
  parts.write("row\n").value();
  std::filesystem::create_directory(directory + "/.part-0000000001.inprogress");
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
    first.begin(0, 0).value();
    first.write("row\n").value();
    EXPECT_EQ(second.begin(0, 0).code(), Errc::kBusy);
    first.prepare(1).value();
    first.commit(1).value();
  }
  EXPECT_EQ(read_file(directory + "/part-0000000001.csv").value(), "row\n");
  PartFiles(directory).begin(0, 0).value();
  std::filesystem::remove_all(directory);
}

// Parts that begin anew behind a savepoint are none that a run from it would take for its own.
TEST(PartFiles, NumbersOfARunFromASavepointAreBehindThoseOfTheSavepoint) {
  char path[] = "/dev/shm/holdfast_disk_XXXXXX";
  const std::string directory = ::mkdtemp(path);
  PartFiles parts(directory);
  parts.begin(7, 2).value();  // Without rows there are no parts.
  parts.begin(0, 0).value();
  EXPECT_EQ(parts.base(), 9u);
  std::filesystem::remove_all(directory);
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
