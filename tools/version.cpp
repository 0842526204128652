#include "version.hpp"

#include <fmt/format.h>

#include <holdfast/modules/modules.hpp>
#include <holdfast/results/git_revision.hpp>

namespace holdfast::tools {

std::string version_text() {
  std::string peers;
  for (const std::string& peer : modules::installed())
    peers += (peers.empty() ? "" : ", ") + peer;
#ifdef __clang__
  constexpr const char* kCompiler = "clang " __clang_version__;
#else
  constexpr const char* kCompiler = "gcc " __VERSION__;
#endif
  return fmt::format("holdfast {}\nrevision  {}\ncompiler  {}\npeers     {}\nmodules   {}\n",
                     HF_VERSION, results::kGitRevision, kCompiler,
                     peers.empty() ? "none is installed" : peers, modules::identity());
}

}  // namespace holdfast::tools
