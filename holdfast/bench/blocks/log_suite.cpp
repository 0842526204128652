// Suite log: what appending one record costs, beside the bare fence that no durable append can do
// without.
#include <cstring>
#include <string>

#include <holdfast/bench/blocks/suites.hpp>

namespace holdfast::bench::blocks {
namespace {

// The floor: the same lines stored and written back, one fence; no framing, nothing to recover.
class FenceSubject final : public BlockSubject {
 public:
  FenceSubject(const Context& context, std::uint32_t record_bytes)
      : BlockSubject(context), record_bytes_(record_bytes) {}
  Status create() override { return {}; }
  bool supports(const std::string& operation) const override { return operation == "append"; }
  Fields facts() const override {
    Fields facts;
    facts.set("record_bytes", record_bytes_);
    return facts;
  }
  Status run(PhaseThread& thread) override {
    const auto share =
        round_down(context_.options.region_bytes / thread.phase().threads, kCacheLineBytes);
    auto* const begin = memory() + share * thread.index();
    const auto stride = round_up(record_bytes_, kCacheLineBytes);
    std::vector<std::byte> record(record_bytes_, std::byte{0x5a});
    std::uint64_t at = 0;
    return timed_loop(thread, 16, 1, record_bytes_, [&](std::uint64_t i) {
      std::memcpy(record.data(), &i, sizeof i);
      persist().copy(begin + at, record.data(), record_bytes_);
      persist().persist(begin + at, record_bytes_);
      at = at + 2 * stride > share ? 0 : at + stride;
    });
  }

 private:
  std::uint32_t record_bytes_;
};

}  // namespace

std::vector<Experiment> log_experiments(const Context& context) {
  std::vector<Experiment> experiments;
  for (const std::uint32_t bytes : {16u, 32u, 64u, 128u, 256u, 512u}) {
    Experiment experiment;
    experiment.name = "log " + std::to_string(bytes) + " B";
    experiment.what = "Section 3.3, figure 8: log entries by size";
    experiment.plan.subjects.push_back(
        {"fence",
         [&context, bytes](unsigned) { return std::make_unique<FenceSubject>(context, bytes); },
         ""});
    experiment.plan.operations = {{"append", {}}};
    experiment.plan.threads = {};
    experiment.plan.baseline = "fence";
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

}  // namespace holdfast::bench::blocks
