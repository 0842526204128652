// The benchmarks, streams and star schemas are in a second program, holdfast-bench, which has all
// verbs: it takes longer to build than all else together, and a user of the store does not need it.
// The verbs are known here, and start that program with the words as they were given.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <holdfast/modules/modules.hpp>

#include "bench_command.hpp"
#include "blocks_command.hpp"
#include "completion.hpp"
#include "console.hpp"
#include "index_command.hpp"
#include "kv_bench_command.hpp"
#include "olap_command.hpp"
#include "ssb_command.hpp"
#include "stream_command.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kProgram = "holdfast-bench";

// The words of this process, as they were given.
std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size(); at = line.find('\0', at) + 1)
    words.emplace_back(line.c_str() + at);
  return words;
}

// Does not return if the other program was started. `verb` is what needs it: "stream".
int start_program(const std::string& verb) {
  std::string looked;
  for (const auto& place : modules::places()) {
    const auto path = std::filesystem::path(place) / kProgram;
    looked += (looked.empty() ? "" : " nor in ") + place;
    if (::access(path.c_str(), X_OK) != 0) continue;
    standard_output().flush();
    auto words = own_words();
    std::vector<char*> arguments;
    for (auto& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::setenv(modules::kStartedBy, std::string(modules::identity()).c_str(), 1);
    ::execv(path.c_str(), arguments.data());
    complain("holdfast " + verb,
             fmt::format("cannot start {}: {}", path.string(), std::strerror(errno)));
    return kExitFailed;
  }
  complain(
      "holdfast " + verb,
      fmt::format("this verb is in a second program, {}, which is not in {}", kProgram, looked),
      "From a clone `./run bench` builds it; `./run install PREFIX` installs both.");
  return kExitFailed;
}

// A verb of the other program: takes all words that follow, --help too.
void add_elsewhere(CLI::App& parent, const char* name, const char* help, int& exit_code) {
  auto* verb = parent.add_subcommand(name, help);
  verb->set_help_flag();
  verb->prefix_command();
  const auto words = (parent.get_parent() == nullptr ? "" : parent.get_name() + " ") + name;
  verb->callback([&exit_code, words] { exit_code = start_program(words); });
}

}  // namespace

void add_kv_bench_command(CLI::App& kv, int& exit_code) {
  add_elsewhere(kv, "bench", kKvBenchHelp, exit_code);
}
void add_stream_command(CLI::App& root, int& exit_code) {
  add_elsewhere(root, "stream", kStreamHelp, exit_code);
}
void add_olap_command(CLI::App& root, int& exit_code) {
  add_elsewhere(root, "olap", kOlapHelp, exit_code);
}
void add_ssb_command(CLI::App& root, int& exit_code) {
  add_elsewhere(root, "ssb", kSsbHelp, exit_code);
}
void add_blocks_bench_command(CLI::App& blocks, int& exit_code) {
  add_elsewhere(blocks, "bench", kBlocksBenchHelp, exit_code);
}
void add_index_command(CLI::App& root, int& exit_code) {
  add_elsewhere(root, "index", kIndexHelp, exit_code);
}
void add_bench_command(CLI::App& root, int& exit_code) {
  add_elsewhere(root, "bench", kBenchHelp, exit_code);
}
void add_completion_command(CLI::App& root, int& exit_code) {
  add_elsewhere(root, "completion", kCompletionHelp, exit_code);
}

}  // namespace holdfast::tools
