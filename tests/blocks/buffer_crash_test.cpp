// The buffer manager and the pages with checksums under the crash checker.
#include <cstring>

#include <holdfast/baselines/checksum_pages.hpp>
#include <holdfast/blocks/page/buffer_manager.hpp>

#include "page_crash.hpp"

namespace holdfast::blocks {
namespace {

using namespace holdfast::baselines;  // NOLINT: what this tests.

// To open a ChecksumPages writes nothing back: a page that is read after a kill may be the older one
// after a power failure.
crash::Options shown_before_durable(const crash::Model& model) {
  auto options = small_medium(model);
  options.kept_once_shown = false;
  return options;
}

class BufferCrash : public testing::TestWithParam<crash::Model> {};
INSTANTIATE_TEST_SUITE_P(Models, BufferCrash, testing::ValuesIn(page_models()),
                         [](const auto& model) { return crash::name(model.param); });

void change(BufferManager& buffers, const PageOperation& operation) {
  auto page = buffers.fix({operation.page}, Access::kWrite).value();
  for (std::uint32_t line = 0; line < kSmallPageLines; ++line) {
    if ((operation.lines >> line & 1) == 0) continue;
    const std::vector<std::uint64_t> words(8, value_of(operation.id, line));
    page.write(line * 64, std::as_bytes(std::span(words)));
  }
}

// What flush() acknowledged stays, page by page; what evictions write is whole.
TEST_P(BufferCrash, FlushedPagesStayAndEvictedPagesAreWhole) {
  PageRun run;
  run.options.spare_slots = 2;
  run.before = {{1, 0, 3}, {2, 1, 3}};
  // The third page takes a frame from one of the first two.
  run.operations = {{10, 0, 1}, {11, 1, 3}, {12, 2, 3}};
  run.after = {{20, 0, 3}};
  auto protocol = run.protocol();
  BufferOptions two;
  two.frames = 2;
  two.background = false;
  protocol.workload = [run, two](Region& region, crash::Workload& workload) {
    auto store = open_store(region, run.options);
    auto buffers = BufferManager::create(*store, two).value();
    for (const auto& operation : run.operations)
      workload.begin(operation.id, static_cast<std::uint32_t>(operation.id));
    change(*buffers, run.operations[0]);
    buffers->flush({0}).value();
    workload.acknowledge(10);
    change(*buffers, run.operations[1]);
    change(*buffers, run.operations[2]);
    buffers->flush_all().value();
    workload.acknowledge(11);
    workload.acknowledge(12);
  };
  protocol.then = [run, two](Region& region, crash::Workload& workload, const StoreState&) {
    auto store = open_store(region, run.options);
    auto buffers = BufferManager::create(*store, two).value();
    workload.perform(20, [&] {
      change(*buffers, run.after[0]);
      buffers->flush_all().value();
    });
  };
  auto options = small_medium(GetParam());
  options.nested_states_per_point = 100;
  options.images_per_run = 20'000;
  const auto report = crash::check(protocol, options);
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_GT(report.images_in_all(), 20u);
}

// One fence. A crash leaves the old page, the new one, or one that says that it is torn; pages that
// were not being flushed are what they were.
TEST_P(BufferCrash, APageWithAChecksumIsOldNewOrKnownToBeTorn) {
  using Seen = std::vector<std::string>;  // By page: its operations' numbers, "torn", "none".
  ChecksumPagesOptions options;
  options.page_bytes = kSmallPageBytes;
  options.pages = 2;
  const auto flush = [](ChecksumPages& pages, std::uint32_t page, std::uint64_t id,
                        unsigned lines) {
    std::vector<std::uint64_t> words(kSmallPageBytes / 8);
    (void)pages.read({page}, std::as_writable_bytes(std::span(words))).has_value();
    for (unsigned line = 0; line < 2; ++line) {
      if ((lines >> line & 1) != 0) std::fill_n(words.begin() + line * 8, 8, id);
    }
    LineSet dirty;
    for (unsigned line = 0; line < 2; ++line) {
      if ((lines >> line & 1) != 0) dirty.mark_lines(line, 1);
    }
    pages.flush({{page}, reinterpret_cast<const std::byte*>(words.data()), &dirty}).value();
  };
  crash::Protocol<Seen> protocol;
  protocol.initial = {"1 1", "none"};
  protocol.setup = [=](Region& region) {
    auto pages = ChecksumPages::create(region, whole(region), options).value();
    flush(*pages, 0, 1, 3);
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    auto pages = ChecksumPages::open(region, whole(region)).value();
    run.perform(2, [&] { flush(*pages, 1, 2, 3); });
    run.perform(3, [&] { flush(*pages, 0, 3, 2); });
  };
  protocol.recover = [=](Region& region) -> Result<Seen> {
    HF_ASSIGN_OR_RETURN(auto pages, ChecksumPages::open(region, whole(region)));
    Seen seen;
    for (std::uint32_t page = 0; page < 2; ++page) {
      std::vector<std::uint64_t> words(kSmallPageBytes / 8);
      const auto status = pages->read({page}, std::as_writable_bytes(std::span(words)));
      seen.push_back(status ? std::to_string(words[0]) + " " + std::to_string(words[8])
                     : status.code() == Errc::kCorrupt ? "torn"
                                                       : "none");
      for (std::size_t i = 1; status && i < words.size(); ++i) {
        if (words[i] != words[i / 8 * 8]) seen.back() = "passes for whole and is torn";
      }
    }
    return seen;
  };
  protocol.check = [](const crash::Past<Seen>& past, const Seen& seen) -> std::string {
    const Seen before = {"1 1", "none"}, after = {"1 3", "2 2"};
    for (std::size_t page = 0; page < 2; ++page) {
      const std::uint64_t id = page == 0 ? 3 : 2;
      bool begun = false, acknowledged = past.base[page] == after[page];
      for (const auto& operation : past.operations) {
        if (operation.id == id) begun = true, acknowledged = operation.acknowledged();
      }
      const bool fine =
          acknowledged ? seen[page] == after[page]
          : begun ? seen[page] == before[page] || seen[page] == after[page] || seen[page] == "torn"
                  : seen[page] == past.base[page];
      if (!fine) return "page " + std::to_string(page) + ": " + seen[page];
    }
    return "";
  };
  const auto report = crash::check(protocol, shown_before_durable(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(2).barriers(), 1u);
  EXPECT_EQ(report.operation(3).barriers(), 1u);
}

TEST_P(BufferCrash, PagesWithChecksumsAreThereOrNotAfterTheirCreation) {
  ChecksumPagesOptions options;
  options.page_bytes = kSmallPageBytes;
  options.pages = 2;
  crash::Protocol<bool> protocol;
  protocol.setup = [](Region& region) {  // Leftovers.
    region.persist().store(reinterpret_cast<std::uint64_t*>(region.data() + 4096), 7);
    region.persist().persist(region.data() + 4096, 8);
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    run.perform(1, [&] { ChecksumPages::create(region, whole(region), options).value(); });
  };
  protocol.recover = [](Region& region) -> Result<bool> {
    auto pages = ChecksumPages::open(region, whole(region));
    if (!pages && pages.code() == Errc::kNotHoldfast) return false;
    if (!pages) return std::move(pages).error();
    std::vector<std::byte> content(kSmallPageBytes);
    if ((*pages)->read({0}, content).code() != Errc::kNotFound)
      return Error{Errc::kCorrupt, "a new page is not new"};
    return true;
  };
  protocol.check = [](const crash::Past<bool>& past, const bool& there) {
    const bool created = past.base || past.operations[0].acknowledged();
    return created && !there ? "gone" : "";
  };
  const auto report = crash::check(protocol, shown_before_durable(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.operation(1).barriers(), 2u);
}

}  // namespace
}  // namespace holdfast::blocks
