// format_guess.hpp: what a text is, told by its file's name or by how it begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "record_parser.hpp"

namespace holdfast::tools {

// .jsonl, .ndjson, .json, .csv and .tsv, with or without .gz behind them.
std::optional<RecordFormat> format_of_name(std::string_view file);
bool is_gzip_name(std::string_view file);

// The format of a text, told by its first bytes that are no blanks and no byte order marks. CSV and
// TSV are not told so: they may begin with anything.
class FormatGuess {
 public:
  // Nothing while the text may still be of several formats.
  std::optional<RecordFormat> look(std::string_view chunk);
  // The text is over: control stanzas, unless nothing but blanks was seen.
  std::optional<RecordFormat> end();

  // Gives the parser of that format what matters of the chunks before the last one looked at; after
  // end() of all.
  void feed_earlier(RecordParser& parser, RecordSink& sink) const;

 private:
  std::uint64_t newlines_ = 0;  // Before what is held.
  std::string held_;            // From the first byte that is no blank.
  struct {
    std::uint64_t newlines = 0;
    std::string held;
  } earlier_;
};

}  // namespace holdfast::tools
