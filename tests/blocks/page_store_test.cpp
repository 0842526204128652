// The page store on ordinary memory: a dull model, and what it says to wrong options and
// to media that are too small, foreign, newer or damaged.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/baselines/checksum_pages.hpp>
#include <holdfast/blocks/log/log.hpp>
#include <holdfast/blocks/page/page_kernels.hpp>
#include <holdfast/blocks/page/page_store.hpp>

namespace holdfast::blocks {
namespace {

using namespace holdfast::baselines;  // NOLINT: what this tests.

using Content = std::vector<std::byte>;

Region memory(std::uint64_t bytes) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = bytes;
  return Region::open("dram?granularity=line", options).value();
}

PageStoreOptions shape(FlushMethod method = FlushMethod::kHybrid) {
  PageStoreOptions options;
  options.page_bytes = 1024;
  options.pages = 32;
  options.spare_slots = 3;
  options.micro_logs = 3;
  options.method = method;
  options.costs = FlushCosts{{{{6, 6}, {6, 6}}}, {}};
  return options;
}

TEST(LineSet, MarksCountsAndGivesRunsLikeASetOfBools) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    LineSet lines;
    std::vector<bool> model(LineSet::kMaxLines);
    for (std::uint64_t i = random.below(20); i > 0; --i) {
      const auto bytes = random.below(600);
      const auto at = random.below(64 * KiB - bytes + 1);
      lines.mark(at, bytes);
      for (auto byte = at; byte < at + bytes; ++byte)
        model[byte / 64] = true;
    }
    std::vector<bool> seen(LineSet::kMaxLines);
    std::uint32_t last_end = 0;
    bool first = true;
    lines.for_each_run([&](std::uint32_t begin, std::uint32_t count) {
      EXPECT_TRUE(first || begin > last_end) << "runs touch";
      first = false, last_end = begin + count;
      for (auto line = begin; line < begin + count; ++line)
        seen[line] = true;
    });
    EXPECT_EQ(seen, model);
    EXPECT_EQ(lines.count(), std::count(model.begin(), model.end(), true));
    EXPECT_EQ(lines.empty(), lines.count() == 0);
    EXPECT_EQ(lines.end(), last_end);
  }
}

// PAGE-3: pages could not be listed, and no free number be found.
TEST(PageStore, ListsItsPagesAndFindsFreeNumbers) {
  auto region = memory(256 * KiB);
  auto store = PageStore::create(region, whole(region), shape()).value();
  EXPECT_EQ(store->next_page(), std::nullopt);
  EXPECT_EQ(store->next_free(), PageId{0});
  const Content content(1024);
  for (const std::uint32_t page : {0u, 1u, 7u, 31u})
    ASSERT_TRUE(store->flush(PageId{page}, content));
  ASSERT_TRUE(store->free(PageId{1}));
  std::vector<std::uint32_t> found;
  for (auto page = store->next_page(); page; page = store->next_page({page->value + 1}))
    found.push_back(page->value);
  EXPECT_EQ(found, (std::vector<std::uint32_t>{0, 7, 31}));
  EXPECT_EQ(store->next_free(), PageId{1});
  EXPECT_EQ(store->next_free(PageId{7}), PageId{8});
  EXPECT_EQ(store->next_free(PageId{31}), std::nullopt);
  EXPECT_EQ(store->next_page(PageId{32}), std::nullopt);
  EXPECT_EQ(store->size_bytes(), PageStore::bytes_needed(shape()));
}

