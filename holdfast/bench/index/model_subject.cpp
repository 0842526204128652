// The chain of accesses that models an index, as `holdfast bench run` would execute it.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/bench/index/index_suites.hpp>
#include <holdfast/bench/memory/custom_operation.hpp>
#include <holdfast/bench/memory/execution.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/bench/memory/worker.hpp>

namespace holdfast::bench::index {
namespace {

class ModelSubject final : public blocks::BlockSubject {
 public:
  ModelSubject(const blocks::Context& context, const char* operation, const char* text,
               bool in_turn)
      : BlockSubject(context), operation_(operation), in_turn_(in_turn ? kInTurn : 1) {
    // The steps of a chain wait for one another; so do operations that are one chain.
    for (unsigned i = 0; i < in_turn_; ++i)
      text_ += (i == 0 ? "" : ",") + std::string(text);
  }

  Status create() override {
    HF_ASSIGN_OR_RETURN(chain_, memory::parse_chain(text_));
    // Where nothing need be flushed, the fences are what is left.
    if (persist().instruction() == WriteBackInstruction::kNone) {
      for (auto& step : chain_) {
        if (step.write)
          step.persist =
              persist().fences() ? memory::PersistKind::kFence : memory::PersistKind::kNone;
      }
    }
    HF_ASSIGN_OR_RETURN(dram_, blocks::open_dram(kDramBytes));
    return {};
  }
  bool supports(const std::string& operation) const override { return operation == operation_; }
  bool counts_persists() const override { return false; }
  results::Fields facts() const override {
    results::Fields facts;
    facts.set("chain", memory::to_string(chain_));
    facts.set("range_bytes", range_bytes());
    return facts;
  }
  Status run(PhaseThread& thread) override {
    // A line of an operation that others write at the same time: each has a lane of its own.
    memory::Lanes lanes;
    const auto steps = steps_of(lanes);
    Random random(context_.options.seed + thread.index() * 1000 + thread.phase().number);
    std::vector<std::uint32_t> slots(kListed);
    for (auto& slot : slots)
      slot = static_cast<std::uint32_t>(random.below(steps.front().slots));
    const auto& kernels = memory::best_kernels();
    volatile std::uint64_t hidden_zero = 0;
    memory::ChainState state;
    state.zero = hidden_zero;
    const auto size = thread.phase().latency ? 1u : kBlock;
    return blocks::timed_loop(thread, 1, size * in_turn_, size * 16, [&](std::uint64_t call) {
      kernels.run_chain(steps.data(), steps.size(), &slots[call * size % kListed], size, state);
    });
  }
  void destroy() override { dram_.reset(); }

 private:
  static constexpr std::uint64_t kDramBytes = 16 * MiB;  // The inner nodes of 20 M records.
  static constexpr std::size_t kListed = 1 << 20;
  static constexpr unsigned kBlock = 32;
  static constexpr unsigned kInTurn = 8;

  // What the records take in an index: 32 bytes each, full leaves and half full ones.
  std::uint64_t range_bytes() const {
    return std::min(records_of(context_) * 32, context_.options.region_bytes);
  }
  std::vector<memory::ChainStep> steps_of(memory::Lanes& lanes) const {
    const auto& kernels = memory::best_kernels();
    auto steps = memory::chain_steps(chain_, range_bytes(), kDramBytes);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto& step = steps[i];
      const auto size = memory::size_class(step.lines);
      step.base = chain_[i].dram ? dram_->data() : this->memory();
      step.lanes = &lanes;
      step.tag = 1;
      if (chain_[i].write)
        step.run =
            kernels
                .chain_write[size][static_cast<std::size_t>(memory::flush_of(chain_[i].persist))];
      else
        step.run = i == 0 ? kernels.chain_first_read[size] : kernels.chain_read[size];
    }
    return steps;
  }

  const char* const operation_;
  const unsigned in_turn_;  // Operations of a chain.
  std::string text_;
  memory::Chain chain_;
  std::optional<Region> dram_;
};

}  // namespace

std::unique_ptr<Subject> make_model(const blocks::Context& context, const char* operation,
                                    const char* text, bool in_turn) {
  return std::make_unique<ModelSubject>(context, operation, text, in_turn);
}

}  // namespace holdfast::bench::index
