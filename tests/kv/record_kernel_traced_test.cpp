// The traced build: every line that a kernel stores is reported, as Persist's other verbs report.
#include <gtest/gtest.h>

#include <string>

#include <holdfast/memory/trace.hpp>

#include "record_support.hpp"

namespace holdfast::kv {
namespace {

struct Report {
  std::string what;
  const void* at;
  std::size_t bytes;
  bool operator==(const Report&) const = default;
};

class Sink final : public TraceSink {
 public:
  void on_store(const void* to, std::size_t bytes, const std::source_location& site) override {
    add({"store", to, bytes}, site);
  }
  void on_stream(const void* to, std::size_t bytes, const std::source_location& site) override {
    add({"stream", to, bytes}, site);
  }
  void on_write_back(const void* to, std::size_t bytes, const std::source_location& site) override {
    add({"write_back", to, bytes}, site);
  }
  void on_fence(const std::source_location& site) override { add({"fence", nullptr, 0}, site); }

  std::vector<Report> reports;
  std::vector<unsigned> lines;              // Of the call sites.
  std::vector<std::byte> content_at_store;  // What the medium held when it was reported.

 private:
  void add(const Report& step, const std::source_location& site) {
    reports.push_back(step);
    lines.push_back(site.line());
    if (step.what != "store" && step.what != "stream") return;
    const auto* const bytes = static_cast<const std::byte*>(step.at);
    content_at_store.assign(bytes, bytes + step.bytes);
  }
};

TEST(RecordKernelTraced, ReportsEveryLineWhereItIsCalled) {
  alignas(64) static std::byte medium[1024];
  const std::vector<std::vector<std::uint32_t>> sets = {{}, {0}, {8, 24}};
  for (const auto& offsets : sets) {
    for (const std::size_t key : {16, 8, 100}) {
      for (const std::size_t value : {0, 200, 301}) {
        for (const RecordIsa isa : {RecordIsa::kPortable, RecordIsa::kAvx2, RecordIsa::kAvx512}) {
          if (isa > record_isa()) continue;
          const TestRecord record{pattern(key, 7), pattern(value, 11)};
          const auto expected = model_record(record, 1, offsets);
          const auto reports_on = [&](const Persist& persist) {
            Sink sink;
            auto* const before = set_trace_sink(&sink);
            const unsigned line = __LINE__ + 1;
            compose_record_by(isa, persist, medium, record.parts(), 1, PatchableWords(offsets));
            set_trace_sink(before);
            EXPECT_EQ(sink.content_at_store, expected);
            for (const unsigned reported : sink.lines)
              EXPECT_EQ(reported, line);
            return sink.reports;
          };
          const std::size_t bytes = expected.size();
          const auto instruction = WriteBackInstruction::kClwb;
          using Reports = std::vector<Report>;
          EXPECT_EQ(reports_on(Persist(instruction, true)), (Reports{{"stream", medium, bytes}}));
          EXPECT_EQ(reports_on(Persist(instruction, false)),
                    (Reports{{"store", medium, bytes}, {"write_back", medium, bytes}}));
          EXPECT_EQ(reports_on(Persist::none()), (Reports{{"store", medium, bytes}}));
          EXPECT_EQ(reports_on(Persist::byte()), (Reports{{"store", medium, bytes}}));
        }
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::kv
