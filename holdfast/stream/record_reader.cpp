#include "record_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::stream {

RecordReader::RecordReader(std::unique_ptr<Input> input, Framing framing, std::size_t record_bytes,
                           Quoting quoting)
    : input_(std::move(input)),
      framing_(framing),
      record_bytes_(record_bytes),
      quoting_(quoting),
      buffer_(std::max<std::size_t>(256 * KiB, record_bytes)) {}

Status RecordReader::seek(std::uint64_t offset, std::uint64_t records) {
  HF_RETURN_IF_ERROR(input_->seek(offset));
  offset_ = offset;
  records_ = records;
  begin_ = end_ = seen_ = 0;
  closed_ = kNone;
  in_quotes_ = skipping_ = no_more_ = false;
  return {};
}

Error RecordReader::broken(std::string_view what) const {
  return Error{Errc::kCorrupt,
               name() + ", record " + std::to_string(records_) + ": " + std::string(what)};
}

std::string RecordReader::reason_of(const Error& error) const {
  if (!error.detail.starts_with(name() + ", record ")) return error.detail;
  const auto colon = error.detail.find(": ", name().size());
  return colon == std::string::npos ? error.detail : error.detail.substr(colon + 2);
}

Result<bool> RecordReader::fill() {
  if (no_more_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const auto got = input_->read(buffer_.data() + end_, buffer_.size() - end_);
  if (!got) {
    // Nothing can be read behind it: a damaged gzip file would say so without end.
    begin_ = end_ = 0;
    no_more_ = true;
    return got.error();
  }
  end_ += *got;
  no_more_ = *got == 0 && input_->at_end();
  return *got > 0;
}

// Whether a field begins with this quote. Two in a field with quotes are one of its text: the first
// closes it and the second opens it again. A quote within a field without quotes is neither: else
// one of them would make a single record of all that follows.
bool RecordReader::opens(const char* quote) const {
  const char* const begin = buffer_.data() + begin_;
  if (quote == begin || (quote[-1] == quoting_.delimiter && !is_escaped(quote - 1))) return true;
  const auto at = static_cast<std::size_t>(quote - begin);
  return (closed_ != kNone && closed_ + 1 == at) ||
         (offset_ == 0 && std::string_view(begin, at) == kByteOrderMark);
}

bool RecordReader::is_escaped(const char* sign) const {
  if (quoting_.escape == '\0') return false;
  const char* const begin = buffer_.data() + begin_;
  const char* first = sign;
  while (first > begin && first[-1] == quoting_.escape)
    --first;
  return (sign - first) % 2 != 0;
}

// Of what was read and not taken, which begins with a record.
bool RecordReader::at_comment() const {
  if (!quoting_.comments) return false;
  std::string_view line(buffer_.data() + begin_, end_ - begin_);
  if (offset_ == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return line.starts_with('#');
}

std::size_t RecordReader::find_line_end() {
  const char* const begin = buffer_.data() + begin_;
  const char* const end = buffer_.data() + end_;
  const char* at = begin + seen_;
  while (at < end) {
    if (!in_quotes_) {
      const auto* lf = static_cast<const char*>(std::memchr(at, '\n', end - at));
      const auto* line_end = lf == nullptr ? end : lf;
      const auto* quote =
          framing_ == Framing::kQuoted && quoting_.quote != '\0'
              ? static_cast<const char*>(std::memchr(at, quoting_.quote, line_end - at))
              : nullptr;
      if (quote == nullptr && lf != nullptr) return static_cast<std::size_t>(lf - begin);
      in_quotes_ = quote != nullptr && opens(quote);
      at = quote == nullptr ? end : quote + 1;
    } else {
      const auto* quote = static_cast<const char*>(std::memchr(at, quoting_.quote, end - at));
      in_quotes_ = quote == nullptr || is_escaped(quote);
      if (!in_quotes_) closed_ = static_cast<std::size_t>(quote - begin);
      at = quote == nullptr ? end : quote + 1;
    }
  }
  seen_ = static_cast<std::size_t>(end - begin);
  return kNone;
}

void RecordReader::take(std::size_t bytes) {
  begin_ += bytes;
  offset_ += bytes;
  seen_ = 0;
  in_quotes_ = false;
  closed_ = kNone;
}

// The next `size` bytes without what is no part of the line: CR, and the mark of the first one.
std::string_view RecordReader::line_of(std::size_t size) const {
  std::string_view line(buffer_.data() + begin_, size);
  if (framing_ == Framing::kFixed) return line;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (framing_ == Framing::kPlainLines) return line;
  if (offset_ == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return line;
}

// False: the end of the record has not come yet. A socket on which it never comes keeps nobody
// waiting.
Result<bool> RecordReader::skip_to_line_end() {
  const auto begun = offset_;
  while (offset_ - begun <= kMaxRecordBytes || input_->at_end()) {
    const auto* const begin = buffer_.data() + begin_;
    const auto* lf = static_cast<const char*>(std::memchr(begin, '\n', end_ - begin_));
    take(lf == nullptr ? end_ - begin_ : static_cast<std::size_t>(lf - begin) + 1);
    if (lf != nullptr) return skipping_ = false, true;
    HF_ASSIGN_OR_RETURN(const bool more, fill());
    if (!more) return false;
  }
  return false;
}

Result<bool> RecordReader::next(std::string_view& record) {
  for (;;) {
    skipping_ = skipping_ || at_comment();
    if (skipping_) {
      HF_ASSIGN_OR_RETURN(const bool over, skip_to_line_end());
      if (!over) return false;
      continue;
    }
    const std::size_t bytes = end_ - begin_;
    std::size_t size = kNone;
    if (framing_ != Framing::kFixed)
      size = find_line_end();
    else if (bytes >= record_bytes_)
      size = record_bytes_;
    const std::size_t line_end = framing_ == Framing::kFixed ? 0 : 1;
    // Whatever was read, it ends with the first line that ends behind so many bytes.
    if (std::min(bytes, size) > kMaxRecordBytes) {
      take(kMaxRecordBytes);
      ++records_;
      skipping_ = true;
      HF_RETURN_IF_ERROR(skip_to_line_end());
      return too_long();
    }
    if (size != kNone) {
      record = line_of(size);
      take(size + line_end);
      ++records_;
      return true;
    }
    HF_ASSIGN_OR_RETURN(const bool more, fill());
    if (more) continue;
    if (!no_more_ || begin_ == end_) return false;
    // The last record, without a LF.
    record = line_of(bytes);
    take(bytes);
    ++records_;
    if (framing_ == Framing::kFixed)
      return broken("the input ends within it, behind " + std::to_string(bytes) + " of " +
                    std::to_string(record_bytes_) + " bytes");
    return true;
  }
}

}  // namespace holdfast::stream
