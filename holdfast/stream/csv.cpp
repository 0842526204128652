#include "csv.hpp"

#include <algorithm>

#include <holdfast/base/format.hpp>

namespace holdfast::stream {
namespace {

constexpr std::string_view kQuoteWithin =
    "a quote stands within a field that does not begin with one";

}  // namespace

std::string_view CsvFields::split(std::string_view record) {
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(record.size());  // Never moves: the fields point into it.
  const Quoting quoting = options_.quoting;
  std::size_t at = 0;
  for (;;) {
    CsvField field;
    std::string_view wrong;
    if (quoting.quote != '\0' && at < record.size() && record[at] == quoting.quote) {
      wrong = take_quoted(record, at, field);
    } else if (quoting.escape != '\0') {
      wrong = take_plain(record, at, field);
    } else {
      const auto end = std::min(record.find(quoting.delimiter, at), record.size());
      field.text = record.substr(at, end - at);
      field.null = field.text == options_.null_literal;
      if (quoting.quote != '\0' && field.text.find(quoting.quote) != std::string_view::npos)
        wrong = kQuoteWithin;
      at = end;
    }
    if (!wrong.empty()) return wrong;
    fields_.push_back(field);
    if (at >= record.size()) return {};
    ++at;
  }
}

// The sign behind an escape at `at`.
bool CsvFields::take_escaped(std::string_view record, std::size_t& at) {
  const char escape = options_.quoting.escape;
  if (escape == '\0' || record[at] != escape || at + 1 == record.size()) return false;
  constexpr std::string_view kNames = "nrt0", kSigns("\n\r\t\0", 4);
  const auto name = kNames.find(record[++at]);
  unquoted_ += name == std::string_view::npos ? record[at] : kSigns[name];
  return true;
}

std::string_view CsvFields::take_quoted(std::string_view record, std::size_t& at, CsvField& field) {
  const auto& quoting = options_.quoting;
  const std::size_t begun = unquoted_.size();
  bool closed = false;
  for (++at; at < record.size() && !closed; ++at) {
    if (take_escaped(record, at)) continue;
    const bool quote = record[at] == quoting.quote;
    const bool doubled = quote && at + 1 < record.size() && record[at + 1] == quoting.quote;
    closed = quote && !doubled;
    at += doubled ? 1 : 0;
    if (!closed) unquoted_ += record[at];
  }
  if (!closed) return "a quote has no partner";
  if (at < record.size() && record[at] != quoting.delimiter)
    return "something stands behind a closing quote";
  field.text = std::string_view(unquoted_).substr(begun);
  return {};
}

// Of a format with an escape.
std::string_view CsvFields::take_plain(std::string_view record, std::size_t& at, CsvField& field) {
  const auto& quoting = options_.quoting;
  const std::size_t begun = unquoted_.size(), first = at;
  for (; at < record.size() && record[at] != quoting.delimiter; ++at) {
    if (take_escaped(record, at)) continue;
    if (quoting.quote != '\0' && record[at] == quoting.quote) return kQuoteWithin;
    unquoted_ += record[at];
  }
  field.text = record.substr(first, at - first);  // As it stands: that may be NULL.
  field.null = field.text == options_.null_literal;
  if (!field.null) field.text = std::string_view(unquoted_).substr(begun);
  return {};
}

CsvFieldWriter::CsvFieldWriter(CsvOptions options) : options_(std::move(options)) {
  const auto& quoting = options_.quoting;
  for (const char sign : {'\n', '\r', quoting.delimiter, quoting.quote, quoting.escape})
    special_[static_cast<unsigned char>(sign)] = true;
  // No quote, no escape; the sign itself may stand in any field.
  if (quoting.delimiter != '\0') special_[0] = false;
}

// Before the first record a byte order mark is no part of it, so a field that begins with one is
// quoted. So is one that would begin a comment.
bool CsvFieldWriter::must_be_quoted(std::string_view text) const {
  const auto is_special = [this](char sign) { return special_[static_cast<unsigned char>(sign)]; };
  return std::any_of(text.begin(), text.end(), is_special) || text == options_.null_literal ||
         text.starts_with(kByteOrderMark) || (options_.quoting.comments && text.starts_with('#'));
}

bool CsvFieldWriter::end_field(std::size_t begin, std::string& line) const {
  if (!must_be_quoted(std::string_view(line).substr(begin))) return true;
  const std::string text = line.substr(begin);
  line.resize(begin);
  const auto& quoting = options_.quoting;
  if (quoting.quote == '\0') return false;
  line += quoting.quote;
  for (const char c : text) {
    if (quoting.escape != '\0' && (c == quoting.quote || c == quoting.escape))
      line += quoting.escape;
    else if (c == quoting.quote)
      line += quoting.quote;
    line += c;
  }
  line += quoting.quote;
  return true;
}

bool CsvFieldWriter::append(std::string_view text, std::string& line) const {
  const std::size_t begin = line.size();
  line += text;
  return end_field(begin, line);
}

}  // namespace holdfast::stream