TEST(PageStore, AgreesWithAMapOfPagesThroughReopenings) {
  for (const auto method :
       {FlushMethod::kHybrid, FlushMethod::kCopyOnWrite, FlushMethod::kMicroLog}) {
    constexpr std::uint64_t kSeed = 3;
    auto region = memory(256 * KiB);
    auto store = PageStore::create(region, whole(region), shape(method)).value();
    std::map<std::uint32_t, Content> model;
    Random random(kSeed);
    const auto changed = [&](std::uint32_t page, LineSet& dirty) {
      auto& content = model.try_emplace(page, Content(1024)).first->second;
      for (std::uint64_t lines = 1 + random.below(16); lines > 0; --lines) {
        const auto at = random.below(1024);
        content[at] = std::byte(random());
        dirty.mark(at, 1);
      }
      return content.data();
    };
    for (int step = 0; step < 20'000; ++step) {
      const PageId page{static_cast<std::uint32_t>(random.below(32))};
      const auto what = random.below(1000);
      if (what < 500) {
        const bool existed = store->contains(page);
        LineSet dirty;
        const auto* const content = changed(page.value, dirty);
        const auto in_dram = existed && what % 2 == 0 ? InDram::kDirtyLines : InDram::kWholePage;
        ASSERT_TRUE(store->flush({page, content, &dirty, in_dram}));
      } else if (what < 600) {
        std::vector<LineSet> dirty(10);
        std::vector<PageFlush> flushes;
        for (std::uint32_t i = 0; i < 10; ++i) {
          const auto member = (page.value + 3 * i) % 32;
          const auto* const content = changed(member, dirty[i]);
          flushes.push_back({{member}, content, &dirty[i], InDram::kWholePage});
        }
        ASSERT_TRUE(store->flush_many(flushes));
      } else if (what < 900) {
        Content found(1024);
        const auto status = store->read(page, found);
        const auto expected = model.find(page.value);
        ASSERT_EQ(status.has_value(), expected != model.end());
        if (status) {
          ASSERT_EQ(found, expected->second) << "seed=" << kSeed << " step " << step;
        }
      } else if (what < 995) {
        ASSERT_EQ(store->free(page).has_value(), model.erase(page.value) == 1);
      } else {
        store.reset();
        store = PageStore::open(region, whole(region), shape(method)).value();
      }
    }
  }
}

// The version of the word that freed a page is the newest there is: it counts (MUT-1).
TEST(PageStore, AFreedPageThatIsFlushedInTheNextLifeIsThereInTheOneAfter) {
  auto region = memory(256 * KiB);
  const Content content(1024, std::byte{7});
  {
    auto store = PageStore::create(region, whole(region), shape()).value();
    store->flush({0}, content).value();
    store->free({0}).value();
  }
  PageStore::open(region, whole(region), shape()).value()->flush({0}, content).value();
  EXPECT_TRUE(PageStore::open(region, whole(region), shape()).value()->contains({0}));
}

// A record outlives its page: the page is freed, and another one is copied to its slot (P08 of the
// mutants).
TEST(PageStore, TheRecordOfAFreedPageIsNotReplayedOverThePageThatHasItsSlot) {
  auto region = memory(256 * KiB);
  auto options = shape();
  options.pages = 2;
  options.spare_slots = 1;
  options.costs = FlushCosts{{{{1, 1}, {1, 1}}}, {}};  // One dirty line: a record.
  const Content old(1024, std::byte{1}), other(1024, std::byte{2});
  {
    auto store = PageStore::create(region, whole(region), options).value();
    store->flush({0}, old).value();
    LineSet dirty;
    dirty.mark_lines(3, 1);
    store->flush({{0}, old.data(), &dirty}).value();
    store->free({0}).value();
    for (int i = 0; i < 3; ++i)  // Each slot in turn.
      store->flush({1}, other).value();
  }
  auto store = PageStore::open(region, whole(region), options).value();
  Content found(1024);
  store->read({1}, found).value();
  EXPECT_EQ(found, other);
  EXPECT_FALSE(store->contains({0}));
}

TEST(PageStore, MeasuresItsCostsWhereNoneAreGiven) {
  auto region = memory(4 * MiB);
  PageStoreOptions options;
  options.pages = 16;
  auto store = PageStore::create(region, whole(region), options).value();
  ASSERT_FALSE(store->costs().measured.empty());
  for (const auto& point : store->costs().measured) {
    EXPECT_GT(point.micro_log_ns, 0);
    EXPECT_GT(point.copy_ns, 0);
    EXPECT_GT(point.copy_dirty_lines_ns, 0);
  }
  // A log of every line writes all of it twice; nobody would want that.
  EXPECT_LT(store->costs().micro_log_up_to[0][0], 256u);
  // What measuring left behind is no page and no record.
  store.reset();
  EXPECT_EQ(PageStore::open(region, whole(region), options).value()->contains({0}), false);
}

