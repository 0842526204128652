// Suite access: what the medium delivers: read latency, the latency of a persistent write, and
// bandwidth by neighbouring lines, by the bare instructions (`floor`), the same in DRAM (`dram`),
// our primitive (`holdfast`) and libpmem.
#include <holdfast/bench/blocks/access_suite.hpp>

#include <string>

#include <holdfast/base/format.hpp>
#include <holdfast/memory/cpu.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::bench::blocks {
namespace {

using memory::Flush;

// Each address is what the load before it found.
class ChaseSubject final : public AccessSubject {
 public:
  using AccessSubject::AccessSubject;
  Status create() override {
    HF_RETURN_IF_ERROR(AccessSubject::create());
    HF_ASSIGN_OR_RETURN(starts_, memory_->prepare_chase(medium_, shape_.footprint_bytes,
                                                        shape_.order == AccessOrder::kRandom));
    return {};
  }
  Status before(const Phase&) override { return {}; }
  Status run(PhaseThread& thread) override {
    const unsigned hops = thread.phase().latency ? 1 : 256;
    const auto start = starts_[starts_.size() / thread.phase().threads * thread.index()];
    auto at = start;
    const auto status =
        timed_loop(thread, 4, hops, 0, [&](std::uint64_t) { at = memory::chase(base_, at, hops); });
    const auto lines = shape_.footprint_bytes / kCacheLineBytes;
    if ((position(start) + thread.operations) % lines != position(at))
      thread.wrong("the chase did not end as far from its begin as there were hops");
    return status;
  }

 private:
  std::uint64_t position(std::uint64_t byte) const {
    std::uint64_t word;
    std::memcpy(&word, base_ + byte + 8, sizeof word);
    return word;
  }
  std::vector<std::uint64_t> starts_;
};

class ReadSubject final : public AccessSubject {
 public:
  using AccessSubject::AccessSubject;
  Status create() override {
    HF_RETURN_IF_ERROR(AccessSubject::create());
    return memory_->prepare_content(medium_);
  }
  Status run(PhaseThread& thread) override {
    const auto kernel = memory::best_kernels().read[1][memory::size_class(shape_.lines)];
    memory::Lanes lanes;
    const auto status = in_blocks(thread, [&](std::uint64_t first, std::uint64_t count) {
      auto block = accesses(thread.index(), first, count);
      block.lanes = &lanes;
      kernel(block);
    });
    memory::LinesRead expected;
    for (std::uint64_t i = 0; i < thread.operations; ++i)
      expected.add(place_of_done(thread.phase(), thread.index(), i) / kCacheLineBytes,
                   shape_.lines);
    for (unsigned lane = 0; lane < memory::kLanes; ++lane) {
      if (lanes.sum[lane] != expected.lane(lane))
        thread.wrong("what was read does not add up in lane " + std::to_string(lane));
    }
    return status;
  }
};

// The bare instructions.
class WriteSubject final : public AccessSubject {
 public:
  using AccessSubject::AccessSubject;
  Status create() override {
    memory_->written(medium_);
    return AccessSubject::create();
  }
  Status run(PhaseThread& thread) override {
    const auto& kernels = memory::best_kernels();
    const auto kernel =
        kernels.write[shape_.order == AccessOrder::kRandom][memory::size_class(shape_.lines)]
                     [static_cast<std::size_t>(shape_.flush)][shape_.fence];
    const auto status = in_blocks(thread, [&](std::uint64_t first, std::uint64_t count) {
      auto block = accesses(thread.index(), first, count);
      block.tag = tag(thread.phase());
      kernel(block);
    });
    memory::fence();
    return status;
  }
  Status after(const Phase& phase) override {
    return check_last_writes(phase, [&](unsigned, std::uint64_t at) {
      for (std::uint64_t word = 0; word < shape_.lines * memory::kLanes; ++word) {
        std::uint64_t found;
        std::memcpy(&found, base_ + at + word * 8, sizeof found);
        const bool tagged = word % memory::kLanes == memory::kLanes - 1;
        if (found != memory::content_of_word(at / 8 + word) + (tagged ? tag(phase) : 0))
          return false;
      }
      return true;
    });
  }

