// Any bytes, cut anywhere, go through all importers. What must hold for every input:
//   - where the chunks are cut changes nothing;
//   - every record that came out can be written and read back as itself;
//   - no record is larger than the limit, no two pieces begin at the same line, lines never go
//   back.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "../../tools/import/record_parser.hpp"

namespace {

using namespace holdfast::tools;

constexpr std::uint64_t kLimit = 4096;

struct Piece {
  bool record;
  std::string key, value;
  std::uint64_t line;
  bool operator==(const Piece&) const = default;
};

class Collector final : public RecordSink {
 public:
  std::vector<Piece> pieces;
  bool record(std::string_view key, std::string_view value, std::uint64_t line) override {
    pieces.push_back({true, std::string{key}, std::string{value}, line});
    return true;
  }
  bool skip(std::uint64_t line, std::string_view reason) override {
    pieces.push_back({false, {}, std::string{reason}, line});
    return true;
  }
};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "import_fuzz: %s\n", what);
  std::abort();
}

std::vector<Piece> parse(const ParserOptions& options, std::string_view text,
                         std::size_t chunk_bytes) {
  Collector collector;
  const auto parser = make_parser(options);
  while (!text.empty()) {
    require(parser->feed(text.substr(0, chunk_bytes), collector), "feed stopped by itself");
    text.remove_prefix(std::min(chunk_bytes, text.size()));
  }
  require(parser->finish(collector), "finish stopped by itself");
  return collector.pieces;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  ParserOptions options;
  options.limits.record_bytes = kLimit;
  switch (data[0] % 7) {
    case 0: break;
    case 1: options.key_fields = {"id"}; break;
    case 2:
      options.format = RecordFormat::kControl;
      options.key_fields = {"Package", "Version"};
      break;
    case 3: options.format = RecordFormat::kCsv; break;
    case 4: options.format = RecordFormat::kTsv; break;
    case 5: options.format = RecordFormat::kMdbDump; break;
    case 6: options.format = RecordFormat::kLdbDump; break;
  }
  const std::string_view text{reinterpret_cast<const char*>(data) + 2, size - 2};
  const auto whole = parse(options, text, text.size() + 1);
  require(parse(options, text, 1) == whole, "cut after every byte, the text says something else");
  require(parse(options, text, data[1] + 1u) == whole,
          "cut elsewhere, the text says something else");

  std::uint64_t last_line = 0;
  std::string written;
  for (const Piece& piece : whole) {
    require(piece.line > last_line, "lines go back");
    last_line = piece.line;
    if (!piece.record) continue;
    require(piece.value.size() <= kLimit, "a record beyond the limit");
    written.clear();
    ParserOptions unlimited = options;
    unlimited.limits.record_bytes = 1 << 20;
    // Dumps of other stores are only read: what came from one goes out as CSV.
    if (data[0] % 7 >= 5) unlimited.format = RecordFormat::kCsv;
    require(append_record(written, unlimited, piece.key, piece.value).has_value(),
            "a record cannot be written back");
    const auto again = parse(unlimited, written, written.size());
    require(again.size() == 1 && again[0].record && again[0].key == piece.key &&
                again[0].value == piece.value,
            "a record written back reads as another");
  }
  return 0;
}