// Fences and lines as docs/blocks_page.md has them, of pages of 16 KiB.
TEST(PageStore, CostsWhatTheDocumentNames) {
  const Content content(16 * KiB, std::byte{1});
  const auto costs_of = [](auto&& call) {
    const auto before = persist_counts();
    call();
    const auto after = persist_counts();
    return std::pair(after.fences - before.fences,
                     after.lines_written_back - before.lines_written_back);
  };
  using Cost = std::pair<std::uint64_t, std::uint64_t>;
  for (const auto method : {FlushMethod::kCopyOnWrite, FlushMethod::kMicroLog}) {
    auto region = memory(8 * MiB);
    PageStoreOptions options;
    options.pages = 32;
    options.method = method;
    options.costs = FlushCosts{{{{1, 1}, {1, 1}}}, {}};
    const auto store = PageStore::create(region, whole(region), options).value();
    std::vector<PageFlush> all;
    for (std::uint32_t page = 0; page < 32; ++page)
      all.push_back({{page}, content.data(), nullptr});
    EXPECT_EQ(costs_of([&] { store->flush_many(all).value(); }), Cost(2 * 2, 32 * 257));
    for (const std::uint32_t dirty : {1u, 16u, 17u, 48u, 49u}) {
      LineSet lines;
      lines.mark_lines(3, dirty);
      const auto cost = costs_of([&] { store->flush({{5}, content.data(), &lines}).value(); });
      const auto numbers = dirty <= 16 ? 1u : dirty <= 48 ? 2u : 3u;
      EXPECT_EQ(cost, method == FlushMethod::kCopyOnWrite ? Cost(2, 257)
                                                          : Cost(2, numbers + dirty + dirty + 1))
          << dirty;
    }
    EXPECT_EQ(costs_of([&] { store->flush_many({all.data(), 17}).value(); }).first, 4u);
    EXPECT_EQ(costs_of([&] { store->flush_many({all.data(), 16}).value(); }).first, 2u);
    EXPECT_EQ(costs_of([&] { store->free({7}).value(); }), Cost(1, 1));
  }
}

TEST(FlushCosts, LimitIsWhereTheLeadIsLost) {
  using page_detail::micro_log_limit;
  const std::vector<FlushCosts::Point> points = {{1, 1, 100, 500, 600},
                                                 {1, 16, 300, 500, 600},
                                                 {1, 64, 900, 500, 600},
                                                 {1, 256, 3000, 500, 600}};
  EXPECT_EQ(micro_log_limit(points, InDram::kWholePage, 256), 16u + 16u);  // 200 ahead, 400 behind.
  EXPECT_EQ(micro_log_limit(points, InDram::kDirtyLines, 256), 16u + 24u);
  EXPECT_EQ(micro_log_limit(std::span(points).first(2), InDram::kWholePage, 256), 256u);
  EXPECT_EQ(micro_log_limit(std::span(points).last(2), InDram::kWholePage, 256), 0u);
  EXPECT_EQ(micro_log_limit({}, InDram::kWholePage, 256), 0u);
}

// ---- What it says ----

template <class R>
void says(const R& result, Errc code, const std::string& text) {
  ASSERT_FALSE(result) << text;
  EXPECT_EQ(result.code(), code) << result.error().message();
  EXPECT_NE(result.error().detail.find(text), std::string::npos) << result.error().detail;
}

TEST(PageStoreErrors, OptionsAreRefusedByName) {
  auto region = memory(256 * KiB);
  const auto refused = [&](auto change, const std::string& text) {
    auto options = shape();
    change(options);
    says(PageStore::create(region, whole(region), options), Errc::kInvalidOption, text);
  };
  using O = PageStoreOptions;
  refused([](O& o) { o.page_bytes = 1000; }, "page_bytes=1000");
  refused([](O& o) { o.page_bytes = 128 * KiB; }, "page_bytes=131072");
  refused([](O& o) { o.pages = 1ull << 32; }, "pages=4294967296");
  // Of 2^32 slots the last one has the number that says "none", and a count of them had no end.
  refused([](O& o) { o.pages = ~std::uint32_t{0}; }, "pages=4294967295");
  refused([](O& o) { o.pages = ~std::uint32_t{0} - 7, o.spare_slots = 8; }, "pages=4294967288");
  refused([](O& o) { o.spare_slots = 0; }, "spare_slots=0");
  refused([](O& o) { o.micro_logs = 0; }, "micro_logs=0");
  says(PageStore::create(region, {0, 100}, shape()), Errc::kInvalidOption, "extent.size_bytes=100");
  auto options = shape();
  options.pages = 1000;
  says(PageStore::create(region, whole(region), options), Errc::kNoSpace,
       std::to_string(PageStore::bytes_needed(options)));
  options.pages = 0;
  options.spare_slots = 65'536;
  says(PageStore::create(region, whole(region), options), Errc::kNoSpace, "65536 spare_slots");
  auto paged = Region::open("dram?granularity=page", {});
  if (paged) says(PageStore::create(*paged, whole(*paged), shape()), Errc::kUnsupported, "page");
}

