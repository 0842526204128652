#include "text_layout.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "console.hpp"

namespace holdfast::tools {
namespace {

// Characters, not bytes: what continues a character in UTF-8 takes no column.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

bool is_command(std::string_view line) {
  for (const std::string_view word : {"holdfast ", "apt-cache ", "zcat ", "./run ", "source "}) {
    if (line.starts_with(word)) return true;
  }
  return false;
}

void wrap_line(std::string& into, std::string_view line, unsigned columns) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const bool command = is_command(line.substr(indent));
  if (const auto comment = line.find("  # "); command && comment != line.npos) {
    wrap_line(into, std::string(indent, ' ') + std::string(line.substr(comment + 2)), columns);
    into += '\n';
    line = line.substr(0, line.find_last_not_of(' ', comment) + 1);
  }
  std::size_t hang = indent + (command ? 4 : 0);
  if (const auto gap = line.find("  ", indent); !command && gap != line.npos) {
    const auto text = line.find_first_not_of(' ', gap);
    if (text != line.npos && width(line.substr(0, text)) <= columns / 2)
      hang = width(line.substr(0, text));
  }
  const std::size_t room = columns - (command ? 2 : 0);
  std::size_t column = 0;
  // The indent and all blanks within a line stay as they are; where it breaks they go.
  for (std::size_t at = 0; at < line.size();) {
    const auto word = std::min(line.find_first_not_of(' ', at), line.size());
    const auto end = std::min(line.find(' ', word), line.size());
    const auto piece = line.substr(word, end - word);
    if (column > hang && column + (word - at) + width(piece) > room) {
      into += command ? " \\\n" : "\n";
      into.append(hang, ' ');
      column = hang;
    } else {
      into.append(word - at, ' ');
      column += word - at;
    }
    into += piece;
    column += width(piece);
    at = end;
  }
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", with_separators(count), one, count == 1 ? "" : "s");
}

std::string markup_free(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

std::string wrap(std::string_view text, unsigned columns) {
  std::string wrapped;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    if (width(line) <= columns) {
      wrapped += line;
    } else {
      wrap_line(wrapped, line, columns);
    }
    if (end == text.size()) break;
    wrapped += '\n';
    text.remove_prefix(end + 1);
  }
  return wrapped;
}

std::string fit_terminal(std::string_view text) {
  return is_terminal(stdout) ? wrap(text, terminal_columns()) : std::string(text);
}

}  // namespace holdfast::tools
