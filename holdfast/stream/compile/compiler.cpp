#include "compiler.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/compile/process.hpp>

namespace holdfast::stream::compile {
namespace {

// Real numbers are computed as the interpreter computes them: no fused operations. -O3 makes no
// query that was measured faster, and a compiler takes a sixth longer.
constexpr std::array<const char*, 6> kFlags = {
    "-std=c++20", "-O2", "-march=native", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"};

std::string looked_up(const std::string& name) {
  const auto can_run = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) return can_run(name) ? name : "";
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto end = rest.find(':');
    const auto place = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const auto candidate = std::string(place) + "/" + name;
    if (place.starts_with('/') && can_run(candidate)) return candidate;
  }
  return {};
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Of /proc/cpuinfo: what -march=native looks at.
std::string this_machine() {
  std::ifstream file("/proc/cpuinfo");
  std::string all;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    for (const auto* name : {"model name", "flags", "CPU part", "Features"}) {
      if (line.starts_with(name)) all += line + "\n";
    }
  }
  return all;
}

}  // namespace

Result<Compiler> Compiler::find(const std::string& wanted, OwnFile scratch,
                                const std::atomic<bool>* stop) {
  const char* const variable = std::getenv("CXX");
  const std::string given = !wanted.empty() ? wanted : variable == nullptr ? "" : variable;
  Compiler compiler;
  compiler.path = looked_up(given.empty() ? "g++" : given);
  if (given.empty() && compiler.path.empty()) compiler.path = looked_up("clang++");
  if (compiler.path.empty()) {
    return Error{Errc::kNotFound, given.empty() ? "there is neither g++ nor clang++ in $PATH"
                                                : "there is no compiler '" + escape(given) + "'"};
  }
  HF_ASSIGN_OR_RETURN(auto process, Process::start({compiler.path, "--version"}, scratch.path()));
  // The pipeline stands still meanwhile.
  const auto code = process.wait(std::chrono::seconds(10), stop);
  if (!code)
    return Error{Errc::kIo, compiler.path + " --version did not end" +
                                (stop != nullptr && stop->load() ? " before the query"
                                                                 : " within 10 seconds")};
  compiler.version = first_line(scratch.path());
  if (*code != 0 || compiler.version.empty())
    return Error{Errc::kNotFound, compiler.path + " --version ended with " + std::to_string(*code)};
  compiler.machine = this_machine();
  return compiler;
}

std::vector<std::string> Compiler::words(const std::string& source, const std::string& headers,
                                         const std::string& library,
                                         const std::string& first) const {
  std::vector<std::string> all = {path, "-shared"};
  all.insert(all.end(), kFlags.begin(), kFlags.end());
  if (!first.empty()) all.insert(all.end(), {"-include", first});
  all.insert(all.end(), {"-I", headers, "-o", library, source});
  if (!first.empty()) all.insert(all.end(), {first + kApartEnding, "-Wl,--gc-sections"});
  return all;
}

std::vector<std::string> Compiler::words_for_headers(const std::string& header,
                                                     const std::string& headers,
                                                     const std::string& made) const {
  std::vector<std::string> all = {path};
  all.insert(all.end(), kFlags.begin(), kFlags.end());
  all.insert(all.end(), {"-I", headers, "-x", "c++-header", "-o", made, header});
  return all;
}

std::vector<std::string> Compiler::words_for_apart(const std::string& source,
                                                   const std::string& headers,
                                                   const std::string& made) const {
  std::vector<std::string> all = {path};
  all.insert(all.end(), kFlags.begin(), kFlags.end());
  all.insert(all.end(), {"-ffunction-sections", "-I", headers, "-c", "-o", made, source});
  return all;
}

std::string Compiler::identity() const {
  std::string text = path + "\n" + version + "\n" + machine;
  for (const auto* flag : kFlags)
    text += std::string(flag) + " ";
  return text;
}

}  // namespace holdfast::stream::compile
