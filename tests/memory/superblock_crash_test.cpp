// A superblock is there whole or not at all, and a DurableWriter orders what it puts, on every
// medium.
#include <holdfast/memory/superblock.hpp>

#include <gtest/gtest.h>

#include <cstring>

#include <holdfast/crash/checker.hpp>

namespace holdfast {
namespace {

using crash::Past;

constexpr SuperblockFormat kFormat{.name = "thing",
                                   .magic = magic_of("HLDTHNG1"),
                                   .version = 1,
                                   .oldest_version = 1,
                                   .known_incompatible = 0};
constexpr std::size_t kBodyBytes = 24;
constexpr std::uint64_t kDataAt = 1024;  // Another sector.

crash::Options options(const crash::Model& model) {
  crash::Options made;
  made.model = model;
  made.size_bytes = made.unit_bytes = made.max_size_bytes = 4096;
  return made;
}

class SuperblockCrash : public testing::TestWithParam<crash::Model> {};
INSTANTIATE_TEST_SUITE_P(Media, SuperblockCrash, testing::ValuesIn(crash::all_models()),
                         [](const auto& test) { return name(test.param); });

struct Seen {
  std::uint64_t body = 0;  // Its first word; 0: there is no superblock.
  std::uint64_t data = 0;
  bool operator==(const Seen&) const = default;
};

void create(Region& region, std::uint64_t value) {
  const DurableWriter writer(region);
  writer.put_word(kDataAt, value).value();
  const std::vector<std::uint64_t> body(kBodyBytes / 8, value);
  const auto bytes = std::as_bytes(std::span(body));
  SuperblockHeader header{};
  header.format_version = header.oldest_reader = 1;
  header.id = value;
  write_superblock(writer, 0, sealed_header(header, kFormat, bytes), bytes).value();
}

Result<Seen> look(Region& region) {
  std::array<std::uint64_t, kBodyBytes / 8> body;
  const auto found =
      read_superblock(kFormat, {region.data(), 4096}, std::as_writable_bytes(std::span(body)));
  if (found.code() == Errc::kNotHoldfast) return Seen{};
  if (!found) return found.error();
  if (body[0] != body[2] || found->id != body[0]) return Error{Errc::kCorrupt, "mixed"};
  const DurableWriter writer(region);
  write_back_superblock(writer, 0, *found);
  writer.order().value();
  return Seen{body[0], writer.word(kDataAt)};
}

// Leftovers of an interrupted creation, the magic apart, lie there before.
crash::Protocol<Seen> creation() {
  crash::Protocol<Seen> protocol;
  protocol.setup = [](Region& region) {
    create(region, 5);
    DurableWriter writer(region);
    writer.put_word(0, 0).value();
    writer.order().value();
  };
  protocol.workload = [](Region& region, crash::Workload& run) {
    run.perform(1, [&] { create(region, 6); });
  };
  protocol.recover = look;
  protocol.check = [](const Past<Seen>& past, const Seen& seen) -> std::string {
    if (seen == Seen{6, 6}) return "";
    return seen == Seen{} && !past.operations[0].acknowledged() ? ""
                                                                : "neither there nor not there";
  };
  protocol.then = [](Region& region, crash::Workload& run, const Seen& seen) {
    if (seen == Seen{}) run.perform(1, [&] { create(region, 6); });
  };
  return protocol;
}

TEST_P(SuperblockCrash, IsThereWithAllThatWasPutBeforeOrNotAtAll) {
  const auto report = crash::check(creation(), options(GetParam()));
  EXPECT_TRUE(report.ok()) << report;
  if (GetParam().granularity == Granularity::kLine) {
    EXPECT_EQ(report.operation(1).barriers(), 2u);
  }
}

TEST_P(SuperblockCrash, IsErasedOrStillThere) {
  crash::Protocol<Seen> protocol;
  protocol.initial = {5, 5};
  protocol.setup = [](Region& region) { create(region, 5); };
  protocol.workload = [](Region& region, crash::Workload& run) {
    run.perform(1, [&] { erase_superblock(DurableWriter(region)).value(); });
  };
  // A torn line of zeros shows as damage; that is what a crash during erasing may leave.
  protocol.recover = [](Region& region) -> Result<Seen> {
    const auto seen = look(region);
    return seen.code() == Errc::kCorrupt ? Seen{} : seen;
  };
  protocol.check = [](const Past<Seen>& past, const Seen& seen) -> std::string {
    if (seen == Seen{}) return "";
    return past.operations[0].acknowledged() ? "erased, and there again" : "";
  };
  auto medium = options(GetParam());
  medium.kept_once_shown = false;  // Nothing was there to be shown; it may come back.
  const auto report = crash::check(protocol, medium);
  EXPECT_TRUE(report.ok()) << report;
}

}  // namespace
}  // namespace holdfast
