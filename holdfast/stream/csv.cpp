#include "csv.hpp"

#include <algorithm>

#include <holdfast/base/format.hpp>

namespace holdfast::stream {

std::string_view CsvFields::split(std::string_view record) {
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(record.size());  // Never moves: the fields point into it.
  std::size_t at = 0;
  for (;;) {
    CsvField field;
    if (at < record.size() && record[at] == '"') {
      field.quoted = true;
      const std::size_t begun = unquoted_.size();
      bool closed = false;
      for (++at; at < record.size() && !closed; ++at) {
        const bool quote = record[at] == '"';
        const bool doubled = quote && at + 1 < record.size() && record[at + 1] == '"';
        closed = quote && !doubled;
        at += doubled ? 1 : 0;
        if (!closed) unquoted_ += record[at];
      }
      if (!closed) return "a quote has no partner";
      field.text = std::string_view(unquoted_).substr(begun);
      if (at < record.size() && record[at] != options_.delimiter)
        return "something stands behind a closing quote";
    } else {
      const auto end = std::min(record.find(options_.delimiter, at), record.size());
      field.text = record.substr(at, end - at);
      if (field.text.find('"') != std::string_view::npos)
        return "a quote stands within a field that does not begin with one";
      at = end;
    }
    fields_.push_back(field);
    if (at >= record.size()) return {};
    ++at;
  }
}

// Before the first record a byte order mark is no part of it, so a field that begins with one is
// quoted.
void append_csv_field(std::string_view text, const CsvOptions& options, std::string& line) {
  const char special[] = {'"', '\n', '\r', options.delimiter};
  if (text.find_first_of(std::string_view(special, sizeof special)) == std::string_view::npos &&
      text != options.null_literal && !text.starts_with(kByteOrderMark)) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

}  // namespace holdfast::stream
