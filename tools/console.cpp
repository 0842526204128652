#include "console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <holdfast/base/format.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::tools {

int exit_code_of(Errc code) {
  switch (code) {
    case Errc::kOk: return kExitDone;
    case Errc::kInvalidOption:
    case Errc::kTooLarge: return kExitBadRequest;
    default: return kExitFailed;
  }
}

std::string kind_of(Errc code) {
  std::string kind;
  for (const char letter : name(code).substr(1)) {  // Behind the k of "kNotFound".
    const bool capital = letter >= 'A' && letter <= 'Z';
    if (capital && !kind.empty()) kind += '_';
    kind += capital ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return kind;
}

std::string plain(const Error& error) {
  std::string kind = kind_of(error.code);
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return error.detail.empty() ? kind : kind + ": " + error.detail;
}

void note_text(std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

namespace {

// Messages repeat names and bytes of files. A line that has control characters or broken UTF-8 is
// escaped: a terminal must not obey it.
std::string readable(std::string_view message) {
  std::string text;
  while (true) {
    const auto line = message.substr(0, message.find('\n'));
    const bool plain_text =
        is_valid_utf8(line) && std::none_of(line.begin(), line.end(), [](char c) {
          return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f;
        });
    text += plain_text ? std::string(line) : escape(line, line.size());
    if (line.size() == message.size()) return text;
    text += '\n';
    message.remove_prefix(line.size() + 1);
  }
}

}  // namespace

void complain(std::string_view command, std::string_view message,
              std::string_view remedy) noexcept {
  standard_output().flush();  // What was printed before stays before.
  try {
    note("{} {}\n", ink(stderr, Ink::kBad, fmt::format("{}:", command)), readable(message));
    if (!remedy.empty()) note("  {}\n", readable(remedy));
  } catch (...) {  // No memory to put it together: then in pieces.
    for (const auto piece : {command, std::string_view{": "}, message, std::string_view{"\n"}})
      note_text(piece);
  }
}

bool ends_with_us(std::string_view spec) {
  const auto parsed = RegionSpec::parse(spec);
  return parsed && parsed->kind != RegionSpec::Kind::kPath;
}

void occupy_standard_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // For reading only: a result that is written to a closed standard output is an error as before.
    (void)::open("/dev/null", O_RDONLY);  // Takes the lowest free number, which is `stream`.
  }
}

bool is_terminal(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view{terminal} == "dumb") return false;
  return isatty(fileno(stream)) == 1;
}

unsigned terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 100;
}

unsigned table_columns() { return is_terminal(stdout) ? terminal_columns() : 0; }
unsigned prose_columns() { return is_terminal(stdout) ? std::min(terminal_columns(), 100u) : 80; }

std::string ink(std::FILE* stream, Ink colour, std::string_view text) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (!is_terminal(stream) || (no_colour != nullptr && *no_colour != '\0'))
    return std::string{text};
  std::string_view code = "0";
  switch (colour) {
    case Ink::kPlain: return std::string{text};
    case Ink::kBold: code = "1"; break;
    case Ink::kDim: code = "2"; break;
    case Ink::kGood: code = "32"; break;
    case Ink::kBad: code = "31"; break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string with_separators(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;)
    text.insert(at -= 3, 1, ',');
  return text;
}

std::string human_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits))
    bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string closest(std::string_view word, std::span<const std::string> candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return std::string(holdfast::closest(word, views));
}

bool ProgressLine::due() { return enabled_ && std::chrono::steady_clock::now() >= next_; }

void ProgressLine::show(std::string_view text) {
  if (!enabled_) return;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  note("\r\x1b[K{}", text);
  shown_ = true;
}

void ProgressLine::finish() {
  if (shown_) note_text("\r\x1b[K");
  shown_ = false;
}

void Output::write(std::string_view bytes) noexcept {
  if (error_ != 0 || bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_) != bytes.size())
    error_ = errno != 0 ? errno : EIO;
}

void Output::flush() noexcept {
  if (std::fflush(stream_) == 0) return;
  int none = 0;
  error_.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

bool Output::reader_is_gone() const { return error_ == EPIPE; }

Status Output::finish() {
  flush();
  return reader_is_gone() ? ok_status() : status();
}

Status Output::status() const {
  if (error_ == 0) return ok_status();
  return Error{Errc::kIo, fmt::format("writing to {}: {}", name_, std::strerror(error_))};
}

Output& standard_output() {
  static Output output{stdout, "standard output"};
  return output;
}

}  // namespace holdfast::tools
