#include <holdfast/olap/ssb/text_table.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::olap::ssb {
namespace {

Error file_error(std::string_view call, const std::string& path) {
  const int code = errno;
  return {code == ENOENT ? Errc::kNotFound : Errc::kIo,
          std::string(call) + " " + path + ": " + std::strerror(code)};
}

}  // namespace

Result<TextTable> TextTable::open(std::string path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return file_error("open", path);
  struct stat status{};
  if (::fstat(file, &status) != 0) {
    auto error = file_error("fstat", path);
    ::close(file);
    return error;
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(file);
    return Error{Errc::kInvalidOption, path + ": a regular file is wanted"};
  }
  return TextTable(std::move(path), file, static_cast<std::uint64_t>(status.st_size));
}

TextTable::TextTable(TextTable&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), bytes_(other.bytes_) {}

TextTable::~TextTable() {
  if (file_ >= 0) ::close(file_);
}

Result<std::string> TextTable::read(std::uint64_t piece) const {
  // From the byte before the piece, to see whether a line begins with it, to the end of a line.
  const auto begin = piece * kPieceBytes;
  const auto from = begin == 0 ? 0 : begin - 1;
  const auto end = std::min(begin + kPieceBytes, bytes_);
  std::string text(std::min(end + kMaxLineBytes, bytes_) - from, '\0');
  for (std::size_t done = 0; done < text.size();) {
    const auto got =
        ::pread(file_, text.data() + done, text.size() - done, static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read", path_);
    if (got == 0) return Error{Errc::kIo, path_ + ": it became shorter while it was read"};
    done += static_cast<std::size_t>(got);
  }
  const auto line_after = [&](std::size_t at) {
    const auto newline = text.find('\n', at);
    return newline == std::string::npos ? text.size() : newline + 1;
  };
  const auto first = begin == 0 ? 0 : line_after(0);
  // The line that holds the last byte of the piece is this piece's.
  const auto last = std::max(first, line_after(end - 1 - from));
  if (first >= end - from && begin != 0) return std::string();
  if (last == text.size() && from + last != bytes_)
    return Error{Errc::kCorrupt, path_ + ": near byte " + std::to_string(end) +
                                     ": a line of more than " + std::to_string(kMaxLineBytes) +
                                     " bytes"};
  return text.substr(first, last - first);
}

std::string_view take_line(std::string_view& text) {
  const auto newline = text.find('\n');
  auto line = text.substr(0, newline);
  text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool split_fields(std::string_view line, std::vector<std::string_view>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto bar = line.find('|');
    if (bar == std::string_view::npos) {
      fields[i] = line;
      return i + 1 == fields.size() && !line.empty();
    }
    fields[i] = line.substr(0, bar);
    line.remove_prefix(bar + 1);
  }
  return line.empty();
}

bool parse_number(std::string_view text, std::uint32_t most, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= most;
}

std::string bad_field(std::string_view name, std::string_view value, std::string_view wanted) {
  return std::string(name) + " '" + escape(value, 40) + "': " + std::string(wanted);
}
std::string bad_count(std::size_t wanted) {
  return std::to_string(wanted) + " fields are wanted, with '|' behind each";
}

}  // namespace holdfast::olap::ssb
