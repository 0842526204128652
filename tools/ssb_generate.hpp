// ssb_generate.hpp: the verb `generate` of `holdfast ssb`: the five tables as files.
#pragma once

#include <CLI/CLI.hpp>

namespace holdfast::tools {

// Sets `exit_code` where the verb is the one that was asked for.
void offer_ssb_generate(CLI::App& ssb, int& exit_code);

}  // namespace holdfast::tools