 private:
  static std::uint64_t tag(const Phase& phase) { return 1 + phase.number; }
};

WriteBackInstruction instruction_of(Flush flush) {
  switch (flush) {
    case Flush::kClwb: return WriteBackInstruction::kClwb;
    case Flush::kClflushopt: return WriteBackInstruction::kClflushopt;
    case Flush::kClflush: return WriteBackInstruction::kClflush;
    case Flush::kNone:
    case Flush::kFenceOnly:
    case Flush::kNonTemporal: break;
  }
  return cpu().write_back;
}

std::string name_of(Flush flush) {
  switch (flush) {
    case Flush::kNone: return "plain";
    case Flush::kFenceOnly: return "fence";
    case Flush::kClwb: return "clwb";
    case Flush::kClflushopt: return "clflushopt";
    case Flush::kClflush: return "clflush";
    case Flush::kNonTemporal: break;
  }
  return "non-temporal";
}

std::string name_of(AccessOrder order) {
  return order == AccessOrder::kSameLine     ? "same line"
         : order == AccessOrder::kSequential ? "sequential"
                                             : "random";
}

bool has(Flush flush) {
  return (flush != Flush::kClwb || cpu().clwb) &&
         (flush != Flush::kClflushopt || cpu().clflushopt) &&
         (flush != Flush::kClflush || cpu().clflush);
}

// memory/persist.hpp, as everything of ours is written with.
class OurWriter {
 public:
  static constexpr bool kCountsPersists = true;
  OurWriter(const Context&, const AccessShape& shape)
      : streams_(shape.flush == Flush::kNonTemporal),
        fence_(shape.fence),
        persist_(instruction_of(shape.flush), streams_) {}
  Status ready() const { return {}; }
  void add_facts(results::Fields&) const {}
  void write(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (streams_) {
      persist_.stream(to, from, bytes);
    } else {
      persist_.copy(to, from, bytes);
      persist_.write_back(to, bytes);
    }
    if (fence_) persist_.fence();
  }
  void finish() const { persist_.fence(); }

 private:
  const bool streams_, fence_;
  const Persist persist_;
};

class Builder {
 public:
  explicit Builder(const Context& context)
      : context_(context), memory_(std::make_shared<AccessMemory>(context)) {}

  void read_latency(AccessOrder order, std::uint64_t footprint_bytes) {
    AccessShape shape;
    shape.order = order;
    shape.footprint_bytes = std::min(footprint_bytes, memory_->footprint_bytes());
    auto& experiment = begin("read latency", "Section 2.2, figure 1: dependent loads", shape);
    experiment.name = "read latency " + name_of(order) + ", " + format_bytes(shape.footprint_bytes);
    experiment.parameters.set("footprint_bytes", shape.footprint_bytes);
    experiment.plan.operations = {{"read_latency", {}}};
    on_both_media<ChaseSubject>(experiment, shape);
  }
  void write_latency(AccessOrder order, Flush flush) {
    AccessShape shape;
    shape.order = order;
    shape.footprint_bytes = memory_->footprint_bytes();
    shape.flush = flush;
    shape.fence = true;
    auto& experiment = begin("write latency",
                             "Section 2.2, figure 2: one line made durable, by instruction", shape);
    experiment.name = "write latency " + name_of(order) + ", " + name_of(flush);
    experiment.parameters.set("instruction", name_of(flush));
    experiment.plan.operations = {{"persist_line", {}}};
    on_both_media<WriteSubject>(experiment, shape);
    add_writers(experiment, shape);
  }
  void read_bandwidth(std::uint64_t lines) {
    AccessShape shape;
    shape.lines = lines;
    shape.footprint_bytes = memory_->footprint_bytes();
    auto& experiment =
        begin("read bandwidth", "Section 2.3, figures 3 and 4: neighbouring lines, threads", shape);
    experiment.name = "read bandwidth " + format_bytes(shape.access_bytes());
    experiment.parameters.set("access_bytes", shape.access_bytes());
    experiment.plan.operations = {{"read_lines", {}}};
    experiment.footprint_bytes = shape.footprint_bytes;
    on_both_media<ReadSubject>(experiment, shape);
  }
  void write_bandwidth(std::uint64_t lines, Flush flush) {
    AccessShape shape;
    shape.lines = lines;
    shape.footprint_bytes = memory_->footprint_bytes();
    shape.flush = flush;
    auto& experiment = begin("write bandwidth",
                             "Section 2.3, figures 3 and 4: neighbouring lines, threads", shape);
    experiment.name =
        "write bandwidth " + format_bytes(shape.access_bytes()) + ", " + name_of(flush);
    experiment.parameters.set("access_bytes", shape.access_bytes());
    experiment.parameters.set("instruction", name_of(flush));
    experiment.plan.operations = {{"write_lines", {}}};
    on_both_media<WriteSubject>(experiment, shape);
    if (flush != Flush::kNone) add_writers(experiment, shape);
  }
  std::vector<Experiment> take() { return std::move(experiments_); }

