// The page store under the crash checker, depth 2: creation, both methods and their mix, free and
// reuse, groups, threads, killed processes. Barriers per operation are tested constants.
#include "page_crash.hpp"

#include <cstring>

namespace holdfast::blocks {
namespace {

class PageCrash : public testing::TestWithParam<crash::Model> {};
INSTANTIATE_TEST_SUITE_P(Models, PageCrash, testing::ValuesIn(page_models()),
                         [](const auto& model) { return crash::name(model.param); });

// Line media only: on byte media nothing needs a write-back.
bool counts_lines(const crash::Model& model) { return model.granularity == Granularity::kLine; }
std::uint64_t lines_of(const crash::StepCounts& counts) {
  return counts.lines_written_back + counts.lines_streamed;
}

TEST_P(PageCrash, CreationLeavesNoStoreOrAnEmptyOne) {
  for (const bool garbage : {false, true}) {
    crash::Protocol<StoreState> protocol;
    protocol.initial.exists = false;
    protocol.setup = [=](Region& region) {
      if (!garbage) return;
      const std::vector<std::byte> noise(3 * kCacheLineBytes, std::byte{0x5a});
      for (const std::uint64_t at : {std::uint64_t{0}, 4 * KiB, 8 * KiB, 12 * KiB})
        region.persist().copy(region.data() + at, noise.data(), noise.size());
      region.persist().persist(region.data(), region.size_bytes());
    };
    protocol.workload = [](Region& region, crash::Workload& run) {
      run.perform(1, [&] { PageStore::create(region, whole(region), small_store()).value(); });
    };
    protocol.recover = [](Region& region) { return read_store(region, small_store()); };
    protocol.check = [](const crash::Past<StoreState>& past,
                        const StoreState& seen) -> std::string {
      if (!seen.pages.empty()) return "a new store has pages";
      const bool created = past.base.exists || past.operations[0].acknowledged();
      if (created && !seen.exists) return "the created store is gone";
      return "";
    };
    protocol.then = [](Region& region, crash::Workload& run, const StoreState& found) {
      if (!found.exists)
        run.perform(2, [&] { PageStore::create(region, whole(region), small_store()).value(); });
    };
    auto options = small_medium(GetParam());
    options.nested_states_per_point = 100;
    if (garbage) options.states_per_point = 2'000, options.images_per_run = 20'000;
    const auto report = crash::check(protocol, options);
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 3u);
    // The superblock, its magic; then an opening: what was found, the epoch.
    EXPECT_EQ(report.operation(1).barriers(), 4u) << report;
  }
}

TEST_P(PageCrash, CopyOnWriteFlushesWholePagesWithTwoBarriers) {
  PageRun run;
  run.options = small_store(FlushMethod::kCopyOnWrite);
  run.before = {{1, 0, 3}, {2, 1, 3}};
  // Two pages in turn over one spare slot: every slot gets reused by the other page, too.
  run.operations = {{10, 0, 3}, {11, 1, 3}, {12, 1, 1}, {13, 0, 2}};
  run.after = {{20, 1, 3}, {21, 2, 3}};
  const auto report = crash::check(run.protocol(), small_medium(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.exhaustive() || GetParam() == crash::kLineStreaming);
  EXPECT_GT(report.images_in_all(), 100u);
  for (const std::uint64_t id : {10, 11, 12, 13}) {
    EXPECT_EQ(report.operation(id).barriers(), 2u);
    EXPECT_EQ(report.operation(id).redundant_fences, 0u);
    if (counts_lines(GetParam())) {
      EXPECT_EQ(lines_of(report.operation(id)), kSmallPageLines + 1);
    }
  }
}

TEST_P(PageCrash, MicroLogChangesLinesInPlaceWithTwoBarriers) {
  PageRun run;
  run.options = small_store(FlushMethod::kMicroLog);
  run.before = {{1, 0, 3}, {2, 1, 3}};
  // The same line again, another line, another page through the same log, both lines.
  run.operations = {{10, 0, 1}, {11, 0, 1}, {12, 0, 2}, {13, 1, 2}, {14, 1, 3}};
  run.after = {{20, 0, 1}, {21, 1, 1}};
  const auto report = crash::check(run.protocol(), small_medium(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.exhaustive() || GetParam() == crash::kLineStreaming);
  for (const std::uint64_t id : {10, 11, 12, 13, 14}) {
    EXPECT_EQ(report.operation(id).barriers(), 2u);
    EXPECT_EQ(report.operation(id).redundant_fences, 0u);
  }
  if (counts_lines(GetParam())) {
    EXPECT_EQ(lines_of(report.operation(10)), 1u + 1 + 1 + 1);  // Record, line; line, header.
    EXPECT_EQ(lines_of(report.operation(14)), 1u + 2 + 2 + 1);
  }
}

TEST_P(PageCrash, MicroLogsInTurnKnowWhichOfThemIsOld) {
  // Log 0 holds line 0 of operation 10; by 12 it is old, while 11's is in log 1. Then the same line
  // each time: 13, of both lines, is in log 0, and 12, finished and older, in log 2.
  for (const unsigned line_of_12 : {2u, 1u}) {
    PageRun run;
    run.options = small_store(FlushMethod::kMicroLog);
    run.options.micro_logs = 3;
    run.before = {{1, 0, 3}};
    run.operations = {{10, 0, 1}, {11, 0, 1}, {12, 0, line_of_12}, {13, 0, 3}};
    run.after = {{20, 0, 2}, {21, 0, 1}};
    const auto report = crash::check(run.protocol(), small_medium(GetParam()));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_TRUE(report.exhaustive() || GetParam() == crash::kLineStreaming);
  }
}

TEST_P(PageCrash, TheHybridMixesBothOnOnePage) {
  PageRun run;
  run.options.spare_slots = 2;
  run.options.micro_logs = 2;
  run.before = {{1, 0, 3}, {2, 1, 3}};
  // Log, copy elsewhere, log there, copies until the first slot is the page's again.
  run.operations = {{10, 0, 1}, {11, 0, 3}, {12, 0, 2}, {13, 0, 3}, {14, 0, 3}, {15, 0, 1}};
  run.after = {{20, 0, 2}, {21, 0, 3}};
  const auto report = crash::check(run.protocol(), small_medium(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.exhaustive() || GetParam() == crash::kLineStreaming);
  for (std::uint64_t id = 10; id <= 15; ++id)
    EXPECT_EQ(report.operation(id).barriers(), 2u);
}

TEST_P(PageCrash, AFreedPageStaysGoneWhateverItsOldSlotsHold) {
  for (const auto method : {FlushMethod::kCopyOnWrite, FlushMethod::kMicroLog}) {
    PageRun run;
    run.options = small_store(method);
    run.options.spare_slots = 2;
    run.before = {{1, 0, 3}, {2, 0, 3}, {3, 0, 1}, {4, 1, 3}};  // Old versions of page 0 lie about.
    run.operations = {{10, 0, 0}, {11, 1, 3}, {12, 2, 3}, {13, 0, 3}, {14, 0, 0}, {15, 2, 3}};
    run.after = {{20, 1, 3}, {21, 0, 3}};
    const auto report = crash::check(run.protocol(), small_medium(GetParam()));
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_TRUE(report.exhaustive() || GetParam() == crash::kLineStreaming);
    EXPECT_EQ(report.operation(10).barriers(), 1u);
    if (counts_lines(GetParam())) {
      EXPECT_EQ(lines_of(report.operation(10)), 1u);
    }
  }
}

TEST_P(PageCrash, OnlyDirtyLinesInDramTakeTheOthersFromTheOldSlot) {
  PageRun run;
  run.options = small_store(FlushMethod::kCopyOnWrite);
  run.before = {{1, 0, 3}, {2, 1, 3}};
  run.operations = {{10, 0, 1}, {11, 0, 2}, {12, 1, 2}};
  auto protocol = run.protocol();
  protocol.workload = [run](Region& region, crash::Workload& workload) {
    auto store = open_store(region, run.options);
    for (const auto& operation : run.operations) {
      // Of the clean lines DRAM holds nonsense.
      PageWords words(kSmallPageBytes / 8, 0xbad);
      const auto line = operation.lines == 1 ? 0u : 1u;
      std::fill_n(words.begin() + line * 8, 8, value_of(operation.id, line));
      const auto dirty = blocks::lines_of(operation);
      workload.perform(operation.id, [&] {
        store
            ->flush({{operation.page},
                     reinterpret_cast<const std::byte*>(words.data()),
                     &dirty,
                     InDram::kDirtyLines})
            .value();
      });
    }
  };
  const auto report = crash::check(protocol, small_medium(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.exhaustive() || GetParam() == crash::kLineStreaming);
}

TEST_P(PageCrash, AGroupSharesTwoBarriersAndEachOfItsPagesIsWholeByItself) {
  for (const std::uint32_t spare_slots : {1u, 3u}) {  // 1: the group must finish in two parts.
    PageRun run;
    run.options.spare_slots = spare_slots;
    run.options.micro_logs = 2;
    run.before = {{1, 0, 3}, {2, 1, 3}, {3, 2, 3}};
    const std::vector<PageOperation> group = {{10, 2, 3}, {11, 0, 3}, {12, 1, 1}};
    run.operations = group;
    run.after = {{20, 0, 3}};
    auto protocol = run.protocol();
    protocol.workload = [run, group](Region& region, crash::Workload& workload) {
      auto store = open_store(region, run.options);
      std::vector<PageWords> contents;
      std::vector<LineSet> dirty;
      for (const auto& operation : group) {
        contents.push_back(content_after(*store, operation));
        dirty.push_back(blocks::lines_of(operation));
      }
      std::vector<PageFlush> flushes;
      for (std::size_t i = 0; i < group.size(); ++i)
        flushes.push_back({{group[i].page},
                           reinterpret_cast<const std::byte*>(contents[i].data()),
                           &dirty[i],
                           InDram::kWholePage});
      for (std::size_t i = 0; i < group.size(); ++i)
        workload.begin(group[i].id, static_cast<std::uint32_t>(i));
      store->flush_many(flushes).value();
      for (const auto& operation : group)
        workload.acknowledge(operation.id);
    };
    auto options = small_medium(GetParam());
    options.states_per_point = 2'000;
    options.nested_states_per_point = 100;
    const auto report = crash::check(protocol, options);
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_EQ(report.operation(10).barriers(), spare_slots == 3 ? 2u : 4u) << report;
  }
}

TEST_P(PageCrash, ThreadsFlushTheSameAndDifferentPages) {
  PageRun run;
  run.options.spare_slots = 2;
  run.options.micro_logs = 2;
  run.before = {{1, 0, 3}, {2, 1, 3}};
  run.operations = {{10, 0, 3}, {11, 1, 1}, {20, 1, 3}, {21, 2, 3}};
  auto protocol = run.protocol();
  protocol.workload = [run](Region& region, crash::Workload& workload) {
    auto store = open_store(region, run.options);
    const auto thread = [&](std::uint32_t session, std::vector<PageOperation> mine) {
      return [&, session, mine] {
        for (const auto& operation : mine) {
          workload.begin(operation.id, session);
          // Whole values: what the page held before does not matter.
          PageWords words(kSmallPageBytes / 8);
          for (std::uint32_t line = 0; line < kSmallPageLines; ++line)
            std::fill_n(words.begin() + line * 8, 8, value_of(operation.id, line));
          const auto dirty = blocks::lines_of(operation);
          store->flush({{operation.page}, reinterpret_cast<const std::byte*>(words.data()), &dirty})
              .value();
          workload.acknowledge(operation.id);
        }
      };
    };
    const auto& all = run.operations;
    workload.threads({thread(1, {all[0], all[1]}), thread(2, {all[2], all[3]})});
  };
  // Two writers of page 1 without an order between them: either order is right. A dirty subset
  // over a whole page makes four outcomes.
  protocol.check = [](const crash::Past<StoreState>& past, const StoreState& seen) -> std::string {
    std::vector<PageOperation> flushed = {{10, 0, 3}, {11, 1, 1}, {20, 1, 3}, {21, 2, 3}};
    std::vector<const crash::Operation*> known;
    for (const auto& operation : past.operations)
      known.push_back(&operation);
    std::sort(known.begin(), known.end());
    do {
      bool in_order = true;
      for (std::size_t i = 0; i + 1 < known.size(); ++i) {
        for (std::size_t j = i + 1; j < known.size(); ++j)
          in_order = in_order &&
                     !(known[j]->acknowledged() && known[j]->acknowledged_at < known[i]->begun_at);
      }
      if (!in_order) continue;
      for (unsigned kept = 0; kept < 1u << known.size(); ++kept) {
        auto state = past.base;
        bool allowed = true;
        for (std::size_t i = 0; i < known.size(); ++i) {
          const bool keep = (kept >> i & 1) != 0;
          allowed = allowed && (keep || !known[i]->acknowledged());
          if (!keep) continue;
          const auto found = std::find_if(flushed.begin(), flushed.end(), [&](const auto& flush) {
            return flush.id == known[i]->id;
          });
          if (found != flushed.end()) PageModel::apply(*found, state);
        }
        if (allowed && state == seen) return "";
      }
    } while (std::next_permutation(known.begin(), known.end()));
    return "no order of the flushes explains it";
  };
  auto options = small_medium(GetParam());
  options.states_per_point = 300;
  options.nested_states_per_point = 20;
  options.schedules.seeds = 3;
  options.images_per_run = 10'000;
  const auto report = crash::check(protocol, options);
  EXPECT_TRUE(report.ok()) << report;
}

// One thread replaces or frees a page. Wherever it is interrupted, another one takes whatever has
// been given back: a slot, a log, the slot of a freed page (MUT-4). There is one spare of each.
TEST_P(PageCrash, NothingIsGivenBackBeforeWhatReplacesItIsDurable) {
  const struct {
    FlushMethod method;
    std::vector<PageOperation> first, second;
  } cases[] = {
      {FlushMethod::kCopyOnWrite, {{10, 0, 3}}, {{20, 1, 3}}},
      {FlushMethod::kMicroLog, {{10, 0, 3}}, {{20, 1, 3}}},
      {FlushMethod::kCopyOnWrite, {{10, 0, 0}}, {{20, 1, 3}, {21, 2, 3}}},
  };
  for (const auto& [method, first, second] : cases) {
    PageRun run;
    run.options = small_store(method);
    run.before = {{1, 0, 3}, {2, 1, 3}, {3, 2, 3}};
    run.operations = first;
    run.operations.insert(run.operations.end(), second.begin(), second.end());
    auto protocol = run.protocol();
    protocol.workload = [run, first, second](Region& region, crash::Workload& workload) {
      auto store = open_store(region, run.options);
      const auto thread = [&](std::uint32_t session, const std::vector<PageOperation>& mine) {
        return [&, session, mine] {
          for (const auto& operation : mine)
            workload.perform(operation.id, [&] { do_operation(*store, operation); }, session);
        };
      };
      workload.threads({thread(1, first), thread(2, second)});
    };
    auto options = small_medium(GetParam());
    options.depth = 1;
    options.states_per_point = 300;
    options.schedules = {.seeds = 1, .preemptions = 2, .max_schedules = 200};
    const auto report = crash::check(protocol, options);
    EXPECT_TRUE(report.ok()) << name(method) << report;
    EXPECT_GT(report.schedules, 5u);
  }
}

TEST_P(PageCrash, WhatOpeningWritesIsDurableWhenItReturns) {
  PageRun run;
  run.before = {{1, 0, 3}, {2, 0, 1}};
  run.operations = {{10, 0, 1}};
  auto protocol = run.protocol();
  protocol.workload = [run](Region& region, crash::Workload& workload) {
    workload.perform(1, [&] { open_store(region, run.options); });
    auto store = open_store(region, run.options);
    workload.perform(10, [&] { do_operation(*store, run.operations[0]); });
  };
  const auto report = crash::check(protocol, small_medium(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(1).barriers(), 3u);  // What was found; the log; the epoch.
}

// A process is killed without a power loss while it frees a page: the word is in a cache only. The
// next process finds the page gone, goes on, and then the power fails (P06 of the mutants).
TEST_P(PageCrash, APageThatAKilledProcessFreedStaysGoneOnceThatWasSeen) {
  PageRun run;
  run.before = {{1, 0, 3}, {2, 1, 3}};
  run.operations = {{9, 0, 0}, {10, 1, 3}};
  auto protocol = run.protocol();
  protocol.workload = [run](Region& region, crash::Workload& workload) {
    workload.begin(9, 9);
    {
      const auto quiet = workload.quiet();
      const auto id = open_store(region, run.options)->store_id();
      const page_detail::Geometry geometry{kSmallPageBytes, 1, 3, 4};
      Persist::none().store(reinterpret_cast<std::uint64_t*>(region.data() + geometry.freed_at(0)),
                            page_detail::seal_word(3, id, page_detail::WordKind::kFreed, 0));
    }
    auto store = open_store(region, run.options);
    EXPECT_FALSE(store->contains({0}));
    workload.acknowledge(9);
    workload.perform(10, [&] { do_operation(*store, run.operations[1]); });
  };
  const auto report = crash::check(protocol, small_medium(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
}

// The same for a process that was killed when it had just created the store.
TEST_P(PageCrash, AStoreThatAKilledProcessCreatedStaysOnceItWasOpened) {
  PageRun run;
  run.operations = {{10, 1, 3}};
  auto protocol = run.protocol();
  protocol.initial.exists = false;
  const auto magic = page_detail::kPageStoreFormat.magic;
  protocol.setup = [run](Region& region) {
    PageStore::create(region, whole(region), run.options).value();
    const DurableWriter writer(region);
    writer.put_word(0, 0).value();
    writer.order().value();
  };
  protocol.workload = [run, magic](Region& region, crash::Workload& workload) {
    workload.begin(1);
    Persist::none().store(reinterpret_cast<std::uint64_t*>(region.data()), magic);
    auto store = open_store(region, run.options);
    workload.acknowledge(1);
    workload.perform(10, [&] { do_operation(*store, run.operations[0]); });
  };
  protocol.check = [](const crash::Past<StoreState>& past, const StoreState& seen) -> std::string {
    const auto acknowledged = [&](std::size_t i) {
      return past.operations.size() > i && past.operations[i].acknowledged();
    };
    if (acknowledged(0) && !seen.exists) return "the store is gone";
    if (acknowledged(1) && seen.pages.empty()) return "its page is gone";
    return "";
  };
  const auto report = crash::check(protocol, small_medium(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
}

// A process was killed while it created a store over another one: the zeros for a header are in a
// cache. The next creation found them, and wrote nothing back.
TEST_P(PageCrash, WhatAKilledCreationZeroedIsZeroOnTheMediumBeforeThereIsAStore) {
  PageRun run;
  run.before = {{1, 0, 3}};
  run.operations = {{10, 0, 3}};
  auto protocol = run.protocol();
  protocol.initial = {false, {}};
  protocol.setup = [setup = protocol.setup](Region& region) {
    setup(region);
    erase_superblock(DurableWriter(region)).value();
  };
  protocol.workload = [run](Region& region, crash::Workload& workload) {
    const page_detail::Geometry geometry{kSmallPageBytes, 1, 3, 4};
    for (std::uint64_t slot = 0; slot < geometry.slots; ++slot) {
      auto* const header =
          reinterpret_cast<std::uint64_t*>(region.data() + geometry.header_at(slot));
      Persist::none().store(header, 0);
      Persist::none().store(header + 1, 0);
    }
    workload.perform(10, [&] { PageStore::create(region, whole(region), run.options).value(); });
  };
  protocol.check = [](const crash::Past<StoreState>& past, const StoreState& seen) -> std::string {
    if (!seen.pages.empty()) return "a new store holds a page";
    return past.operations.back().acknowledged() && !seen.exists ? "the store is gone" : "";
  };
  protocol.then = nullptr;
  const auto report = crash::check(protocol, small_medium(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
}

// A process is killed in the middle of a flush, without a power loss: what it stored is in caches.
// The next process sees it, goes on, and then the power fails.
TEST_P(PageCrash, WhatAKilledProcessLeftInCachesIsDurableBeforeItIsBuiltOn) {
  for (const bool logged : {false, true}) {
    for (int steps = 0; steps < 3; ++steps) {  // How far the killed flush got.
      PageRun run;
      run.options = small_store(logged ? FlushMethod::kMicroLog : FlushMethod::kCopyOnWrite);
      run.before = {{1, 0, 3}, {2, 1, 3}};
      run.operations = {{10, 1, 3}, {11, 1, 3}, {12, 1, 3}};
      auto protocol = run.protocol();
      const auto killed = std::make_shared<PageModel>(
          std::vector<PageOperation>{{9, 0, 3}, {10, 1, 3}, {11, 1, 3}, {12, 1, 3}});
      protocol.check = [killed](const auto& past, const auto& seen) {
        return killed->check(past, seen);
      };
      protocol.workload = [run, logged, steps](Region& region, crash::Workload& workload) {
        workload.begin(9, 9);
        {
          const auto quiet = workload.quiet();
          PageWords words(kSmallPageBytes / 8);
          for (std::uint32_t line = 0; line < kSmallPageLines; ++line)
            std::fill_n(words.begin() + line * 8, 8, value_of(9, line));
          // By hand what flush() stores, with none of its write-backs and fences. Slot 3 is free
          // (or page 0's own), versions 1 and 2 are used, the store was opened twice.
          page_detail::Geometry geometry{kSmallPageBytes, 1, 3, 4};
          auto store = open_store(region, run.options);
          const auto id = store->store_id();
          const Persist cached = Persist::none();
          const auto* const content = reinterpret_cast<const std::byte*>(words.data());
          const std::uint32_t slot = logged ? 0 : 2;
          using page_detail::WordKind;
          auto* const header =
              reinterpret_cast<std::uint64_t*>(region.data() + geometry.header_at(slot));
          if (logged) {
            LineSet all;
            all.mark_lines(0, 2);
            page_detail::write_record(cached, region.data() + geometry.log_at(0),
                                      {0, 3, slot, 0, 2, 0}, page_detail::record_seed(id, 2, 0),
                                      content, all);
            if (steps > 0) {  // The first fence is over.
              region.persist().persist(region.data() + geometry.log_at(0),
                                       page_detail::record_bytes(2));
              cached.copy(region.data() + geometry.slot_at(slot), content, 64);
            }
          } else {
            region.persist().copy(region.data() + geometry.slot_at(slot), content, kSmallPageBytes);
            region.persist().persist(region.data() + geometry.slot_at(slot), kSmallPageBytes);
            if (steps > 0)
              cached.store(header, page_detail::seal_word(1, id, WordKind::kPage, slot));
          }
          if (steps > 1)
            cached.store(header + 1, page_detail::seal_word(3, id, WordKind::kVersion, slot));
        }
        auto store = open_store(region, run.options);
        PageWords found(kSmallPageBytes / 8);
        store->read({0}, std::as_writable_bytes(std::span(found))).value();
        if (found[0] == value_of(9, 0)) workload.acknowledge(9);  // It was seen: it must stay.
        for (const auto& operation : run.operations)
          workload.perform(operation.id, [&] { do_operation(*store, operation); });
      };
      auto options = small_medium(GetParam());
      options.durable_at_acknowledge = false;  // 9's stores are made durable by an opening.
      const auto report = crash::check(protocol, options);
      EXPECT_TRUE(report.ok()) << (logged ? "log " : "copy ") << steps << report;
    }
  }
}

}  // namespace
}  // namespace holdfast::blocks
