#include <holdfast/modules/modules.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include <holdfast/base/mutex.hpp>

#include "module_identity.hpp"  // Generated: kIdentity, kModules, kFromBin.

namespace holdfast::modules {
namespace {

namespace fs = std::filesystem;

// What loaded modules offer. A module's constructors add to it while load() has its own mutex.
class Offers {
 public:
  static Offers& all() {
    static Offers offers;
    return offers;
  }
  void add(std::string_view module, std::type_index type, AnyFunction function) {
    const Lock lock(mutex_);
    functions_.insert_or_assign({std::string(module), type}, function);
  }
  AnyFunction find(std::string_view module, std::type_index type) {
    const Lock lock(mutex_);
    const auto at = functions_.find({std::string(module), type});
    return at == functions_.end() ? nullptr : at->second;
  }

 private:
  KernelMutex mutex_;
  std::map<std::pair<std::string, std::type_index>, AnyFunction> functions_ HF_GUARDED_BY(mutex_);
};

std::string module_of(std::string_view name) {
  return "holdfast-peers-" + std::string(name) + ".so";
}

std::vector<fs::path> own_places() {
  std::error_code error;
  const auto here = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return {};
  return {here, (here / kFromBin).lexically_normal()};
}

std::vector<fs::path> searched_places() {
  if (const char* chosen = std::getenv("HOLDFAST_PEERS"); chosen != nullptr && *chosen != '\0')
    return {fs::path(chosen)};
  return own_places();
}

fs::path find_module(std::string_view name) {
  std::error_code ignored;
  for (const auto& place : searched_places()) {
    if (auto path = place / module_of(name); fs::is_regular_file(path, ignored)) return path;
  }
  return {};
}

// The identity that a module carries, read from its file, so that no code of a foreign module runs.
// Empty: there is none.
std::string identity_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  // The mark is put together here, so that it stands in no program that only looks for it.
  std::string mark = "holdfast-peer";
  mark += "-build: ";
  const auto at = std::search(bytes.begin(), bytes.end(),
                              std::boyer_moore_horspool_searcher(mark.begin(), mark.end()));
  if (at == bytes.end()) return {};
  const auto begin = at + static_cast<std::ptrdiff_t>(mark.size());
  return {begin, std::find(begin, bytes.end(), '\n')};
}

Status check_identity(const fs::path& path) {
  const auto found = identity_in(path);
  if (found == kIdentity) return {};
  const auto seen = found.empty() ? std::string("carries no build of Holdfast")
                                  : "is of another build (" + found + ")";
  return Error{Errc::kUnsupported, path.string() + " " + seen + "; this command is of " +
                                       kIdentity + ": build or install the two together"};
}

std::string how_to_get(const Module& module) {
  return "install " + std::string(module.package) + " and build the module (./run bench does both)";
}

Status open(const Module& module) {
  const auto path = find_module(module.name);
  if (path.empty()) {
    std::string looked;
    for (const auto& place : searched_places())
      looked += (looked.empty() ? "" : " and ") + place.string();
    return Error{Errc::kNotFound,
                 "no " + module_of(module.name) + " in " + looked + "; " + how_to_get(module)};
  }
  HF_RETURN_IF_ERROR(check_identity(path));
  // Lazily: a program that has one benchmark lacks functions that other parts of a module call.
  if (::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) == nullptr) {
    const char* const why = ::dlerror();
    return Error{Errc::kUnsupported,
                 path.string() + " does not load: " + (why != nullptr ? why : "unknown error") +
                     "; install " + std::string(module.package)};
  }
  return {};
}

}  // namespace

const std::vector<Module>& all() {
  static const std::vector<Module> modules(std::begin(kModules), std::end(kModules));
  return modules;
}

Status load(std::string_view name) {
  static KernelMutex mutex;
  static std::map<std::string, Status, std::less<>> loaded HF_GUARDED_BY(mutex);
  const Lock lock(mutex);
  if (const auto known = loaded.find(name); known != loaded.end()) return known->second;
  const auto module =
      std::find_if(all().begin(), all().end(), [&](const Module& one) { return one.name == name; });
  if (module == all().end()) {
    std::string allowed;
    for (const auto& one : all())
      allowed += (allowed.empty() ? "" : ", ") + std::string(one.name);
    return Error{Errc::kInvalidOption, "peer '" + std::string(name) + "': allowed are " + allowed};
  }
  return loaded.emplace(name, open(*module)).first->second;
}

std::vector<std::string> installed() {
  std::vector<std::string> names;
  for (const auto& module : all()) {
    const auto path = find_module(module.name);
    if (!path.empty() && check_identity(path)) names.emplace_back(module.name);
  }
  return names;
}

std::vector<std::string> places() {
  std::vector<std::string> all;
  for (const auto& place : own_places())
    all.push_back(place.string());
  return all;
}

Status check_started_by() {
  const char* const other = std::getenv(kStartedBy);
  if (other == nullptr || std::string_view(other) == kIdentity) return {};
  std::string text = "this program is of ";
  text += kIdentity;
  text += ", the command that started it of another build (";
  text += other;
  text += "): build or install the two together";
  return Error{Errc::kUnsupported, std::move(text)};
}

std::string_view identity() { return kIdentity; }

void offer_function(std::string_view module, std::type_index type, AnyFunction function) {
  Offers::all().add(module, type, function);
}

AnyFunction offered_function(std::string_view module, std::type_index type) {
  return Offers::all().find(module, type);
}

}  // namespace holdfast::modules
