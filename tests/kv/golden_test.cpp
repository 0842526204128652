// Stores written by each format version when it was released, checked in as text, open with the
// same content.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/kv/backup.hpp>
#include <holdfast/kv/cursor.hpp>

#include "for_tests.hpp"
#include "golden_content.hpp"
#include "golden_file.hpp"

namespace holdfast::kv {
namespace {

class GoldenStores : public testing::TestWithParam<Golden> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        unpack_golden(std::string(HOLDFAST_GOLDEN_DIRECTORY) + "/" + golden_name(GetParam()),
                      scratch_.path("golden")));
    expected_ = golden_contents(GetParam());
  }
  std::uint32_t version() const {
    return Image::of(scratch_.path("golden")).read<std::uint32_t>(kVersionWordAt);
  }
  Scratch scratch_ = Scratch::tmpfs();
  Contents expected_;
};
std::string golden_test_name(const testing::TestParamInfo<Golden>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Version1, GoldenStores, testing::ValuesIn(golden_stores(1)),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Version2, GoldenStores, testing::ValuesIn(golden_stores(2)),
                         golden_test_name);

TEST_P(GoldenStores, AreOfTheVersionThatTheirNameSays) {
  EXPECT_EQ(version(), static_cast<std::uint32_t>(GetParam().version));
}

TEST_P(GoldenStores, OpenReadOnlyWithTheSameContent) {
  auto store =
      Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpenReadOnly)).value();
  EXPECT_EQ(store.recovery().clean, GetParam().clean);
  expect_contents(store, expected_);
}

TEST_P(GoldenStores, OpenAndGoOn) {
  for (const char* granularity : {"", "?granularity=line", "?granularity=page"}) {
    auto store =
        Store<>::open(scratch_.path("golden") + granularity, with_access(RegionAccess::kOpen))
            .value();
    expect_contents(store, expected_);
    ASSERT_TRUE(store.put("added", granularity));
    expected_["added"] = granularity;
    ASSERT_TRUE(store.reclaim());
    expect_contents(store, expected_);
    ASSERT_TRUE(store.close());
  }
}

// A process that is killed leaves what it acknowledged beside what the older build left.
TEST_P(GoldenStores, HoldWhatAKilledProcessPutIntoThem) {
  for (const char* granularity : {"", "?granularity=line", "?granularity=page"}) {
    const std::string life = granularity;
    const std::string first = expected_.begin()->first, last = expected_.rbegin()->first;
    const pid_t pid = ::fork();
    if (pid == 0) {
      auto store = Store<>::open(scratch_.path("golden") + life, with_access(RegionAccess::kOpen));
      WriteBatch batch;
      batch.put("batch one", life);
      batch.put("batch two", life);
      bool done = store && store->erase(first) && store->put(last, life) && store->write(batch);
      for (std::uint64_t i = 0; done && i < 200; ++i)
        done = store->put("added " + std::to_string(i), text_of(i, 500)).has_value();
      done = done && store->append("grown", std::string(3000, 'g'));
      if (done) ::kill(::getpid(), SIGKILL);
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status));
    expected_.erase(first);  // As in the child: before the others.
    expected_[last] = expected_["batch one"] = expected_["batch two"] = life;
    for (std::uint64_t i = 0; i < 200; ++i)
      expected_["added " + std::to_string(i)] = text_of(i, 500);
    expected_["grown"] += std::string(3000, 'g');
    auto store = Store<>::open(scratch_.path("golden") + life, with_access(RegionAccess::kOpen));
    ASSERT_TRUE(store) << store.error().message();
    EXPECT_FALSE(store->recovery().clean);
    expect_contents(*store, expected_);
    ASSERT_TRUE(store->reclaim());
    expect_contents(*store, expected_);
  }
}

