// stream_shell.hpp: `holdfast stream shell`: statements typed one by one.
#pragma once

#include <atomic>

#include <holdfast/stream/script.hpp>

namespace holdfast::tools {

// Reads statements of standard input, each up to its `;`. Tables and settings are remembered;
// a query runs until its end, or until `stop` is raised (Ctrl-C), which is put back. Returns the
// exit code: that of the last statement that failed, where standard input is no terminal.
int run_shell(const stream::ScriptOptions& options, std::atomic<bool>& stop);

}  // namespace holdfast::tools