 private:
  Experiment& begin(const char* part, const char* what, const AccessShape& shape) {
    auto& experiment = experiments_.emplace_back();
    experiment.part = part;
    experiment.what = what;
    experiment.parameters.set("order", name_of(shape.order));
    experiment.plan.baseline = "floor";
    return experiment;
  }
  template <class S>
  void on_both_media(Experiment& experiment, const AccessShape& shape) {
    auto& subjects = experiment.plan.subjects;
    subjects.push_back(subject_entry<S>("floor", context_, shape, memory_, AccessMedium::kRegion));
    // Beside a region that is DRAM itself it would be the same twice.
    if (context_.report.kind != "dram")
      subjects.push_back(subject_entry<S>("dram", context_, shape, memory_, AccessMedium::kDram));
  }
  // Where a non-temporal store does not leave the cache, none of them takes one for durable.
  void add_writers(Experiment& experiment, const AccessShape& shape) {
    const bool streams = shape.flush == Flush::kNonTemporal;
    if (streams && !context_.region.persist().nt_evicts()) {
      experiment.warnings.push_back(
          "on this CPU a non-temporal store to a line that is in a cache stays there: the fence "
          "does not make it durable");
      return;
    }
    auto& subjects = experiment.plan.subjects;
    subjects.push_back(subject_entry<CopySubject<OurWriter>>("holdfast", context_, shape, memory_));
    // It takes the best instruction that there is.
    if (streams || instruction_of(shape.flush) == cpu().write_back)
      subjects.push_back(module_entry<const AccessShape&, std::shared_ptr<AccessMemory>>(
          "libpmem", "libpmem", context_, shape, memory_));
  }

  const Context& context_;
  const std::shared_ptr<AccessMemory> memory_;
  std::vector<Experiment> experiments_;
};

}  // namespace

std::vector<Experiment> access_experiments(const Context& context) {
  Builder builder(context);
  constexpr auto kAll = ~std::uint64_t{0};
  for (const auto footprint : {32 * KiB, 512 * KiB, 8 * MiB, kAll})
    builder.read_latency(AccessOrder::kRandom, footprint);
  builder.read_latency(AccessOrder::kSequential, kAll);
  for (const auto order :
       {AccessOrder::kSameLine, AccessOrder::kSequential, AccessOrder::kRandom}) {
    for (const auto flush :
         {Flush::kClflush, Flush::kClflushopt, Flush::kClwb, Flush::kNonTemporal}) {
      if (has(flush)) builder.write_latency(order, flush);
    }
  }
  const auto counts =
      points<std::uint64_t>(context.options, {1, 2, 3, 4, 6, 8, 10, 12, 16, MiB / kCacheLineBytes});
  for (const auto lines : counts)
    builder.read_bandwidth(lines);
  for (const auto flush : {Flush::kNone, Flush::kClwb, Flush::kNonTemporal}) {
    for (const auto lines : counts) {
      if (has(flush)) builder.write_bandwidth(lines, flush);
    }
  }
  return builder.take();
}

}  // namespace holdfast::bench::blocks