// An image of the order is read where there is one; without it the keys are.
TEST_P(GoldenStores, GiveTheirKeysInOrder) {
  for (const RegionAccess access : {RegionAccess::kOpenReadOnly, RegionAccess::kOpen}) {
    StoreOptions options = with_access(access);
    options.order = true;
    auto store = Store<>::open(scratch_.path("golden"), options).value();
    auto cursor = store.cursor().value();
    cursor.first();
    for (const auto& [key, value] : expected_) {
      ASSERT_TRUE(cursor);
      EXPECT_EQ(cursor.key(), key);
      EXPECT_EQ(cursor.value(), value);
      cursor.next();
    }
    EXPECT_FALSE(cursor);
    EXPECT_EQ(ForTests::rooms(store).index.order()->was_stored(),
              std::string_view(GetParam().name) == "ordered_closed");
  }
}

// Rules and clock are there, and count.
TEST_P(GoldenStores, ExpireWhatTheirRulesSay) {
  auto store = Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpen)).value();
  const bool has_rules = std::string_view(GetParam().name).starts_with("expiring");
  EXPECT_EQ(store.expiry_rules().size(), has_rules ? 1u : 0u);
  EXPECT_EQ(store.clock(), has_rules ? 100u : 0u);
  ASSERT_TRUE(store.set_clock(210));
  std::string value;
  for (const auto& [key, wanted] : expected_) {
    const bool ends = has_rules && key.starts_with("until") &&
                      std::stoi(key.substr(std::string_view("until").size())) <= 10;
    EXPECT_EQ(store.get(key, value).has_value(), !ends) << key.substr(0, 20);
  }
}

TEST_P(GoldenStores, OpenAtTheMarkThatTheyHave) {
  StoreOptions options = with_access(RegionAccess::kOpenReadOnly);
  options.at_mark = true;
  auto look = Store<>::open(scratch_.path("golden"), options);
  if (!std::string_view(GetParam().name).starts_with("marked")) {
    EXPECT_EQ(look.code(), Errc::kNotFound);
    return;
  }
  std::erase_if(expected_, [](const auto& record) { return record.first.starts_with("later"); });
  expect_contents(*look, expected_);
  ASSERT_TRUE(look->close());
  options.access = RegionAccess::kOpen;
  auto store = Store<>::open(scratch_.path("golden"), options).value();
  expect_contents(store, expected_);
}

class GoldenUpgrades : public GoldenStores {};
INSTANTIATE_TEST_SUITE_P(Version1, GoldenUpgrades, testing::ValuesIn(golden_stores(1)),
                         golden_test_name);

// The first writing open of a store of version 1 makes it one of version 2 by one word, when the new
// superblock is durable. Whatever a crash leaves of that superblock before, it is one of version 1.
TEST_P(GoldenUpgrades, CutShortLeaveVersion1) {
  const Image old = Image::of(scratch_.path("golden"));
  {
    auto store = Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpen)).value();
    expect_contents(store, expected_);
    ASSERT_TRUE(store.close());
  }
  const Image upgraded = Image::of(scratch_.path("golden"));
  ASSERT_EQ(version(), 2u);
  const auto superblock = upgraded.read<Superblock>(kSuperblockAt);
  EXPECT_EQ(superblock.incompatible_features, kRunsOfVersion1);
  EXPECT_EQ(superblock.hash_kind, HashKind::kXxh3) << "its summaries were hashed so";
  // Each prefix of the superblock by words, in either order of arrival; the word comes last.
  for (const bool forwards : {true, false}) {
    for (std::uint64_t words = 0; words <= sizeof(Superblock) / 8; words += 5) {
      Image cut = old;
      for (std::uint64_t i = 0; i < words; ++i) {
        const std::uint64_t at =
            kSuperblockAt + 8 * (forwards ? i : sizeof(Superblock) / 8 - 1 - i);
        cut.write(at, upgraded.read<std::uint64_t>(at));
      }
      cut.write_to(scratch_.path("cut"));
      auto store = Store<>::open(scratch_.path("cut"), with_access(RegionAccess::kOpen)).value();
      expect_contents(store, expected_);
    }
  }
}

TEST_P(GoldenStores, OpenedReadOnlyStayWhatTheyAre) {
  const Image old = Image::of(scratch_.path("golden"));
  {
    auto store =
        Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpenReadOnly)).value();
    EXPECT_TRUE(store.verify().ok());
  }
  EXPECT_TRUE(Image::of(scratch_.path("golden")).bytes() == old.bytes());
}

