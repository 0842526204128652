#include <holdfast/olap/mart/csv_reader.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::olap::mart {

Status CsvFormat::validate() const {
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '\0')
    return Error{Errc::kInvalidOption,
                 "delimiter: a character is wanted that is no quote and no line end"};
  return {};
}

Result<CsvReader> CsvReader::open(const std::string& path, const CsvFormat& format) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    const int code = errno;
    return Error{code == ENOENT ? Errc::kNotFound : Errc::kIo,
                 "open " + path + ": " + std::strerror(code)};
  }
  return CsvReader(file, path, format);
}

CsvReader::CsvReader(int file, std::string name, const CsvFormat& format)
    : name_(std::move(name)), file_(file), format_(format) {}

CsvReader::CsvReader(CsvReader&& other) noexcept
    : name_(std::move(other.name_)),
      file_(std::exchange(other.file_, -1)),
      format_(std::move(other.format_)),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      at_end_(other.at_end_),
      begun_(other.begun_),
      line_(other.line_),
      record_line_(other.record_line_) {}

CsvReader::~CsvReader() {
  if (file_ >= 0) ::close(file_);
}

Error CsvReader::wrong(const std::string& what) const {
  return {Errc::kCorrupt, name_ + ":" + std::to_string(record_line_) + ": " + what};
}

// More bytes behind those of the record at hand, which moves to the front.
Status CsvReader::fill() {
  constexpr std::size_t kReadBytes = 1024 * 1024;
  if (buffer_.size() - begin_ > kMaxRecordBytes)
    return wrong("a record of more than " + std::to_string(kMaxRecordBytes) + " bytes");
  for (auto& part : parts_)
    part.begin -= begin_, part.end -= begin_;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const auto had = buffer_.size();
  buffer_.resize(had + kReadBytes);
  ssize_t got = 0;
  do {
    got = ::read(file_, buffer_.data() + had, kReadBytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Error{Errc::kIo, "read " + name_ + ": " + std::strerror(errno)};
  buffer_.resize(had + static_cast<std::size_t>(got));
  at_end_ = got == 0;
  return {};
}

// Whether there is a byte so far behind begin_.
Result<bool> CsvReader::has(std::size_t at) {
  while (begin_ + at >= buffer_.size()) {
    if (at_end_) return false;
    HF_RETURN_IF_ERROR(fill());
  }
  return true;
}

Status CsvReader::skip_mark() {
  if (begun_) return {};
  begun_ = true;
  HF_ASSIGN_OR_RETURN(const bool room, has(2));
  if (room && std::string_view(buffer_).substr(begin_).starts_with(kByteOrderMark))
    begin_ += kByteOrderMark.size();
  return {};
}

// From behind the opening quote, counted from begin_, to behind the closing one.
Result<std::size_t> CsvReader::take_quoted(std::size_t at) {
  const auto first = at;
  auto to = at;  // Doubled quotes become one, in place.
  for (;; ++at) {
    HF_ASSIGN_OR_RETURN(const bool any, has(at));
    if (!any) return wrong("a '\"' without an end");
    char* bytes = buffer_.data() + begin_;
    if (bytes[at] == '\n') ++line_;
    if (bytes[at] == '"') {
      HF_ASSIGN_OR_RETURN(const bool more, has(at + 1));
      bytes = buffer_.data() + begin_;
      if (!more || bytes[at + 1] != '"') break;
      ++at;
    }
    bytes[to++] = bytes[at];
  }
  parts_.push_back({begin_ + first, begin_ + to, true});
  return at + 1;
}

// False: the end of the file.
Result<bool> CsvReader::take_record() {
  parts_.clear();
  record_line_ = line_;
  std::size_t at = 0;
  for (;;) {
    HF_ASSIGN_OR_RETURN(const bool any, has(at));
    if (!any && at == 0) return false;
    if (any && buffer_[begin_ + at] == '"') {
      HF_ASSIGN_OR_RETURN(at, take_quoted(at + 1));
    } else {
      const auto first = at;
      for (;; ++at) {
        HF_ASSIGN_OR_RETURN(const bool more, has(at));
        if (!more) break;
        // All that is there, without a call per byte.
        const char* from = buffer_.data() + begin_;
        const auto end = buffer_.size() - begin_;
        while (at < end && from[at] != format_.delimiter && from[at] != '\n')
          ++at;
        if (at < end) break;
        --at;
      }
      parts_.push_back({begin_ + first, begin_ + at, false});
    }
    HF_ASSIGN_OR_RETURN(bool more, has(at));
    if (more && parts_.back().quoted && buffer_[begin_ + at] == '\r') {
      ++at;
      HF_ASSIGN_OR_RETURN(more, has(at));
    }
    if (!more || buffer_[begin_ + at] == '\n') break;
    if (buffer_[begin_ + at] != format_.delimiter)
      return wrong("text behind a closing '\"'; a quote within a field is doubled");
    ++at;
  }
  auto& last = parts_.back();
  if (!last.quoted && last.end > last.begin && buffer_[last.end - 1] == '\r') --last.end;
  ++line_;
  begin_ += std::min(at + 1, buffer_.size() - begin_);
  return true;
}

Result<bool> CsvReader::next(std::vector<Field>& fields) {
  HF_RETURN_IF_ERROR(skip_mark());
  for (;;) {
    HF_ASSIGN_OR_RETURN(const bool any, take_record());
    if (!any) return false;
    if (!format_.skips_empty_lines) break;
    const bool empty = parts_.size() == 1 && !parts_[0].quoted && parts_[0].begin == parts_[0].end;
    if (!empty) break;
  }
  if (format_.trailing_delimiter && parts_.size() > 1 && !parts_.back().quoted &&
      parts_.back().begin == parts_.back().end)
    parts_.pop_back();
  fields.clear();
  for (const auto& part : parts_) {
    const std::string_view text(buffer_.data() + part.begin, part.end - part.begin);
    fields.push_back({text, !part.quoted && text == format_.null});
  }
  return true;
}

}  // namespace holdfast::olap::mart
