// line_splitter.hpp: chunks of text become lines, whatever the chunks are cut at.
//
// A line ends at '\n' or at the end of the text; every '\r' right before the end belongs to the end
// (were it only the last one, a line written back with its other '\r' would lose that at the next
// reading). A line of more than `max_bytes` is not kept: it is reported once, when its end is
// reached. Copies only lines that span chunks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::tools {

class LineSplitter {
 public:
  explicit LineSplitter(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_line(line, number, too_long) -> bool (go on) per complete line; `line` is empty if
  // too_long.
  template <class OnLine>
  bool feed(std::string_view chunk, OnLine&& on_line) {
    while (!chunk.empty()) {
      const std::size_t newline = chunk.find('\n');
      const std::string_view piece = chunk.substr(0, newline);
      if (newline == std::string_view::npos) {
        keep(piece);
        return true;
      }
      chunk.remove_prefix(newline + 1);
      if (!end_line(piece, on_line)) return false;
    }
    return true;
  }

  // The text is over: a last line without a newline is a line.
  template <class OnLine>
  bool finish(OnLine&& on_line) {
    if (!open_) return true;
    return end_line({}, on_line);
  }

 private:
  static std::size_t returns_at_end(std::string_view text) {
    return text.size() - (text.find_last_not_of('\r') + 1);  // npos + 1 is 0.
  }

  // The '\r's at the end of what was kept are only counted until what follows tells whose they are.
  void keep(std::string_view piece) {
    const std::size_t returns = returns_at_end(piece);
    piece.remove_suffix(returns);
    if (!piece.empty()) {
      if (too_long_ || partial_.size() + returns_ + piece.size() > max_bytes_) {
        too_long_ = true;
        partial_ = {};  // Gives the memory back.
      } else {
        partial_.append(returns_, '\r').append(piece);
      }
      returns_ = 0;
    }
    returns_ += returns;
    open_ = true;
  }

  template <class OnLine>
  bool end_line(std::string_view piece, OnLine&& on_line) {
    ++number_;
    std::string_view line = piece;
    if (open_) {
      keep(piece);
      line = partial_;
    } else {
      line.remove_suffix(returns_at_end(line));
      too_long_ = line.size() > max_bytes_;
    }
    const bool go_on = on_line(too_long_ ? std::string_view{} : line, number_, too_long_);
    partial_.clear();
    returns_ = 0;
    too_long_ = false;
    open_ = false;
    return go_on;
  }

  std::uint64_t max_bytes_;
  std::uint64_t number_ = 0;
  std::string partial_;      // The line so far, without the '\r's at its end.
  std::size_t returns_ = 0;  // How many those are.
  bool too_long_ = false;
  bool open_ = false;  // A line has begun in an earlier chunk.
};

}  // namespace holdfast::tools
