// console.hpp: what the command says to people, and the exit codes it ends with.
//
// Results go to standard output, everything else (errors, progress, notes) to standard error, so
// that a pipe gets nothing but the result. Colour and progress appear on a terminal only; NO_COLOR
// is obeyed.
//
// Broken streams   A message that cannot be written is dropped: it never throws and never ends the
//                  work. A result that cannot be written is an error of the verb, except where the
//                  reader went away first (`... | head`). All output goes through out() and note().
// Threads          one at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <holdfast/base/result.hpp>

namespace holdfast::tools {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;      // The work failed, or part of it did.
inline constexpr int kExitBadRequest = 2;  // Nothing was tried: the request cannot be meant.
inline constexpr int kExitUntrusted = 3;  // Done, but the result contradicts itself or the machine.

// kBadRequest for what the caller can only fix in the request, kExitFailed for what the world did.
int exit_code_of(Errc code);

// "not_found", for programs; "not found: …", for people.
std::string kind_of(Errc code);
std::string plain(const Error& error);

// "holdfast kv: …" on standard error, with `remedy`, if any, on a line of its own.
void complain(std::string_view command, std::string_view message,
              std::string_view remedy = {}) noexcept;

// Whether a region of this spec is memory that ends with this process.
bool ends_with_us(std::string_view spec);

// Opens /dev/null in place of standard streams that the caller closed. Otherwise the next file that
// is opened, a store perhaps, would get the number of standard error, and messages would go into
// it.
void occupy_standard_streams() noexcept;

bool is_terminal(std::FILE* stream);
unsigned terminal_columns();  // Of standard output; 100 where it is not a terminal.
unsigned table_columns();     // Of a terminal; 0, no bound, where standard output is none.
unsigned prose_columns();     // For text: 80, or what a terminal has up to 100.

enum class Ink : std::uint8_t { kPlain, kBold, kDim, kGood, kBad };
// `text` in colour where `stream` is a terminal and NO_COLOR is unset, else as it is.
std::string ink(std::FILE* stream, Ink colour, std::string_view text);

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string with_separators(std::uint64_t value);  // 63,666
std::string human_bytes(double bytes);             // 48.1 MiB
std::string human_seconds(double seconds);         // 850 us, 1.2 s, 3 min 20 s

// The candidate nearest to `word`, or empty where none is near enough to be meant.
std::string closest(std::string_view word, std::span<const std::string> candidates);

// Buffered bytes to a stream that remembers the first failure: a full disk or a closed pipe must
// not look like a complete result.
class Output {
 public:
  explicit Output(std::FILE* stream, std::string name) : stream_(stream), name_(std::move(name)) {}
  void write(std::string_view bytes) noexcept;
  void flush() noexcept;  // Also beside a write of another thread.
  // Flushes. Errors: kIo, naming the target. A reader that closed its end early (`… | head`) is no
  // error.
  Status finish();
  // The first failure so far. Errors: kIo, naming the target.
  Status status() const;
  bool reader_is_gone() const;
  // False once writing makes no more sense: the reader is gone, or there was an error.
  bool open() const { return error_ == 0; }

 private:
  std::FILE* stream_;
  std::string name_;
  std::atomic<int> error_{0};
};

// The one way to standard output. main() finishes it: a verb that must know earlier does so itself.
Output& standard_output();
template <class... Values>
void out(fmt::format_string<Values...> text, Values&&... values) {
  standard_output().write(fmt::format(text, std::forward<Values>(values)...));
}

// The one way to standard error.
void note_text(std::string_view text) noexcept;
template <class... Values>
void note(fmt::format_string<Values...> text, Values&&... values) {
  note_text(fmt::format(text, std::forward<Values>(values)...));
}

// One line that is rewritten in place ten times a second, on a terminal only. Cleared by finish().
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled) : enabled_(enabled && is_terminal(stderr)) {}
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // True if a call of show() now would show something: so that the text is made only then.
  bool due();
  void show(std::string_view text);
  void finish();

 private:
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

}  // namespace holdfast::tools