TEST(PageStoreErrors, AsManyPagesAsFitAreAllThere) {
  auto region = memory(256 * KiB);
  auto options = shape();
  options.pages = 0;
  auto store = PageStore::create(region, whole(region), options).value();
  EXPECT_GT(store->pages(), 200u);
  const Content content(1024, std::byte{7});
  for (std::uint32_t page = 0; page < store->pages(); ++page)
    ASSERT_TRUE(store->flush({page}, content));
  for (std::uint32_t page = 0; page < store->pages(); ++page)
    ASSERT_TRUE(store->flush({page}, content)) << "full, and every page can still be changed";
}

TEST(PageStoreErrors, CallsAreRefusedAndChangeNothing) {
  auto region = memory(256 * KiB);
  auto store = PageStore::create(region, whole(region), shape()).value();
  Content content(1024);
  says(store->flush({32}, content), Errc::kInvalidOption, "allowed are 0 to 31");
  says(store->flush({0}, std::span(content).first(8)), Errc::kInvalidOption, "content has 8 bytes");
  says(store->flush({{0}, nullptr}), Errc::kInvalidOption, "null");
  LineSet dirty;
  dirty.mark_lines(16, 1);
  says(store->flush({{0}, content.data(), &dirty}), Errc::kInvalidOption, "dirty line 16");
  says(store->flush({{0}, content.data(), nullptr, InDram::kDirtyLines}), Errc::kNotFound,
       "page 0 does not exist");
  const std::vector<PageFlush> twice(2, {{5}, content.data()});
  says(store->flush_many(twice), Errc::kInvalidOption, "page 5 is named twice");
  EXPECT_EQ(store->read({0}, content).code(), Errc::kNotFound);
  EXPECT_EQ(store->free({0}).code(), Errc::kNotFound);
  EXPECT_EQ(store->read({0}, std::span(content).first(1)).code(), Errc::kInvalidOption);
  EXPECT_FALSE(store->contains({5}));
}

// LOG-3.
TEST(PageStoreErrors, TwoObjectsOverOneExtentAreRefused) {
  auto region = memory(1 * MiB);
  const Extent first{0, 256 * KiB}, overlapping{128 * KiB, 256 * KiB}, second{512 * KiB, 256 * KiB};
  auto store = PageStore::create(region, first, shape()).value();
  says(PageStore::open(region, first, shape()), Errc::kBusy, "in use by another object");
  says(PageStore::create(region, overlapping, shape()), Errc::kBusy, "(page store)");
  auto beside = PageStore::create(region, second, shape()).value();
  EXPECT_TRUE(store->flush({0}, Content(1024)));
  store.reset();
  EXPECT_TRUE(PageStore::open(region, first, shape()).value()->contains({0}));
}

// LOG-2.
TEST(PageStoreErrors, NoOtherStructureIsOverwritten) {
  auto region = memory(4 * MiB);
  {
    auto log = Log::create(region, whole(region)).value();
    log.append(std::as_bytes(std::span("record"))).value();
  }
  says(PageStore::create(region, whole(region), shape()), Errc::kAlreadyExists, "begins a log");
  EXPECT_TRUE(Log::open(region, whole(region)));
  for (const auto& known : kKnownStructures) {
    std::memset(region.data(), 0, 4096);
    std::memcpy(region.data() + known.magic_at, &known.magic, sizeof known.magic);
    says(PageStore::create(region, whole(region), shape()), Errc::kAlreadyExists,
         std::string(known.name));
  }
  erase_superblock(DurableWriter(region)).value();
  EXPECT_TRUE(PageStore::create(region, whole(region), shape()));
}

