// A store of format version 1 becomes one of version 2 when it is first opened for writing: crashed
// at each step of that, it holds every record, whichever version it then has.
#include <functional>
#include <thread>

#include <holdfast/memory/durable_writer.hpp>

#include "golden_content.hpp"
#include "golden_file.hpp"
#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

StoreOptions any_shape() {
  StoreOptions options;
  options.any_shape = true;
  return options;
}

// As a process leaves a closed store that dies when it has freed the image of the index and before
// it opens a run.
void free_image(Region& region) {
  const auto superblock = read_superblock(region, any_shape(), {}).value();
  const auto geometry = geometry_of(superblock);
  const DurableWriter writer(region);
  writer.put_word(kCleanMarkAt, 0).value();
  bool image = false;
  for (std::uint64_t block = 0; block < region.size_bytes() / geometry.block_bytes; ++block) {
    if (geometry.is_table_block(block)) continue;
    const auto at = geometry.table_word_at(block);
    BlockWord word{};
    HF_CHECK(decode_block_word(writer.word(at), geometry.store_id, block, word));
    image = word.state == BlockState::kImage || (image && word.state == BlockState::kTail);
    if (image) {
      word.state = BlockState::kFree;
      writer.put_word(at, encode_block_word(word, geometry.store_id, block)).value();
    }
  }
  writer.order().value();
}

class KvUpgradeCrash : public OnEveryMedium {
 protected:
  // Opens the golden store, writes to it and closes it or not, with crashes all along.
  Report upgrade(const std::string& name, const std::function<void(Region&)>& before = nullptr) {
    const auto stores = golden_stores(1);
    const auto golden = std::find_if(stores.begin(), stores.end(),
                                     [&](const Golden& each) { return each.name == name; });
    HF_CHECK(golden != stores.end());
    Accesses contents;
    for (const auto& [key, value] : golden_contents(*golden))
      contents.push_back({key, value});
    std::uint64_t segment_bytes = 0;
    Crash crash;
    crash.created = false;
    crash.image = read_golden(std::string(HOLDFAST_GOLDEN_DIRECTORY) + "/" + golden_name(*golden),
                              segment_bytes);
    HF_CHECK(segment_bytes == crash.check.unit_bytes);
    crash.check.size_bytes = crash.image.size();
    crash.instead = [=, &crash](Region& region, crash::Workload& run, KeyValueModel& model) {
      model.batch(1, contents);  // Long acknowledged.
      model.batch(2, {});
      model.put(3, "after", "the upgrade");
      {
        const auto quiet = run.quiet();
        run.begin(1);
        if (before) before(region);
        run.acknowledge(1);
      }
      run.hint(kSuperblockPageBytes, crash.options.block_bytes - kSuperblockPageBytes);
      run.begin(2);
      Store<> store = Store<>::open(std::move(region), crash.options).value();
      run.acknowledge(2);
      // Another thread: its fence does not wait for what the opening has written back.
      run.perform(3,
                  [&] { std::thread([&] { store.put("after", "the upgrade").value(); }).join(); });
      ForTests::abandon(store);
    };
    return crash.run(GetParam());
  }
};
HOLDFAST_ON_EVERY_MEDIUM(KvUpgradeCrash);

TEST_P(KvUpgradeCrash, OfAStoreThatWasClosedInOrder) {
  const Report report = upgrade("simple_closed");
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 20u) << report;
}

// Nothing that this opening does behind the upgrade waits for anything.
TEST_P(KvUpgradeCrash, OfAStoreWithoutAnOpenRunAndWithoutAnImage) {
  const Report report = upgrade("simple_closed", free_image);
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 20u) << report;
}

TEST_P(KvUpgradeCrash, OfAStoreWhoseProcessDied) {
  const Report report = upgrade("erased_died");
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 20u) << report;
}

TEST_P(KvUpgradeCrash, OfAStoreWithWordsUpdatedInPlace) {
  const Report report = upgrade("words_died");
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 20u) << report;
}

}  // namespace
}  // namespace holdfast::kv
