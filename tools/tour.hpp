// tour.hpp: `holdfast tour`, the store on real input, killed at random moments.
//
// The machine's own Debian package index goes into a store. A child process (this program, executed
// anew) writes and is killed with SIGKILL; each time the store is reopened and every acknowledged
// record is compared byte for byte. Then the import is finished, verified, compared with other
// stores, and the tour says what was durable against what. Exit code 0 only if everything held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace holdfast::tools {

struct TourArguments {
  std::string directory;              // Empty: $TMPDIR, else the current one.
  std::string spec;                   // Appended to the store's path after '?', as in region.hpp.
  std::string input;                  // Empty: `apt-cache dumpavail`.
  std::optional<std::uint64_t> seed;  // Absent: from the system.
  std::uint64_t kills = 4;
  std::uint64_t records = 0;  // At most so many; 0: all.
  bool compare = true;        // With the other stores.
  bool only_compare = false;  // Nothing but that.
  bool keep = false;          // Leave the files.
};

struct TourChildArguments {
  std::string store, input;
  int board_fd = -1;
  std::uint64_t passes = 1;
};

void add_tour_command(CLI::App& root, int& exit_code);
int run_tour(const TourArguments& arguments);
int run_tour_child(const TourChildArguments& arguments);

}  // namespace holdfast::tools