// A store with pages, and a way to change its bytes.
class Damaged : public testing::Test {
 protected:
  void SetUp() override {
    auto store = PageStore::create(region_, whole(region_), shape()).value();
    for (std::uint32_t page = 0; page < 8; ++page)
      store->flush({page}, Content(1024, std::byte(page))).value();
    store->free({3}).value();
    geometry_ = {1024, 3, 32, 35};
    id_ = store->store_id();
  }
  auto open() { return PageStore::open(region_, whole(region_), shape()); }
  std::uint64_t& word(std::uint64_t at) {
    return *reinterpret_cast<std::uint64_t*>(region_.data() + at);
  }

  Region region_ = memory(256 * KiB);
  page_detail::Geometry geometry_;
  std::uint64_t id_ = 0;
};

TEST_F(Damaged, EachKindOfDamageHasItsName) {
  const std::vector<std::byte> good(region_.data(), region_.data() + region_.size_bytes());
  const auto after = [&](std::uint64_t at, std::uint64_t flip, Errc code, const std::string& text) {
    word(at) ^= flip;
    says(open(), code, text);
    std::copy(good.begin(), good.end(), region_.data());
  };
  after(0, 0xff, Errc::kNotHoldfast, "magic");
  after(0, word(0), Errc::kNotHoldfast, "none here");
  after(8, 1, Errc::kCorrupt, "superblock");
  after(24, 1, Errc::kCorrupt, "superblock");
  after(64, 1, Errc::kCorrupt, "superblock");  // The page size.
  // With a good checksum: from a newer build, and a forged shape.
  const auto sealed = [&](std::uint64_t at, std::uint64_t flip, Errc code,
                          const std::string& text) {
    word(at) ^= flip;
    SuperblockHeader header;
    std::memcpy(&header, region_.data(), sizeof header);
    header = sealed_header(header, page_detail::kPageStoreFormat,
                           {region_.data() + 64, sizeof(page_detail::PageStoreShape)});
    std::memcpy(region_.data(), &header, sizeof header);
    after(0, 0, code, text);
  };
  sealed(40, 1 << 5, Errc::kNewerFormat, "incompatible feature of bit 5");
  sealed(16, 4ull << 32, Errc::kNewerFormat, "knows up to 3");
  sealed(64, 3, Errc::kCorrupt, "superblock");
  after(page_detail::kEpochAt, 1, Errc::kCorrupt, "epoch");
  after(geometry_.header_at(2), 1, Errc::kCorrupt, "header of slot 2");
  after(geometry_.header_at(2) + 8, 1ull << 50, Errc::kCorrupt, "header of slot 2");
  after(geometry_.freed_at(3), 2, Errc::kCorrupt, "freed word of page 3");
  // Two slots of one page and version, both with good checks: no flush makes them.
  using page_detail::WordKind;
  word(geometry_.header_at(20)) = page_detail::seal_word(1, id_, WordKind::kPage, 20);
  word(geometry_.header_at(20) + 8) = page_detail::seal_word(1, id_, WordKind::kVersion, 20);
  says(open(), Errc::kCorrupt, "slots 0 and 20 both hold page 0, version 1");
  std::copy(good.begin(), good.end(), region_.data());
  says(PageStore::open(region_, {0, 32 * KiB}, shape()), Errc::kCorrupt, "cut short");
  says(PageStore::create(region_, whole(region_), shape()), Errc::kAlreadyExists, "open it");
  EXPECT_TRUE(open());
}

TEST_F(Damaged, ATornMicroLogIsIgnored) {
  {
    auto store = open().value();
    LineSet dirty;
    dirty.mark_lines(2, 1);
    store->flush({{1}, Content(1024, std::byte{9}).data(), &dirty}).value();
  }
  for (std::uint32_t log = 0; log < 3; ++log)
    word(geometry_.log_at(log) + 64) ^= 1;
  auto store = open().value();
  Content found(1024);
  store->read({1}, found).value();
  EXPECT_EQ(found[128], std::byte{9});  // It had been done.
}

