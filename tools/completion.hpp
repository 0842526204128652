// completion.hpp: `holdfast completion bash`: what the shell offers at Tab, written from the
// command's own verbs.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace holdfast::tools {

// A script for bash: verbs, options, the words of options that are a choice, else files. STORE,
// which stands before the verbs of kv, is completed as a file.
std::string bash_completion(const CLI::App& root);

inline constexpr const char* kCompletionHelp = "Write what the shell needs for Tab";
void add_completion_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
