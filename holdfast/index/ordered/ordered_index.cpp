#include <holdfast/index/ordered/ordered_index.hpp>

#include <algorithm>
#include <new>
#include <string>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/index/ordered/latched_leaf.hpp>
#include <holdfast/index/ordered/loader.hpp>

namespace holdfast::index::ordered {
namespace {

Error no_memory() { return Error{Errc::kNoSpace, "no memory for the ordered index to grow"}; }

// Erases that leave a leaf sparse try a merge one time in so many: where no neighbour has room, the
// others do not pay for looking.
constexpr std::uint32_t kTidyEvery = 8;

}  // namespace

Result<std::unique_ptr<OrderedIndex>> OrderedIndex::create(EpochDomain& domain) {
  std::unique_ptr<OrderedIndex> index(new (std::nothrow) OrderedIndex(domain));
  if (index == nullptr) return no_memory();
  index->first_ = Leaf::make(index->pool_);
  if (index->first_ == nullptr || !index->directory_.build({{{}, index->first_}}))
    return no_memory();
  return index;
}

OrderedIndex::~OrderedIndex() {
  // What was retired goes back to the pool, so it must go before the pool does.
  domain_.synchronize();
  domain_.collect();
  for (Leaf* leaf = first_; leaf != nullptr;) {
    Leaf* next = leaf->next();
    Leaf::destroy(leaf);
    leaf = next;
  }
}

Status OrderedIndex::check(std::string_view key) {
  if (key.size() <= kMaxKeyBytes) [[likely]]
    return ok_status();
  return Error{Errc::kInvalidOption, "key: " + std::to_string(key.size()) + " bytes; at most " +
                                         std::to_string(kMaxKeyBytes) + " are allowed"};
}

// Goes on to the leaf that holds the target, from one that is not right of it, or gone. A leaf that
// was split since the descent has the target further right.
void OrderedIndex::walk(LatchedLeaf& leaf, const Target& target) const {
  for (;;) {
    if (leaf->gone()) {
      leaf.move_to(*directory_.leaf_for(target));
    } else if (leaf->holds(target)) {
      return;
    } else {
      HF_DCHECK(leaf->next() != nullptr);
      leaf.move_to(*leaf->next());
    }
  }
}

OrderedIndex::Counter& OrderedIndex::my_counter() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return counters_[mine % kCounters];
}

Result<bool> OrderedIndex::insert(std::string_view key) {
  HF_RETURN_IF_ERROR(check(key));
  Leaf* leaf = directory_.leaf_for({key});
  leaf->prefetch();
  return insert_from(key, leaf);
}

