// log_crash.hpp: a log under the crash checker: every format, dense and padded, on all media that
// it is made for.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "crash_support.hpp"
#include "log_support.hpp"

namespace holdfast::blocks {

inline constexpr std::uint64_t kLogRegionBytes = 4 * KiB + 3 * 8 * KiB;

struct LogCase {
  LogKind kind;
  crash::Model model;
  std::string name() const { return kind.name() + "_on_" + crash::name(model); }
};
inline std::vector<LogCase> all_log_cases() {
  std::vector<LogCase> cases;
  for (const auto& kind : all_kinds()) {
    for (const auto& model : crash::all_models()) {
      const bool paged = model.granularity == Granularity::kPage;
      if (!paged || log_detail::frames_of(kind.format)->works_on_pages())
        cases.push_back({kind, model});
    }
  }
  return cases;
}

class LogCrash : public testing::TestWithParam<LogCase> {
 protected:
  LogOptions options() const { return GetParam().kind.options(8 * KiB, 2); }
  crash::Options checker() const { return crash_options(GetParam().model, kLogRegionBytes); }
  bool paged() const { return GetParam().model.granularity == Granularity::kPage; }
  unsigned fences() const { return log_detail::frames_of(GetParam().kind.format)->fences(); }

  Log create(Region& region) const { return Log::create(region, whole(region), options()).value(); }
  static Log open(Region& region) { return Log::open(region, whole(region)).value(); }
  // Durable where an append alone is durable against the death of the process only.
  void finish(Log& log) const {
    if (paged()) log.sync().value();
  }

  crash::Protocol<Texts> protocol() const {
    crash::Protocol<Texts> protocol;
    protocol.setup = [this](Region& region) { (void)create(region); };
    protocol.recover = [](Region& region) -> Result<Texts> {
      HF_ASSIGN_OR_RETURN(const auto log, Log::open(region, whole(region)));
      HF_ASSIGN_OR_RETURN(const auto found, entries(log));
      Texts texts;
      for (const auto& [lsn, text] : found)
        texts.push_back(text);
      return texts;
    };
    protocol.print = print_texts;
    return protocol;
  }

  // Whatever the moment of the crash: the log has what it had, and then perhaps `next`.
  crash::Report check_next(crash::Protocol<Texts>& protocol, const std::string& next) const {
    protocol.check = [&](const auto& past, const auto& seen) {
      return is_sequence_of(past, seen, [&](std::uint64_t) { return Texts{next}; });
    };
    return crash::check(protocol, checker());
  }
};

}  // namespace holdfast::blocks
