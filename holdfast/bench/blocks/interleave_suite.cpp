// Suite interleave: lookups and inserts on FP-Tree leaves and hash buckets, one after the other and
// interleaved, by group size; and the floor, which no interleaving can be faster than.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/baselines/fp_leaves.hpp>
#include <holdfast/bench/blocks/buckets.hpp>
#include <holdfast/bench/blocks/suites.hpp>

namespace holdfast::bench::blocks {
namespace {

using baselines::FpLeaves;
using baselines::InsertResult;
using baselines::KeyValue;
using baselines::Machinery;
using holdfast::blocks::Interleaving;

// Keys per call: so many that the beginning and the end of a group do not count.
constexpr unsigned kBatch = 1024;

// As Buckets. Leaf i holds the keys 64 i … 64 i + 15; up to 64 i + 31 there is room for more.
class Leaves {
 public:
  using Table = FpLeaves;
  static constexpr const char* kName = "fp leaf";
  static constexpr unsigned kFilled = 16, kRoom = 16;
  static constexpr std::uint64_t kNodeBytes = sizeof(FpLeaves::Leaf);
  explicit Leaves(const Table& table) : nodes_(table.leaves()) {}

  std::uint64_t nodes() const { return nodes_; }
  std::uint64_t key(std::uint64_t node, unsigned i) const {
    return node * FpLeaves::kKeysPerLeaf + i;
  }
  void fill(Table& table, const Persist& persist) const {
    for (std::uint64_t node = 0; node < nodes_; ++node) {
      FpLeaves::Leaf leaf{};
      leaf.used = (std::uint64_t{1} << kFilled) - 1;
      for (unsigned i = 0; i < kFilled; ++i) {
        const auto k = key(node, i);
        leaf.prints[i / 8] |= std::uint64_t{FpLeaves::fingerprint(k)} << i % 8 * 8;
        leaf.slots[i] = {k, value_of(k)};
      }
      persist.copy(&table.leaf(node), &leaf, sizeof leaf);
    }
  }
  // Takes out what was inserted.
  void reset(Table& table, const Persist& persist) const {
    for (std::uint64_t node = 0; node < nodes_; ++node)
      persist.store(&table.leaf(node).used, (std::uint64_t{1} << kFilled) - 1);
  }

  // What a floor does: the memory traffic of an operation and nothing else. Key i of a leaf is
  // known to lie in its slot i, so that nothing waits for the fingerprints.
  void ask(const Table& table, std::uint64_t key) const {
    const auto& leaf = table.leaf(key / FpLeaves::kKeysPerLeaf);
    prefetch_for_read(&leaf);
    prefetch_for_read(&leaf.slots[key % FpLeaves::kKeysPerLeaf]);
  }
  std::optional<std::uint64_t> read(const Table& table, std::uint64_t key) const {
    const auto& leaf = table.leaf(key / FpLeaves::kKeysPerLeaf);
    const auto i = key % FpLeaves::kKeysPerLeaf;
    if ((Persist::load(&leaf.used) >> i & 1) == 0 || Persist::load(&leaf.slots[i].key) != key)
      return std::nullopt;
    return Persist::load(&leaf.slots[i].value);
  }
  void write(const Table& table, const Persist& persist, const KeyValue& pair) const {
    auto& slot =
        table.leaf(pair.key / FpLeaves::kKeysPerLeaf).slots[pair.key % FpLeaves::kKeysPerLeaf];
    persist.store(&slot.key, pair.key);
    persist.store(&slot.value, pair.value);
    persist.write_back(&slot, sizeof slot);
  }
  void commit(const Table& table, const Persist& persist, std::uint64_t key) const {
    auto& leaf = table.leaf(key / FpLeaves::kKeysPerLeaf);
    const auto i = key % FpLeaves::kKeysPerLeaf;
    auto& prints = leaf.prints[i / 8];
    persist.store(&prints, prints | std::uint64_t{FpLeaves::fingerprint(key)} << i % 8 * 8);
    persist.store(&leaf.used, leaf.used | std::uint64_t{1} << i);
    persist.write_back(&leaf, kCacheLineBytes);
  }

 private:
  std::uint64_t nodes_;
};

// The shortest loops with the same memory traffic and fences: no latches, nothing compared that is
// known, lines asked for `group` operations ahead. What no interleaving can be faster than.
template <class Kind>
void floor_lookups(const Kind& kind, const typename Kind::Table& table,
                   std::span<const std::uint64_t> keys,
                   std::span<std::optional<std::uint64_t>> found, unsigned group) {
  for (std::size_t i = 0; i < keys.size() && i < group; ++i)
    kind.ask(table, keys[i]);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + group < keys.size()) kind.ask(table, keys[i + group]);
    found[i] = kind.read(table, keys[i]);
  }
}

