// line_splitter.hpp: chunks of text become lines, whatever the chunks are cut at.
//
// A line ends at '\n' or at the end of the text; a '\r' before the end belongs to the end. A line
// of more than `max_bytes` is not kept: it is reported once, when its end is reached. Copies only
// lines that span chunks.
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
    if (partial_.empty() && !too_long_) return true;
    return end_line({}, on_line);
  }

 private:
  void keep(std::string_view piece) {
    // One byte more for the '\r' that may turn out to belong to the end of the line.
    if (too_long_ || partial_.size() + piece.size() > max_bytes_ + 1) {
      too_long_ = true;
      partial_ = {};  // Gives the memory back.
    } else {
      partial_.append(piece);
    }
  }

  template <class OnLine>
  bool end_line(std::string_view piece, OnLine&& on_line) {
    ++number_;
    std::string_view line = piece;
    if (!partial_.empty() || too_long_) {
      keep(piece);
      line = partial_;
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const bool too_long = too_long_ || line.size() > max_bytes_;
    const bool go_on = on_line(too_long ? std::string_view{} : line, number_, too_long);
    partial_.clear();
    too_long_ = false;
    return go_on;
  }

  std::uint64_t max_bytes_;
  std::uint64_t number_ = 0;
  std::string partial_;
  bool too_long_ = false;
};

}  // namespace holdfast::tools
