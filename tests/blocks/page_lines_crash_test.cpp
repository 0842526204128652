// Pages of four lines, of which each operation changes one to four, by every method, depth 2: the
// first flush of a page, flushes over it, recovery, and a flush after it. page_crash_test.cpp tries
// all states of smaller pages; here there are too many for more than a covering set and samples.
#include <array>
#include <cstring>

#include <holdfast/baselines/checksum_pages.hpp>

#include "crash_support.hpp"
#include "page_crash.hpp"

namespace holdfast::blocks {
namespace {

using namespace holdfast::baselines;  // NOLINT: what this tests.

constexpr std::uint32_t kLines = 4;
using Page = std::array<std::uint64_t, kLines * 8>;
// Torn is what a page with a checksum may be, and says so, until it is flushed again.
struct Seen {
  bool torn = false;
  Page page{};
  bool operator==(const Seen&) const = default;
};

// As operation `id` leaves it.
Page page_of(std::uint32_t lines, std::uint64_t id) {
  Page page{};
  std::fill_n(page.begin(), lines * 8, id);
  return page;
}
std::span<const std::byte> bytes_of(const Page& page) { return std::as_bytes(std::span(page)); }
std::span<std::byte> bytes_of(Page& page) { return std::as_writable_bytes(std::span(page)); }

struct Store {
  FlushMethod method;
  static constexpr unsigned kBarriers = 2;
  static constexpr bool kTears = false;
  PageStoreOptions options() const {
    auto options = small_store(method);
    options.page_bytes = sizeof(Page);
    options.pages = 2;
    return options;
  }
  auto create(Region& region) const { return PageStore::create(region, whole(region), options()); }
  auto open(Region& region) const { return PageStore::open(region, whole(region), options()); }
  std::uint64_t lines_written(std::uint32_t lines) const {
    const bool logged = method == FlushMethod::kMicroLog ||
                        (method == FlushMethod::kHybrid && lines == 1);  // small_store()'s costs.
    return logged ? 1 + lines + lines + 1 : kLines + 1;
  }
};

struct Checked {
  static constexpr unsigned kBarriers = 1;
  static constexpr bool kTears = true;
  auto create(Region& region) const {
    ChecksumPagesOptions options;
    options.page_bytes = sizeof(Page);
    options.pages = 2;
    return ChecksumPages::create(region, whole(region), options);
  }
  auto open(Region& region) const { return ChecksumPages::open(region, whole(region)); }
  std::uint64_t lines_written(std::uint32_t lines) const { return lines + 1; }
};

template <class Kind>
void check(const Kind& kind, std::uint32_t lines, const crash::Model& model) {
  const auto flush = [=](auto& store, std::uint32_t number, std::uint64_t id) {
    const auto page = page_of(lines, id);
    LineSet dirty;
    dirty.mark_lines(0, lines);
    store.flush({{number}, bytes_of(page).data(), &dirty}).value();
  };
  crash::Protocol<Seen> protocol;
  protocol.initial = {false, page_of(lines, 1)};
  protocol.setup = [=](Region& region) {
    auto store = kind.create(region).value();
    flush(*store, 0, 1);
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    auto store = kind.open(region).value();
    for (const std::uint64_t id : {10, 11})
      run.perform(id, [&] { flush(*store, 0, id); });
  };
  protocol.then = [=](Region& region, crash::Workload& run, const Seen&) {
    auto store = kind.open(region).value();
    run.perform(20, [&] { flush(*store, 0, 20); });
  };
  protocol.recover = [=](Region& region) -> Result<Seen> {
    HF_ASSIGN_OR_RETURN(const auto store, kind.open(region));
    Seen seen;
    const auto status = store->read({0}, bytes_of(seen.page));
    if (status) return seen;
    if (Kind::kTears && status.code() == Errc::kCorrupt) return Seen{true, {}};
    return status.error();
  };
  protocol.check = [=](const crash::Past<Seen>& past, const Seen& seen) -> std::string {
    auto expected = past.base;
    for (const auto& operation : past.operations) {
      const Seen after{false, page_of(lines, operation.id)};
      if (!operation.acknowledged() && (seen == expected || (Kind::kTears && seen.torn))) return "";
      expected = after;
    }
    return seen == expected ? "" : "a torn, lost or old page";
  };
  auto options = crash_options(model, 20 * KiB);
  options.states_per_point = std::max<std::uint64_t>(options.states_per_point / 4, 250);
  options.images_per_run /= 4;
  options.kept_once_shown = !Kind::kTears;  // ChecksumPages writes nothing back when it is opened.
  const auto report = crash::check(protocol, options);
  ASSERT_TRUE(report.ok()) << lines << " lines\n" << report;
  EXPECT_EQ(report.operation(11).barriers(), Kind::kBarriers);
  EXPECT_EQ(report.operation(11).redundant_fences, 0u);
  if (model.granularity == Granularity::kLine) {
    EXPECT_EQ(report.operation(11).lines_written_back + report.operation(11).lines_streamed,
              kind.lines_written(lines));
  }
}

class PageLinesCrash : public testing::TestWithParam<crash::Model> {};
INSTANTIATE_TEST_SUITE_P(Models, PageLinesCrash, testing::ValuesIn(page_models()),
                         [](const auto& model) { return crash::name(model.param); });

TEST_P(PageLinesCrash, AFlushOfOneToFourLinesIsThereOrNot) {
  for (const auto method :
       {FlushMethod::kCopyOnWrite, FlushMethod::kMicroLog, FlushMethod::kHybrid}) {
    for (std::uint32_t lines = 1; lines <= kLines; ++lines) {
      check(Store{method}, lines, GetParam());
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(PageLinesCrash, APageWithAChecksumOfOneToFourNewLinesIsOldNewOrKnownToBeTorn) {
  for (std::uint32_t lines = 1; lines <= kLines; ++lines) {
    check(Checked{}, lines, GetParam());
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace holdfast::blocks