Result<bool> OrderedIndex::insert_from(std::string_view key, Leaf* from) {
  for (;; from = directory_.leaf_for({key})) {
    Leaf* right = nullptr;
    {
      LatchedLeaf leaf(*from);
      walk(leaf, {key});
      const Position at = leaf->find(key);
      if (at.found) return false;
      const Inserted done = leaf->insert(at.slot, key);
      if (done == Inserted::kNoMemory) return no_memory();
      if (done == Inserted::kYes) break;
      right = Leaf::make(pool_);
      if (right == nullptr) return no_memory();
      // Keys that come in order leave full leaves behind.
      const std::uint32_t border =
          HF_MUTANT("E11", at.slot == leaf->size(), false) ? at.slot : leaf->size() / 2;
      if (!leaf->split(border, key, *right)) {
        Leaf::destroy(right);
        return no_memory();
      }
    }
    directory_.add(*right);
  }
  my_counter().keys.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// All go down one level at a time; nodes below one root have one depth.
void OrderedIndex::descend(std::span<const std::string_view> group, Leaves& leaves) const {
  std::array<const Inner*, kGroup> nodes;
  nodes.fill(directory_.root());
  for (std::uint32_t level = nodes[0]->level(); level > 1; --level) {
    for (std::size_t at = 0; at < group.size(); ++at) {
      nodes[at] = static_cast<Inner*>(nodes[at]->child(nodes[at]->child_for({group[at]})));
      nodes[at]->prefetch();
    }
  }
  for (std::size_t at = 0; at < group.size(); ++at) {
    leaves[at] = static_cast<Leaf*>(nodes[at]->child(nodes[at]->child_for({group[at]})));
    leaves[at]->prefetch();
  }
}

void OrderedIndex::prefetch(std::span<const std::string_view> keys) const {
  Leaves leaves;
  for (std::size_t begin = 0; begin < keys.size(); begin += kGroup)
    descend(keys.subspan(begin, std::min(kGroup, keys.size() - begin)), leaves);
}

Result<std::uint64_t> OrderedIndex::insert_many(std::span<const std::string_view> keys) {
  std::uint64_t inserted = 0;
  for (std::size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const auto group = keys.subspan(begin, std::min(kGroup, keys.size() - begin));
    for (const std::string_view key : group)
      HF_RETURN_IF_ERROR(check(key));
    Leaves leaves;
    descend(group, leaves);
    for (std::size_t at = 0; at < group.size(); ++at) {
      HF_ASSIGN_OR_RETURN(const bool fresh, insert_from(group[at], leaves[at]));
      inserted += fresh;
    }
  }
  return inserted;
}

bool OrderedIndex::erase(std::string_view key) {
  if (key.size() > kMaxKeyBytes) return false;
  bool tidy;
  {
    Leaf* from = directory_.leaf_for({key});
    from->prefetch();
    LatchedLeaf leaf(*from);
    walk(leaf, {key});
    const Position at = leaf->find(key);
    if (!at.found) return false;
    leaf->erase(at.slot);
    tidy = leaf->sparse() && leaf->size() % kTidyEvery == 0;
  }
  my_counter().keys.fetch_sub(HF_MUTANT("E10", 1u, 0u), std::memory_order_relaxed);
  if (HF_MUTANT("E12", tidy, false)) directory_.tidy(key);
  return true;
}

bool OrderedIndex::contains(std::string_view key) const {
  if (key.size() > kMaxKeyBytes) return false;
  Leaf* from = directory_.leaf_for({key});
  from->prefetch();
  LatchedLeaf leaf(*from);
  walk(leaf, {key});
  return leaf->find(key).found;
}

bool OrderedIndex::read(const Target& target, KeyBatch& batch) const {
  Leaf* from = directory_.leaf_for(target);
  Leaf::prefetch_all(from);
  LatchedLeaf leaf(*from);
  walk(leaf, target);
  const std::uint32_t at = target.end ? leaf->size() : leaf->find(target.key).slot;
  if (target.below || target.end) {
    leaf->copy_to(batch, 0, at);
    if (HF_MUTANT("E08", !leaf->low().empty(), false)) batch.set_resume(leaf->low());
    return false;
  }
  leaf->copy_to(batch, at, leaf->size());
  if (leaf->next() != nullptr) batch.set_resume(leaf->high(), leaf->next());
  return at == 0;
}

void OrderedIndex::read_from(std::string_view key, KeyBatch& batch) const {
  batch.clear();
  if (read({key}, batch)) prefetch_on(batch);  // A reader of a whole leaf mostly goes on.
}

void OrderedIndex::read_below(std::string_view key, KeyBatch& batch) const {
  batch.clear();
  if (!key.empty()) read({key, true}, batch);  // Nothing lies below that.
}

void OrderedIndex::read_last(KeyBatch& batch) const {
  batch.clear();
  read({{}, false, true}, batch);
}

void OrderedIndex::read_on(KeyBatch& batch) const {
  batch.go_on();
  read({batch.resume()}, batch);
}

void OrderedIndex::prefetch_on(const KeyBatch& batch) {
  if (const void* const leaf = batch.next_leaf()) Leaf::prefetch_all(leaf);
}

Status OrderedIndex::load(FunctionRef<bool(std::string_view&)> next) {
  if (count() != 0) {
    return Error{Errc::kInvalidOption, "load: the index has " + std::to_string(count()) +
                                           " keys; only an empty one can be loaded"};
  }
  Loader loader(pool_);
  for (std::string_view key; next(key);) {
    HF_RETURN_IF_ERROR(check(key));
    HF_RETURN_IF_ERROR(loader.add(key));
  }
  HF_ASSIGN_OR_RETURN(Loader::Chain chain, loader.finish());
  if (!directory_.build(std::move(chain.entries))) return no_memory();
  loader.release();
  Leaf::destroy(std::exchange(first_, chain.first));
  my_counter().keys.fetch_add(chain.keys, std::memory_order_relaxed);
  return ok_status();
}

std::uint64_t OrderedIndex::count() const {
  std::uint64_t keys = 0;
  for (const Counter& counter : counters_)
    keys += counter.keys.load(std::memory_order_relaxed);
  return keys;
}

std::uint64_t OrderedIndex::bytes() const {
  return sizeof *this + pool_.bytes() + directory_.bytes();
}

}  // namespace holdfast::index::ordered
