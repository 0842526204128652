#include <holdfast/crash/mutation.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/crash/medium.hpp>

namespace holdfast::crash {

namespace {

// One per process. A site's decision is remembered, so that the usual call is one look-up.
class Sites {
 public:
  Sites() {
    if (const char* drop = std::getenv("HOLDFAST_DROP_SITE")) environment_drop_ = drop;
    if (const char* out = std::getenv("HOLDFAST_SITES_OUT")) out_ = out;
  }
  ~Sites() {
    if (out_.empty()) return;
    std::FILE* const file = std::fopen(out_.c_str(), "a");
    if (file == nullptr) return;
    for (const std::string& site : list()) {
      std::fprintf(file, "%s\n", site.c_str());
    }
    std::fclose(file);
  }

  bool reached(TraceSink::Step step, const std::source_location& site) {
    const Key key{step, site.line(), site.file_name()};
    const Lock guard(mutex_);
    const auto found = decisions_.find(key);
    if (found != decisions_.end()) return found->second;
    const std::string place = to_string(site);
    const std::string full = std::string(name(step)) + " " + place;
    names_.insert(full);
    const auto is = [&](const std::string& drop) { return drop == full || drop == place; };
    const bool drop = is(environment_drop_) || is(api_drop_);
    decisions_.emplace(key, drop);
    return drop;
  }

  void set_drop(std::string_view site) {
    const Lock guard(mutex_);
    HF_CHECK(site.empty() || api_drop_.empty());
    api_drop_ = site;
    decisions_.clear();
  }

  std::vector<std::string> list() {
    const Lock guard(mutex_);
    return {names_.begin(), names_.end()};
  }

 private:
  struct Key {
    TraceSink::Step step;
    unsigned line;
    const char* file;
    auto operator<=>(const Key&) const = default;
  };
  KernelMutex mutex_;
  std::string environment_drop_;  // Does not change, as out_.
  std::string out_;
  std::string api_drop_ HF_GUARDED_BY(mutex_);
  std::map<Key, bool> decisions_ HF_GUARDED_BY(mutex_);
  std::set<std::string> names_ HF_GUARDED_BY(mutex_);
};

Sites& sites() {
  static Sites all;
  return all;
}

}  // namespace

std::string_view name(TraceSink::Step step) {
  switch (step) {
    case TraceSink::kWriteBack: return "write_back";
    case TraceSink::kFence: return "fence";
    case TraceSink::kSync: return "sync";
  }
  return "unknown";
}

bool should_drop(TraceSink::Step step, const std::source_location& site) {
  return sites().reached(step, site);
}

DropSite::DropSite(std::string_view site) {
  HF_CHECK(!site.empty());
  sites().set_drop(site);
}
DropSite::~DropSite() { sites().set_drop({}); }

std::vector<std::string> sites_reached() { return sites().list(); }

}  // namespace holdfast::crash