TEST(PageStoreReadOnly, ShowsWhatRecoveryWouldAndWritesNothing) {
  const std::string path = "/dev/shm/holdfast-page-store-test-" + std::to_string(getpid());
  RegionOptions options;
  options.layout = RegionLayout::kFile;
  options.size_bytes = options.unit_bytes = 256 * KiB;
  const auto spec = path + "?granularity=line";
  Content content(1024, std::byte{1});
  {
    auto region = Region::open(spec, options).value();
    auto store = PageStore::create(region, whole(region), shape()).value();
    store->flush({0}, content).value();
    // A micro log that was durable when the power went, before its line was in place.
    LineSet dirty;
    dirty.mark_lines(3, 1);
    const Content change(1024, std::byte{2});
    page_detail::Geometry geometry{1024, 3, 32, 35};
    page_detail::write_record(region.persist(), region.data() + geometry.log_at(1),
                              {0, 2, 0, 0, 1, 0}, page_detail::record_seed(store->store_id(), 1, 1),
                              change.data(), dirty);
  }
  std::fill_n(content.begin() + 192, 64, std::byte{2});
  for (const bool read_only : {true, false, true}) {
    options.access = read_only ? RegionAccess::kOpenReadOnly : RegionAccess::kOpen;
    auto region = Region::open(spec, options).value();
    const auto before = hash64({region.data(), region.size_bytes()});
    auto store = PageStore::open(region, whole(region), shape()).value();
    Content found(1024);
    store->read({0}, found).value();
    EXPECT_EQ(found, content);
    if (!read_only) continue;
    EXPECT_EQ(store->flush({0}, content).code(), Errc::kReadOnly);
    EXPECT_EQ(store->free({0}).code(), Errc::kReadOnly);
    EXPECT_EQ(hash64({region.data(), region.size_bytes()}), before);
  }
  std::remove(path.c_str());
}

TEST(PageFormat, VersionOneIsFrozen) {
  using namespace page_detail;
  EXPECT_EQ(seal_word(5, 0x1234, WordKind::kVersion, 7), 0xdc6d000000000005u);
  EXPECT_EQ(record_seed(0x1234, 2, 3), 0x5d55c8aa31bb9324u);
  const Geometry geometry{16 * KiB, 32, 1000, 1064};
  EXPECT_EQ(geometry.header_at(1), 4160u);
  EXPECT_EQ(geometry.freed_at(0), 4096u + 69632u);
  EXPECT_EQ(geometry.log_at(0), 81920u);
  EXPECT_EQ(geometry.log_at(1) - geometry.log_at(0), 576u + 16 * KiB);
  EXPECT_EQ(geometry.slot_at(0), 626688u);
}

// ---- Pages with checksums ----

TEST(ChecksumPages, FindsTornPagesAndSaysSo) {
  auto region = memory(256 * KiB);
  ChecksumPagesOptions options;
  options.page_bytes = 1024;
  options.pages = 8;
  auto pages = ChecksumPages::create(region, whole(region), options).value();
  Content content(1024, std::byte{1}), found(1024);
  EXPECT_EQ(pages->read({0}, found).code(), Errc::kNotFound);
  ASSERT_TRUE(pages->flush({0}, content));
  ASSERT_TRUE(pages->flush({1}, content));
  content[500] = std::byte{2};
  LineSet dirty;
  dirty.mark(500, 1);
  ASSERT_TRUE(pages->flush({{1}, content.data(), &dirty}));
  pages.reset();
  pages = ChecksumPages::open(region, whole(region)).value();
  ASSERT_TRUE(pages->read({1}, found));
  EXPECT_EQ(found, content);
  EXPECT_TRUE(pages->verify().empty());
  region.data()[8 * KiB + 1024 + 700] ^= std::byte{1};
  says(pages->read({1}, found), Errc::kCorrupt, "page 1: torn");
  EXPECT_EQ(pages->verify(), std::vector<PageId>{PageId{1}});
  ASSERT_TRUE(pages->flush({1}, content));
  EXPECT_TRUE(pages->verify().empty());
  says(pages->flush({{1}, content.data(), &dirty, InDram::kDirtyLines}), Errc::kInvalidOption,
       "whole page");
  says(pages->flush({8}, content), Errc::kInvalidOption, "allowed are 0 to 7");
  says(ChecksumPages::open(region, whole(region)), Errc::kBusy, "checksum pages");
  pages.reset();
  says(ChecksumPages::create(region, whole(region), options), Errc::kAlreadyExists, "open it");
  says(PageStore::open(region, whole(region), {}), Errc::kNotHoldfast, "magic");
}

}  // namespace
}  // namespace holdfast::blocks
