// Any bytes as a result document, or as one of PerMA-Bench: an error that names a place, or a
// document that everything which reads results can take, and that comes back the same when it is
// written and read.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <holdfast/results/compare.hpp>
#include <holdfast/results/csv.hpp>
#include <holdfast/results/perma_bench.hpp>
#include <holdfast/results/result.hpp>
#include <holdfast/results/table.hpp>

namespace {

using namespace holdfast::results;

void require(bool held, const char* what) {
  if (held) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto document = looks_like_perma_bench(bytes) ? from_perma_bench(bytes) : from_json(bytes);
  if (!document) {
    require(!document.error().detail.empty(), "an error says what is wrong");
    return 0;
  }
  // By text: not-a-number is no number's equal, not even its own.
  const auto text = to_json(*document);
  const auto again = from_json(text);
  require(again.has_value(), "what was written is read");
  require(to_json(*again) == text, "what was read is what was written");
  for (const auto& row : document->rows) {
    (void)identity(row, document->parameters);
    (void)row.latency().percentile(99.9);
  }
  (void)table(*document, {"floor", "holdfast"});
  (void)table(compare(*document, *again, {}), {});
  (void)to_csv(*document);
  require(from_perma_bench(to_perma_bench(*document, "").text).has_value() ||
              !looks_like_perma_bench(bytes),
          "what came from PerMA-Bench goes back");
  return 0;
}