template <class Kind>
void floor_inserts(const Kind& kind, const typename Kind::Table& table, const Persist& persist,
                   std::span<const KeyValue> pairs, std::span<InsertResult> results,
                   unsigned group) {
  for (std::size_t i = 0; i < pairs.size() && i < group; ++i)
    kind.ask(table, pairs[i].key);
  for (std::size_t begin = 0; begin < pairs.size(); begin += group) {
    const auto end = std::min(pairs.size(), begin + group);
    for (auto i = begin; i < end; ++i) {
      kind.write(table, persist, pairs[i]);
      if (i + group < pairs.size()) kind.ask(table, pairs[i + group].key);
    }
    persist.fence();
    if constexpr (requires { kind.commit(table, persist, pairs[begin].key); }) {
      for (auto i = begin; i < end; ++i)
        kind.commit(table, persist, pairs[i].key);
      persist.fence();
    }
    std::fill(results.begin() + begin, results.begin() + end, InsertResult::kInserted);
  }
}

struct Shape {
  std::optional<Machinery> machinery;  // None: the floor.
  Interleaving how;
  bool inserts_only;  // Variants that differ from another one by their fences only.
};

template <class Kind>
class TableSubject final : public BlockSubject {
 public:
  TableSubject(const Context& context, const Shape& shape) : BlockSubject(context), shape_(shape) {}

  Status create() override {
    const auto bytes = std::min<std::uint64_t>(context_.options.region_bytes, 512 * MiB);
    HF_ASSIGN_OR_RETURN(auto table, Kind::Table::open(context_.region, {0, bytes}));
    table_.emplace(std::move(table));
    kind_.emplace(*table_);
    // Filling half a GiB takes longer than measuring: what the subject before left is taken over.
    if (!filled()) kind_->fill(*table_, persist());
    return {};
  }
  bool supports(const std::string& operation) const override {
    return operation == "insert" || !shape_.inserts_only;
  }
  std::uint64_t operations_bound(const std::string& operation) const override {
    return operation == "insert" ? kind_->nodes() * Kind::kRoom : 0;
  }
  results::Fields facts() const override {
    results::Fields facts;
    facts.set("node_bytes", Kind::kNodeBytes);
    facts.set("nodes", kind_->nodes());
    return facts;
  }

