// kv_command.hpp: `holdfast kv STORE put|get|erase|list|count|import|export|stats|verify|reclaim`.
//
// Read verbs open the store read-only: they work beside one another and write nothing. Verbs that
// write sync before they say so, and say what their result survives on this medium.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace holdfast::tools {

// `exit_code` is set when a verb has run. Keeps its own state; `root` must outlive the parse.
void add_kv_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
