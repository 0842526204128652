// The write of the word that leads to a new version fails: whether it is on the medium is open. So
// nothing is written any more, since what seems to be free may be that version's.
#include <atomic>
#include <cerrno>
#include <memory>

#include <holdfast/memory/system.hpp>

#include "../memory/scratch.hpp"
#include "growing_star.hpp"
#include "mart/mart_support.hpp"

namespace holdfast::olap {
namespace {

using memory_detail::Call;

std::atomic<int> star_writes{0};
std::atomic<int> star_failing_write{0};  // Its number; 0: none.

int star_hook(Call call, int) {
  if (call != Call::kWrite) return 0;
  return ++star_writes == star_failing_write ? EIO : 0;
}

class StarFailure : public testing::Test {
 protected:
  StarFailure() {
    RegionOptions options;
    options.size_bytes = options.unit_bytes = 16 * MiB;
    region_ = std::make_unique<Region>(
        Region::open(scratch_.path("star") + "?granularity=page", options).value());
    let_fail(0);
    memory_detail::set_fault_hook(&star_hook);
  }
  ~StarFailure() override { memory_detail::set_fault_hook(nullptr); }
  static void let_fail(int number) {
    star_writes = 0;
    star_failing_write = number;
  }
  // How many writes `step` takes; the last one stores the word.
  template <class Step>
  static int writes_of(Step step) {
    let_fail(0);
    EXPECT_TRUE(step());
    return star_writes;
  }
  // Refused, and nothing was written.
  template <class Step>
  static void expect_refused(Step step) {
    let_fail(0);
    const auto refused = step();
    ASSERT_EQ(refused.code(), Errc::kIo);
    EXPECT_NE(refused.error().detail.find("open it again"), std::string::npos);
    EXPECT_EQ(star_writes, 0);
  }

  Scratch scratch_ = Scratch::disk();
  std::unique_ptr<Region> region_;
};

TEST_F(StarFailure, AnAppendOfWhichTheWordFailedIsTheLastWriteUntilTheStarIsOpenedAgain) {
  auto store = StarStore::create(*region_).value();
  Growing growing(0.004, 300);
  growing.load(*store);
  const auto before = all_answers(*store->version());
  const auto append = [&] { return growing.append(*store, 100); };
  const int writes = writes_of(append);
  const auto with_first = all_answers(*store->version());
  ASSERT_NE(with_first, before);
  let_fail(writes);
  EXPECT_EQ(append().code(), Errc::kIo);
  EXPECT_EQ(all_answers(*store->version()), with_first);
  expect_refused(append);
  expect_refused([&] { return store->merge(); });
  expect_refused(
      [&] { return ssb::load_generated(ssb::Generator::create(0.004).value(), "", *store, 1); });
  expect_refused([&] {
    return ssb::load_generated_rows(ssb::Generator::create(0.004).value(), "", *store, 1);
  });
  store.reset();
  store = StarStore::open(*region_).value();
  EXPECT_EQ(all_answers(*store->version()), with_first);
  EXPECT_TRUE(append());
}

TEST_F(StarFailure, ALoadOfWhichTheWordFailedIsTheLastWriteUntilTheStarIsOpenedAgain) {
  auto store = mart::MartStore::create(*region_).value();
  const mart::SalesData data(3, 200);
  const auto append = [&] { return mart::append_lines(*store, 0, data.tables[0]); };
  mart::load_data(*store, data).value();
  const int writes = writes_of(append);
  const auto place = store->version()->catalogue().place;
  let_fail(writes);
  EXPECT_EQ(append().code(), Errc::kIo);
  EXPECT_EQ(store->version()->catalogue().place, place);
  expect_refused(append);
  expect_refused([&] { return mart::load_data(*store, data); });
  expect_refused([&] { return mart::merge(*store); });
  store.reset();
  store = mart::MartStore::open(*region_).value();
  EXPECT_EQ(store->version()->catalogue().fact_rows(), 400u);
  EXPECT_TRUE(store->version()->verify().empty());
  EXPECT_TRUE(append());
}

}  // namespace
}  // namespace holdfast::olap
