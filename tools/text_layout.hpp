// text_layout.hpp: text for a terminal of some width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::tools {

// "1 defect", "2 defects", "1,000 defects".
std::string counted(std::uint64_t count, std::string_view one);

// As text of a page: it brings no markup into it.
std::string markup_free(std::string_view text);

// Breaks lines of more than `columns` characters at blanks.
//   a name, two or more blanks, a text   the text goes on below its own beginning
//   a command ("  holdfast …")           goes on behind a backslash, so that it can still be pasted;
//                                        its comment ("  # …") moves to a line above it
//   other text                           goes on below its own beginning
// A word that is longer than a line stays whole.
std::string wrap(std::string_view text, unsigned columns);

// The same for a terminal as wide as it is; text for files and pipes stays as it is.
std::string fit_terminal(std::string_view text);

}  // namespace holdfast::tools
