// blocks_inspect.hpp: `holdfast blocks inspect|verify|dump SPEC`: what lies in a region, whether it
// is whole, and the records of its logs. The region is opened read-only and left as it is.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// Adds the verbs to `blocks`. Exit codes: 0; 1 something is damaged, or nothing of Holdfast's was
// found; 2 the request was wrong. `exit_code` must outlive the parsing.
void add_blocks_inspection(CLI::App& blocks, int& exit_code);

}  // namespace holdfast::tools
