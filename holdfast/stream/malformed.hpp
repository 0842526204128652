// malformed.hpp: what becomes of records that are malformed.
//
// They end the query, unless the table's format ignores errors (its fields that cannot be read are
// NULL, a record that is no row is skipped), or the table has a place for them: then such records
// are skipped and appended to that file as they are, each with a LF behind it; of what has no bytes
// of its own, as in a damaged file, its place and reason. All are counted, and a few are kept as
// samples.
//
// A record may stand in the file twice, after a crash, and a part of one on a line of its own.
//
// Threads  One at a time.
// Errors   kCorrupt: the record, what is wrong and what to do. kIo, kNoSpace: of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream {

class Malformed {
 public:
  static constexpr std::size_t kSamples = 5;
  // Then a source pauses: a long stretch of them keeps neither a signal nor a checkpoint waiting.
  static constexpr int kAtOnce = 4096;

  // Asks for 'malformed-records.path' (ours). `ignore_option`: what to set to go on, for messages.
  static Result<Malformed> of(const sql::Table& table, TableOptions& options, bool ignore_errors,
                              std::string ignore_option);

  // `record` at `place` is malformed: `wrong` says how. Its data() is null: it has no bytes.
  // `made`: there is a row of it, with NULLs. True: that row counts.
  Result<bool> take(std::string_view place, std::string_view wrong, std::string_view record,
                    bool made);
  std::uint64_t count() const { return count_; }
  void set_count(std::uint64_t count) { count_ = count; }
  const std::vector<std::string>& samples() const { return samples_; }

 private:
  Status append(std::string_view bytes);

  std::string table_, ignore_option_, path_;
  bool ignore_errors_ = false;
  FileDescriptor file_;
  std::uint64_t count_ = 0;
  std::vector<std::string> samples_;
};

}  // namespace holdfast::stream
