#include "format_guess.hpp"

#include <utility>

#include <holdfast/base/format.hpp>

#include "field_text.hpp"

namespace holdfast::tools {
namespace {

constexpr std::string_view kGzipSuffix = ".gz";

constexpr std::pair<std::string_view, RecordFormat> kSuffixes[] = {
    {".jsonl", RecordFormat::kJsonLines}, {".ndjson", RecordFormat::kJsonLines},
    {".json", RecordFormat::kJsonLines},  {".csv", RecordFormat::kCsv},
    {".tsv", RecordFormat::kTsv},
};
constexpr std::pair<std::string_view, RecordFormat> kBeginnings[] = {
    {"{", RecordFormat::kJsonLines},
    {"VERSION=", RecordFormat::kMdbDump},
    {"format=", RecordFormat::kMdbDump},
    {"0x", RecordFormat::kLdbDump},
    {"Keys in range: ", RecordFormat::kLdbDump},  // Of a store without keys.
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

bool is_gzip_name(std::string_view file) { return file.ends_with(kGzipSuffix); }

std::optional<RecordFormat> format_of_name(std::string_view file) {
  if (is_gzip_name(file)) file.remove_suffix(kGzipSuffix.size());
  for (const auto& [suffix, format] : kSuffixes) {
    if (file.ends_with(suffix)) return format;
  }
  return std::nullopt;
}

std::optional<RecordFormat> FormatGuess::look(std::string_view chunk) {
  earlier_ = {newlines_, held_};
  for (const char c : chunk) {
    if (held_.empty() && is_blank(c)) {
      newlines_ += c == '\n';
      continue;
    }
    held_ += c;
    if (held_ == kByteOrderMark) {  // Files put one behind the other have several.
      held_.clear();
      continue;
    }
    bool open = kByteOrderMark.starts_with(held_);
    for (const auto& [beginning, format] : kBeginnings) {
      if (held_ == beginning) return format;
      open = open || beginning.starts_with(held_);
    }
    if (!open) return RecordFormat::kControl;
  }
  earlier_ = {newlines_, held_};
  return std::nullopt;
}

std::optional<RecordFormat> FormatGuess::end() {
  if (held_.empty()) return std::nullopt;
  return RecordFormat::kControl;
}

void FormatGuess::feed_earlier(RecordParser& parser, RecordSink& sink) const {
  for (std::uint64_t i = 0; i < earlier_.newlines; ++i)
    (void)parser.feed("\n", sink);  // Blank lines: the sink is not called.
  (void)parser.feed(earlier_.held, sink);
}

}  // namespace holdfast::tools