// A later version may have put something into the store that this build would misread.
class GoldenFeatures : public GoldenStores {
 protected:
  // The store with this change of its superblock, whose checksum holds.
  Image with(const std::function<void(Superblock&)>& change) const {
    Image image = Image::of(scratch_.path("golden"));
    auto superblock = image.read<Superblock>(kSuperblockAt);
    change(superblock);
    constexpr std::size_t kSummed = offsetof(Superblock, format_version);
    superblock.checksum = hash64(std::as_bytes(std::span(&superblock, 1)).subspan(kSummed));
    image.write(kSuperblockAt, superblock);
    image.write_to(scratch_.path("golden"));
    return image;
  }
  void expect_refused(const Image& image, std::string_view what) const {
    for (const RegionAccess access : {RegionAccess::kOpen, RegionAccess::kOpenReadOnly}) {
      const auto refused = Store<>::open(scratch_.path("golden"), with_access(access));
      ASSERT_EQ(refused.code(), Errc::kNewerFormat);
      EXPECT_TRUE(mentions(refused.error(), what)) << refused.error().detail;
      EXPECT_TRUE(Image::of(scratch_.path("golden")).bytes() == image.bytes());
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Version2, GoldenFeatures, testing::ValuesIn(golden_stores(2)),
                         golden_test_name);

TEST_P(GoldenFeatures, OneThatIsIncompatibleAndUnknownIsRefusedByItsNumber) {
  for (const int feature : {6, 37, 63}) {
    const Image image = with([&](Superblock& superblock) {
      superblock.incompatible_features = kRunsOfVersion1 | std::uint64_t{1} << feature;
    });
    expect_refused(image, "feature " + std::to_string(feature) + ",");
  }
}

TEST_P(GoldenFeatures, AStoreThatNeedsALaterReaderIsRefused) {
  expect_refused(with([](Superblock& superblock) { superblock.oldest_reader = 3; }),
                 "a reader of format version 3");
}

// Found by the fuzzer: the process ended.
TEST_P(GoldenFeatures, PatchableWordsThatCannotBeAreDamage) {
  for (const std::uint32_t wrong : {4u, 8u}) {  // No multiple of 8; not above the one before it.
    with([&](Superblock& superblock) {
      superblock.patchable_count = 2;
      superblock.patchable_words = {8, wrong};
    });
    const auto refused = Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpen));
    EXPECT_EQ(refused.code(), Errc::kCorrupt) << wrong;
  }
}

TEST_P(GoldenFeatures, OnesThatAreCompatibleAreIgnored) {
  with([](Superblock& superblock) { superblock.compatible_features = ~std::uint64_t{0}; });
  auto store = Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpen)).value();
  expect_contents(store, expected_);
}

class GoldenBackups : public testing::TestWithParam<Golden> {};
INSTANTIATE_TEST_SUITE_P(Version2, GoldenBackups, testing::ValuesIn(golden_backups()),
                         golden_test_name);

// Made on a machine with AES instructions. What reads them here may have others, or none.
TEST_P(GoldenBackups, AreRestoredOnEveryMedium) {
  const Scratch scratch = Scratch::tmpfs();
  const std::string directory = scratch.path("backup");
  ASSERT_GE(
      unpack_golden_files(
          std::string(HOLDFAST_GOLDEN_DIRECTORY) + "/" + golden_backup_name(GetParam()), directory),
      4);  // Two lists, and runs for each.
  EXPECT_EQ(verify_backup(directory).value().defects, std::vector<std::string>());
  Contents expected = golden_contents(GetParam());
  for (const std::uint32_t number : {1U, 2U}) {
    if (number == 2) expected[kBehindTheFirstBackup] = "b";
    for (const char* granularity : {"", "?granularity=line", "?granularity=page"}) {
      const std::string to = scratch.path("restored") + granularity;
      ASSERT_TRUE(restore_backup(directory, to, number));
      auto store = Store<>::open(to, with_access(RegionAccess::kOpen)).value();
      expect_contents(store, expected);
      ASSERT_TRUE(store.close());
      std::filesystem::remove_all(scratch.path("restored"));
    }
  }
}

}  // namespace
}  // namespace holdfast::kv
