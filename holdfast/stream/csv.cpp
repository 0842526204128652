#include "csv.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <holdfast/base/units.hpp>

namespace holdfast::stream {
namespace {

Error io_error(std::string_view call, const std::string& path) {
  const int code = errno;
  return Error{code == ENOENT ? Errc::kNotFound : Errc::kIo,
               std::string(call) + " " + path + ": " + std::strerror(code)};
}

}  // namespace

CsvReader::CsvReader(int file, std::string path, CsvFormat format)
    : file_(file), path_(std::move(path)), format_(std::move(format)), buffer_(256 * KiB) {}

CsvReader::CsvReader(CsvReader&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      format_(std::move(other.format_)),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      end_(other.end_),
      at_end_(other.at_end_),
      offset_(other.offset_),
      records_(other.records_),
      unquoted_(std::move(other.unquoted_)) {}

CsvReader::~CsvReader() {
  if (file_ >= 0) ::close(file_);
}

Result<CsvReader> CsvReader::open(const std::string& path, CsvFormat format) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return io_error("open", path);
  CsvReader reader(file, path, std::move(format));
  struct stat status{};
  if (::fstat(file, &status) != 0) return io_error("stat", path);
  if (!S_ISREG(status.st_mode))
    return Error{Errc::kUnsupported, path + " is no regular file; the csv source reads one"};
  return reader;
}

Status CsvReader::seek(std::uint64_t offset, std::uint64_t records) {
  struct stat status{};
  if (::fstat(file_, &status) != 0) return io_error("stat", path_);
  if (offset > static_cast<std::uint64_t>(status.st_size)) {
    return Error{Errc::kInvalidOption, path_ + " has " + std::to_string(status.st_size) +
                                           " bytes, and was read up to byte " +
                                           std::to_string(offset) +
                                           " before; it is not the file it was"};
  }
  if (::lseek(file_, static_cast<off_t>(offset), SEEK_SET) < 0) return io_error("seek", path_);
  offset_ = offset;
  records_ = records;
  begin_ = end_ = 0;
  at_end_ = false;
  return {};
}

Error CsvReader::broken(std::string_view what) const {
  return Error{Errc::kCorrupt,
               path_ + ", record " + std::to_string(records_ + 1) + ": " + std::string(what)};
}

Result<bool> CsvReader::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (end_ >= kMaxRecordBytes) return broken("it is longer than 16 MiB");
    buffer_.resize(buffer_.size() * 2);
  }
  for (;;) {
    const ssize_t got = ::read(file_, buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path_);
    at_end_ = got == 0;
    end_ += static_cast<std::size_t>(got);
    return !at_end_;
  }
}

// Bytes up to the LF that ends the record, or to the end of the file.
Result<std::size_t> CsvReader::find_end() {
  bool in_quotes = false;
  std::size_t at = 0;
  for (;;) {
    for (; begin_ + at < end_; ++at) {
      const char c = buffer_[begin_ + at];
      if (c == '"') in_quotes = !in_quotes;
      if (c == '\n' && !in_quotes) return at;
    }
    HF_ASSIGN_OR_RETURN(const bool more, fill());
    if (more) continue;
    if (in_quotes) return broken("a quote has no partner");
    return at;
  }
}

Result<bool> CsvReader::next(std::vector<CsvField>& fields) {
  HF_ASSIGN_OR_RETURN(const std::size_t size, find_end());
  const bool ended = begin_ + size < end_;  // By a LF, not by the end of the file.
  if (!ended && size == 0) return false;
  std::string_view record(buffer_.data() + begin_, size);
  if (record.ends_with('\r')) record.remove_suffix(1);
  const std::size_t taken = size + (ended ? 1 : 0);
  begin_ += taken;
  offset_ += taken;
  const Status status = split(record, fields);
  ++records_;
  if (!status) return status.error();
  return true;
}

Status CsvReader::split(std::string_view record, std::vector<CsvField>& fields) {
  fields.clear();
  unquoted_.clear();
  unquoted_.reserve(record.size());  // Never moves: the fields point into it.
  std::size_t at = 0;
  for (;;) {
    CsvField field;
    if (at < record.size() && record[at] == '"') {
      field.quoted = true;
      const std::size_t begun = unquoted_.size();
      for (++at; at < record.size(); ++at) {
        if (record[at] == '"') {
          if (at + 1 >= record.size() || record[at + 1] != '"') break;
          ++at;
        }
        unquoted_ += record[at];
      }
      ++at;
      field.text = std::string_view(unquoted_).substr(begun);
      if (at < record.size() && record[at] != format_.delimiter)
        return broken("something stands behind a closing quote");
    } else {
      const auto end = std::min(record.find(format_.delimiter, at), record.size());
      field.text = record.substr(at, end - at);
      if (field.text.find('"') != std::string_view::npos)
        return broken("a quote stands within a field that does not begin with one");
      at = end;
    }
    fields.push_back(field);
    if (at >= record.size()) return {};
    ++at;
  }
}

void append_csv_field(std::string_view text, const CsvFormat& format, std::string& line) {
  const char special[] = {'"', '\n', '\r', format.delimiter};
  if (text.find_first_of(std::string_view(special, sizeof special)) == std::string_view::npos &&
      text != format.null_literal) {
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
