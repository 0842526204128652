// mutation.hpp: leaves out one write-back, fence or sync, to see whether a test notices.
// Public header.
//
// A site is a step and a place: "fence holdfast/kv/store.cpp:123". The environment drives it:
//   HOLDFAST_DROP_SITE="fence holdfast/kv/store.cpp:123"   skips this step wherever it is traced
//   HOLDFAST_DROP_SITE="holdfast/kv/store.cpp:123"         skips every step of that line
//   HOLDFAST_SITES_OUT=FILE                                at exit, appends the sites to FILE
//
// tests/mutation.py runs a test binary once per site with these and reports the mutation score.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/memory/trace.hpp>

namespace holdfast::crash {

// "write_back", "fence", "sync".
std::string_view name(TraceSink::Step step);

// Whether this step is to be left out; also notes that it was reached. Any thread.
bool should_drop(TraceSink::Step step, const std::source_location& site);

// Drops `site` (as above) while it is alive, besides what the environment says. One at a time.
class DropSite {
 public:
  explicit DropSite(std::string_view site);
  ~DropSite();
  DropSite(const DropSite&) = delete;
  DropSite& operator=(const DropSite&) = delete;
};

// The sites reached so far in this process, sorted: "fence holdfast/kv/store.cpp:123".
std::vector<std::string> sites_reached();

}  // namespace holdfast::crash
