// Suite log: what appending one record costs, beside the bare fence that no durable append can do
// without and beside libpmemlog.
//
// All subjects go round in the same number of bytes, truncation and reuse included. A record holds
// its thread's number and its place in that thread's order, then a pattern; after each phase what
// is left in the log is read back: of each thread the last record and, in order, all before it.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include <holdfast/base/hash.hpp>
#include <holdfast/baselines/log_formats.hpp>
#include <holdfast/bench/blocks/log_suite.hpp>
#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/blocks/log/log.hpp>

namespace holdfast::bench::blocks {
namespace {

using holdfast::blocks::Log;
using holdfast::blocks::LogAppender;
using holdfast::blocks::LogFormat;
using holdfast::blocks::Lsn;
using holdfast::blocks::Record;

constexpr unsigned kGroup = 16;

// The floor: as many lines as `Log` stores and writes back, and one fence; no framing, nothing to
// recover.
class FenceSubject final : public BlockSubject {
 public:
  FenceSubject(const Context& context, const LogShape& shape)
      : BlockSubject(context), shape_(shape) {}
  bool supports(const std::string& operation) const override { return is_log_operation(operation); }
  results::Fields facts() const override { return shape_.facts(); }
  Status run(PhaseThread& thread) override {
    const auto share = round_down(shape_.log_bytes / thread.phase().threads, kCacheLineBytes);
    auto* const begin = memory() + share * thread.index();
    const unsigned keys = thread.phase().operation == "append_many" ? kGroup : 1;
    constexpr std::uint64_t kFrame = 24;
    const auto bytes = keys * (kFrame + round_up(shape_.record_bytes, 8));
    const auto stride = round_up(bytes, shape_.padded ? kCacheLineBytes : 8);
    std::vector<std::byte> records(stride, std::byte{0x5a});
    std::uint64_t at = 0;
    return timed_loop(thread, 16, keys, keys * shape_.record_bytes, [&](std::uint64_t i) {
      std::memcpy(records.data(), &i, sizeof i);
      // Whichever way is the faster one: as `Log` chooses, by size.
      if (shape_.padded && stride >= 4 * KiB) {
        persist().stream(begin + at, records.data(), stride);
        persist().fence();
      } else {
        const auto count = shape_.padded ? stride : bytes;
        persist().copy(begin + at, records.data(), count);
        persist().persist(begin + at, count);
      }
      at = at + 2 * stride > share ? 0 : at + stride;
    });
  }

 private:
  LogShape shape_;
};

class LogSubject final : public BlockSubject {
 public:
  LogSubject(const Context& context, const LogShape& shape, LogFormat format)
      : BlockSubject(context), shape_(shape), format_(format) {}
  bool supports(const std::string& operation) const override { return is_log_operation(operation); }
  results::Fields facts() const override {
    auto facts = shape_.facts();
    facts.set("segment_bytes", options().segment_bytes);
    // Its lines are counted, its time is in the appends.
    if (const auto* preparation = baselines::segment_preparation(format_))
      facts.set("before_each_segment", preparation);
    return facts;
  }
  Status before(const Phase& phase) override {
    lanes_ = phase.threads;
    HF_ASSIGN_OR_RETURN(auto log, Log::replace(context_.region, {0, shape_.log_bytes}, options()));
    log_.emplace(std::move(log));
    appended_.assign(phase.threads, 0);
    return {};
  }
  Status run(PhaseThread& thread) override {
    // The first thread has the log itself.
    if (thread.index() == 0) return run_with(thread, *log_);
    HF_ASSIGN_OR_RETURN(auto appender, log_->appender());
    return run_with(thread, appender);
  }
  template <class Appender>
  Status run_with(PhaseThread& thread, Appender& appender) {
    RecordSource source(shape_.record_bytes, thread.index());
    Status failure;
    if (thread.phase().operation != "append_many") {
      const bool ready = thread.phase().operation == "append_ready";
      HF_RETURN_IF_ERROR(timed_loop(thread, 16, 1, shape_.record_bytes, [&](std::uint64_t i) {
        const auto record = ready ? source.ready_record(i) : source.record(0, i);
        append_in_ring(*log_, failure, [&] { return appender.append(record); });
      }));
    } else {
      std::vector<Record> group(kGroup);
      HF_RETURN_IF_ERROR(timed_loop(
          thread, 4, kGroup, std::uint64_t{kGroup} * shape_.record_bytes, [&](std::uint64_t i) {
            for (unsigned j = 0; j < kGroup; ++j)
              group[j] = source.record(j, i * kGroup + j);
            append_in_ring(*log_, failure, [&] { return appender.append_many(group); });
          }));
    }
    appended_[thread.index()] = thread.operations;
    return failure;
  }
  Status after(const Phase&) override {
    const auto status = check_log(*log_, shape_.record_bytes, appended_);
    log_.reset();
    return status;
  }
  void destroy() override { log_.reset(); }

 private:
  holdfast::blocks::LogOptions options() const {
    holdfast::blocks::LogOptions options;
    options.format = format_;
    options.padded = shape_.padded;
    options.lanes = lanes_;
    return options;
  }
  LogShape shape_;
  LogFormat format_;
  unsigned lanes_ = 1;
  std::optional<Log> log_;
  std::vector<std::uint64_t> appended_;  // By thread.
};

}  // namespace

std::vector<Experiment> log_experiments(const Context& context) {
  using holdfast::blocks::log_detail::frames_of;
  using holdfast::blocks::log_detail::registered_formats;
  baselines::register_log_formats();
  std::vector<Experiment> experiments;
  for (const bool padded : {true, false}) {
    for (const std::uint32_t bytes : points(context.options, {16u, 32u, 64u, 128u, 256u, 512u})) {
      const LogShape shape{bytes, padded,
                           std::min<std::uint64_t>(context.options.region_bytes, 256 * MiB)};
      Experiment experiment;
      experiment.name = "log " + std::to_string(bytes) + " B " + (padded ? "padded" : "dense");
      experiment.what = "Section 3.3, figure 8: log entries by size, naive and padded to lines";
      experiment.part = padded ? "log padded" : "log dense";
      experiment.parameters.set("record_bytes", bytes);
      experiment.parameters.set("padded", padded);
      auto& plan = experiment.plan;
      plan.subjects.push_back(subject_entry<FenceSubject>("fence", context, shape));
      // Ours, then the published ones.
      for (const auto format : registered_formats()) {
        if (!padded && !frames_of(format)->works_dense()) continue;
        const auto ours = format == LogFormat::kChecksum;
        plan.subjects.push_back(subject_entry<LogSubject>(
            ours ? "holdfast" : std::string(name(format)), context, shape, format));
      }
      // It knows no padding; beside both, so that each ratio is of one run.
      plan.subjects.push_back(
          module_entry<const LogShape&>("libpmemlog", "libpmemlog", context, shape));
      plan.operations = {{"append", {}}, {"append_ready", {}}, {"append_many", {}}};
      plan.baseline = "fence";
      experiment.footprint_bytes = shape.log_bytes;
      experiments.push_back(std::move(experiment));
    }
  }
  return experiments;
}

}  // namespace holdfast::bench::blocks