  Status run(PhaseThread& thread) override {
    return thread.phase().operation == "insert" ? insert(thread) : lookup(thread);
  }
  Status after(const Phase& phase) override {
    if (phase.operation != "insert") return {};
    // What each thread claims to have inserted is there: every 16th batch, every 16th key.
    std::vector<std::uint64_t> keys;
    for (unsigned t = 0; t < phase.threads; ++t) {
      for (std::uint64_t batch = 0; batch < batches_[t]; batch += 16) {
        InsertKeys sequence(*kind_, t, phase.threads, batch);
        for (unsigned i = 0; i < kBatch && !sequence.at_end(); ++i) {
          const auto key = sequence.next();
          if (i % 16 == 0) keys.push_back(key);
        }
      }
    }
    std::vector<std::optional<std::uint64_t>> found(keys.size());
    table_->lookup_many(keys, found, Machinery::kLoop);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (found[i] != value_of(keys[i]))
        return Error{Errc::kCorrupt, "wrong: key " + std::to_string(keys[i]) + " was inserted"};
    }
    kind_->reset(*table_, persist());
    return {};
  }
  void destroy() override { table_.reset(); }

 private:
  // What thread `thread` of `threads` inserts from its batch number `batch` on: one key into each
  // node of its own, scattered, then one more into each. Of its own, since the floor has no
  // latches.
  class InsertKeys {
   public:
    InsertKeys(const Kind& kind, unsigned thread, unsigned threads, std::uint64_t batch)
        : kind_(kind),
          begin_(kind.nodes() * thread / threads),
          nodes_(kind.nodes() * (thread + 1) / threads - begin_),
          step_(kPrime % kind.nodes()),
          in_round_(batch * kBatch % nodes_),
          round_(static_cast<unsigned>(batch * kBatch / nodes_)),
          node_(node_at(in_round_)) {}
    bool at_end() const { return round_ >= Kind::kRoom; }
    std::uint64_t next() {
      const auto key = kind_.key(node_, Kind::kFilled + round_);
      node_ += step_;
      if (node_ >= kind_.nodes()) node_ -= kind_.nodes();
      if (++in_round_ == nodes_) in_round_ = 0, ++round_, node_ = node_at(0);
      return key;
    }

   private:
    static constexpr std::uint64_t kPrime = 2'654'435'761;  // No number of nodes is its multiple.
    std::uint64_t node_at(std::uint64_t place) const {
      return (begin_ + place) * step_ % kind_.nodes();
    }

    const Kind& kind_;
    const std::uint64_t begin_, nodes_, step_;
    std::uint64_t in_round_;
    unsigned round_;
    std::uint64_t node_;
  };

  // A sample of the nodes holds what fill() writes.
  bool filled() const {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 1'000; ++i)
      keys.push_back(kind_->key(i * (kind_->nodes() - 1) / 999, Kind::kFilled - 1));
    std::vector<std::optional<std::uint64_t>> found(keys.size());
    table_->lookup_many(keys, found, Machinery::kLoop);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (found[i] != value_of(keys[i])) return false;
    }
    return true;
  }

  Status lookup(PhaseThread& thread) {
    Random random(context_.options.seed + thread.index() * 1000 + thread.phase().number);
    std::vector<std::uint64_t> keys(kBatch);
    std::vector<std::optional<std::uint64_t>> found(kBatch);
    const auto nodes = kind_->nodes();
    return timed_loop(thread, 1, kBatch, kBatch * sizeof(KeyValue), [&](std::uint64_t) {
      for (auto& key : keys) {
        const auto number = random();
        key =
            kind_->key((number >> 32) * nodes >> 32, static_cast<unsigned>(number % Kind::kFilled));
      }
      if (shape_.machinery)
        table_->lookup_many(keys, found, *shape_.machinery, shape_.how);
      else
        floor_lookups(*kind_, *table_, keys, found, shape_.how.group);
      for (std::size_t i = 0; i < kBatch; ++i) {
        if (found[i] != value_of(keys[i])) thread.wrong("key " + std::to_string(keys[i]));
      }
    });
  }

  Status insert(PhaseThread& thread) {
    std::vector<KeyValue> pairs(kBatch);
    std::vector<InsertResult> results(kBatch);
    const auto threads = thread.phase().threads;
    const auto status =
        timed_loop(thread, 1, kBatch, kBatch * sizeof(KeyValue), [&](std::uint64_t batch) {
          InsertKeys keys(*kind_, thread.index(), threads, batch);
          std::size_t count = 0;
          for (; count < kBatch && !keys.at_end(); ++count) {
            const auto key = keys.next();
            pairs[count] = {key, value_of(key)};
          }
          const std::span<const KeyValue> some(pairs.data(), count);
          const std::span<InsertResult> became(results.data(), count);
          if (shape_.machinery)
            table_->insert_many(some, became, *shape_.machinery, shape_.how);
          else
            floor_inserts(*kind_, *table_, persist(), some, became, shape_.how.group);
          for (std::size_t i = 0; i < count; ++i) {
            if (results[i] != InsertResult::kInserted)
              thread.wrong("key " + std::to_string(pairs[i].key) + " was not inserted");
          }
        });
    batches_[thread.index()] = thread.operations / kBatch;
    return status;
  }

  const Shape shape_;
  std::optional<typename Kind::Table> table_;
  std::optional<Kind> kind_;
  std::array<std::uint64_t, 64> batches_{};  // By thread, of the last phase.
};

template <class Kind>
void add_experiments(const Context& context, std::vector<Experiment>& experiments) {
  for (const unsigned group : points(context.options, {1u, 2u, 4u, 8u, 16u, 32u, 64u})) {
    Experiment experiment;
    experiment.name = std::string(Kind::kName) + " group " + std::to_string(group);
    experiment.what = "Section 3.5.4, figure 12: lookups and inserts by active coroutines";
    experiment.part = Kind::kName;
    experiment.parameters.set("node", Kind::kName);
    experiment.parameters.set("group", group);
    const auto add = [&](const char* name, std::optional<Machinery> machinery, bool reads,
                         bool shared_fences, bool full_fences = false) {
      const Shape shape{
          machinery,
          {group, reads, shared_fences, full_fences},
          machinery != Machinery::kLoop && (full_fences || !(reads && shared_fences))};
      experiment.plan.subjects.push_back(subject_entry<TableSubject<Kind>>(name, context, shape));
    };
    add("loop", Machinery::kLoop, false, false);
    add("floor", {}, true, true);
    add("state-machines", Machinery::kStateMachines, true, true);
    add("coroutines", Machinery::kCoroutines, true, true);
    add("coroutines-reads", Machinery::kCoroutines, true, false);
    add("coroutines-writes", Machinery::kCoroutines, false, true);
    // Section 3.5.4: with mfence, interleaving the reads gains, too.
    add("coroutines-mfence", Machinery::kCoroutines, true, true, true);
    add("coroutines-reads-mfence", Machinery::kCoroutines, true, false, true);
    add("coroutines-writes-mfence", Machinery::kCoroutines, false, true, true);
    experiment.plan.operations = {{"lookup", {}}, {"insert", {}}};
    experiment.plan.baseline = "loop";
    experiments.push_back(std::move(experiment));
  }
}

}  // namespace

std::vector<Experiment> interleave_experiments(const Context& context) {
  std::vector<Experiment> experiments;
  add_experiments<Leaves>(context, experiments);
  add_experiments<Buckets>(context, experiments);
  return experiments;
}

}  // namespace holdfast::bench::blocks
