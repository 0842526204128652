// record_parser.hpp: text of any origin becomes records, or reasons why not.
//
// A parser is fed a text in chunks of any size and calls its sink once per record and once per
// piece it skips, in the order of the text; where the chunks are cut changes nothing. It does no
// I/O, never throws for what the text says, and holds at most one record: its memory is bounded by
// Limits::record_bytes, whatever it is fed. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::tools {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // `line` is where the record begins, from 1; the views are valid during the call. False: stop.
  virtual bool record(std::string_view key, std::string_view value, std::uint64_t line) = 0;
  // What begins at `line` was not understood. False: stop.
  virtual bool skip(std::uint64_t line, std::string_view reason) = 0;
};

class RecordParser {
 public:
  virtual ~RecordParser() = default;
  // False once the sink has said stop; nothing more is then to be fed.
  virtual bool feed(std::string_view chunk, RecordSink& sink) = 0;
  // The text is over: what is still open is a record (a last newline may be missing) or skipped.
  virtual bool finish(RecordSink& sink) = 0;
};

struct Limits {
  std::uint64_t record_bytes = 256 * MiB;  // A longer line or stanza is skipped, unread.
};

// The last two are only read.
enum class RecordFormat : std::uint8_t { kJsonLines, kControl, kCsv, kTsv, kMdbDump, kLdbDump };

struct ParserOptions {
  RecordFormat format = RecordFormat::kJsonLines;
  // kControl: the fields whose values, joined by '_', make the key; not empty.
  // kJsonLines: empty for {"key": …, "value": …}; one name for whole objects under that member.
  // All others: empty.
  std::vector<std::string> key_fields;
  bool header = false;  // kCsv, kTsv: the first line names the columns; it is no record.
  // Of append_record: bytes are no text, even if they look like some. kControl has no such bytes.
  bool as_bytes = false;
  Limits limits;

  Status validate() const;  // kInvalidOption.
};

// Each in a file of its own. `options` are valid.
std::unique_ptr<RecordParser> make_json_lines_parser(const ParserOptions& options);
std::unique_ptr<RecordParser> make_control_parser(const ParserOptions& options);
std::unique_ptr<RecordParser> make_csv_parser(const ParserOptions& options);
std::unique_ptr<RecordParser> make_tsv_parser(const ParserOptions& options);
std::unique_ptr<RecordParser> make_mdb_dump_parser(const ParserOptions& options);
std::unique_ptr<RecordParser> make_ldb_dump_parser(const ParserOptions& options);
std::unique_ptr<RecordParser> make_parser(const ParserOptions& options);

// The way back: appends the text from which a parser with the same options makes exactly this
// record. kInvalidOption where there is none (a value that is no stanza, a key that is not in it).
Status append_record(std::string& out, const ParserOptions& options, std::string_view key,
                     std::string_view value);
// The line before the first record, if options.header.
void append_header(std::string& out, const ParserOptions& options);

// Lines of one record; `as_bytes` as in ParserOptions. csv.cpp and tsv.cpp.
void append_csv(std::string& out, std::string_view key, std::string_view value, bool as_bytes);
void append_tsv(std::string& out, std::string_view key, std::string_view value, bool as_bytes);

}  // namespace holdfast::tools
