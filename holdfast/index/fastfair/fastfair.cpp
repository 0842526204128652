#include <holdfast/index/fastfair/fastfair.hpp>

#include <array>
#include <span>
#include <string>
#include <utility>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::index {

using namespace fastfair_detail;

// A node that this thread has latched, until the end of the block. Readers do not mind.
class FastFair::Latched {
 public:
  explicit Latched(const Node& node) : node_(node) {
    for (SpinWait wait; !node_.state().latch.try_lock();)
      wait();
    held_ = true;
  }
  Latched(Latched&& other) noexcept
      : node_(other.node_), held_(std::exchange(other.held_, false)) {}
  Latched& operator=(Latched&&) = delete;
  ~Latched() {
    if (held_) node_.state().latch.unlock();
  }
  const Node& operator*() const { return node_; }
  const Node* operator->() const { return &node_; }

 private:
  Node node_;
  bool held_ = false;
};

namespace {

Error damaged_node(std::uint32_t node, const std::string& what) {
  return Error{Errc::kCorrupt, "fast+fair tree: node " + std::to_string(node) + ": " + what +
                                   "; restore the tree from a copy"};
}

}  // namespace

// ---- Nodes ----

FastFair::Node FastFair::node_at(std::uint32_t number) const {
  return Node(writer_.persist(), writer_.at(shape_.node_at(number)), shape_, id_, number,
              states_[number]);
}

Result<FastFair::Node> FastFair::node(std::uint32_t number, std::uint32_t level, std::uint64_t low,
                                      const Node& from) const {
  if (number < shape_.nodes) {
    const auto found = node_at(number);
    found.prefetch();
    if (found.level() == level && found.low() == low) return found;
  }
  return damaged_node(from.number(), "it leads to node " + std::to_string(number) +
                                         ", which is not there or is for other keys");
}

Result<FastFair::Node> FastFair::root() const {
  const auto number = open_word<SealedWord>(writer_.word(kRootAt), root_context(id_));
  if (!number || *number >= shape_.nodes || !node_at(static_cast<std::uint32_t>(*number)).level())
    return Error{Errc::kCorrupt, "fast+fair tree: the root is damaged (word at " +
                                     std::to_string(kRootAt) + "); restore the tree from a copy"};
  return node_at(static_cast<std::uint32_t>(*number));
}

Result<FastFair::Node> FastFair::right_of(const Node& node, std::uint64_t key) const {
  const auto number = node.sibling();
  if (number && *number < shape_.nodes) {
    const auto sibling = node_at(*number);
    const auto low = sibling.low();
    // To the right, so that no walk has no end.
    if (sibling.level() && sibling.level() == node.level() && low > node.low() && low <= key)
      return sibling;
  }
  return damaged_node(node.number(), "its right sibling is damaged or for other keys");
}

Result<FastFair::Node> FastFair::child_of(const Node& node, std::uint32_t level,
                                          std::uint64_t key) const {
  const auto entry = node.entry_for(key);
  const auto number = entry ? node.child(*entry) : node.leftmost();
  if (!number) return damaged_node(node.number(), "a child is damaged");
  return this->node(*number, level - 1, entry ? entry->key : node.low(), node);
}

Status FastFair::repair(const Node& node) const {
  auto high = kNoKey;
  if (node.has_sibling()) {
    HF_ASSIGN_OR_RETURN(const auto sibling, right_of(node, kNoKey));
    high = sibling.low();
  }
  Status repaired;
  if (!read_only_)
    repaired = node.repair(high);
  else if (auto checked = node.check(high); !checked)
    repaired = std::move(checked).error();
  if (!repaired) return damaged_node(node.number(), repaired.error().detail);
  return {};
}

Status FastFair::visit(const Node& node) const {
  if (HF_MUTANT("R24", node.state().repaired(), true)) [[likely]]
    return {};
  const Latched at(node);
  if (node.state().repaired()) return {};
  HF_RETURN_IF_ERROR(repair(node));
  node.state().set_repaired();
  return {};
}

Result<FastFair::Node> FastFair::descend(std::uint64_t key, std::uint32_t level,
                                         Orphans* orphans) const {
  HF_ASSIGN_OR_RETURN(auto node, root());
  for (auto at = *node.level();;) {
    HF_RETURN_IF_ERROR(visit(node));
    if (HF_MUTANT("R25", key >= node.high(), false)) {
      HF_ASSIGN_OR_RETURN(node, right_of(node, key));
      if (orphans != nullptr) *orphans = Orphan{at, node.number(), node.low()};
    } else if (at == level) {
      return node;
    } else {
      HF_ASSIGN_OR_RETURN(node, child_of(node, at, key));
      --at;
    }
  }
}

// Latched, a node is as its head says: what it gave to a sibling it does not hold any more.
Result<FastFair::Latched> FastFair::latch_for(std::uint64_t key, std::uint32_t level,
                                              Orphans& orphans) const {
  HF_ASSIGN_OR_RETURN(auto node, descend(key, level, &orphans));
  for (;;) {
    {
      Latched at(node);
      if (HF_MUTANT("R26", key < node.high(), true)) return at;
    }
    HF_ASSIGN_OR_RETURN(node, right_of(node, key));
    HF_RETURN_IF_ERROR(visit(node));
    orphans = Orphan{level, node.number(), node.low()};
  }
}

// ---- Verbs ----

Result<std::uint64_t> FastFair::find(std::uint64_t key) const {
  if (key > kMaxKey) return Error{Errc::kNotFound, {}};
  HF_ASSIGN_OR_RETURN(auto node, descend(key, 0));
  for (;;) {
    if (const auto value = node.find(key)) return *value;
    // Where it ends is read after its entries: a split that took the key away said so before.
    if (HF_MUTANT("R27", key < node.high(), true)) return Error{Errc::kNotFound, {}};
    HF_ASSIGN_OR_RETURN(node, right_of(node, key));
    HF_RETURN_IF_ERROR(visit(node));
  }
}

Status FastFair::refuse(std::uint64_t key) const {
  if (read_only_)
    return Error{Errc::kReadOnly, "fast+fair tree: it was opened read-only; nothing was changed"};
  if (key > kMaxKey)
    return Error{Errc::kInvalidOption, "fast+fair tree: key=" + std::to_string(key) +
                                           ": allowed are 0 to " + std::to_string(kMaxKey)};
  return {};
}

Status FastFair::add(std::uint64_t key, std::uint64_t value, bool may_exist) {
  HF_RETURN_IF_ERROR(refuse(key));
  for (bool done = false; !done;) {
    Orphans orphan;
    {
      HF_ASSIGN_OR_RETURN(const auto at, latch_for(key, 0, orphan));
      const auto place = at->place_of(key);
      if (place.found) {
        if (!may_exist) return Error{Errc::kAlreadyExists, {}};
        at->replace_value(place.slot, value);
        done = true;
      } else if (!at->full(place)) {
        at->insert(place, {key, value});
        done = true;
      } else {
        HF_ASSIGN_OR_RETURN(orphan, split(at, 0));
      }
    }
    // Where there is no room for that, look-ups go by the left neighbour.
    if (HF_MUTANT("R28", orphan.has_value(), false)) (void)adopt(*orphan);
  }
  return {};
}

Status FastFair::insert(std::uint64_t key, std::uint64_t value) { return add(key, value, false); }

Status FastFair::put(std::uint64_t key, std::uint64_t value) { return add(key, value, true); }

Status FastFair::update(std::uint64_t key, std::uint64_t value) {
  if (key > kMaxKey && !read_only_) return Error{Errc::kNotFound, {}};
  HF_RETURN_IF_ERROR(refuse(key));
  Orphans orphan;
  HF_ASSIGN_OR_RETURN(const auto at, latch_for(key, 0, orphan));
  const auto place = at->place_of(key);
  if (!place.found) return Error{Errc::kNotFound, {}};
  at->replace_value(place.slot, value);
  return {};
}

Status FastFair::erase(std::uint64_t key) {
  if (key > kMaxKey && !read_only_) return Error{Errc::kNotFound, {}};
  HF_RETURN_IF_ERROR(refuse(key));
  Orphans orphan;
  HF_ASSIGN_OR_RETURN(const auto at, latch_for(key, 0, orphan));
  const auto place = at->place_of(key);
  if (!place.found) return Error{Errc::kNotFound, {}};
  at->erase(place);
  return {};
}

Status FastFair::scan(std::uint64_t from,
                      FunctionRef<bool(std::uint64_t, std::uint64_t)> visit) const {
  if (from > kMaxKey) return {};
  std::array<Entry, FastFairShape::kMaxSlots> entries;
  HF_ASSIGN_OR_RETURN(auto node, descend(from, 0));
  for (;;) {
    const auto count = node.copy(entries.data());
    // Asked after its entries were read. What lies from there on is the sibling's.
    std::optional<Node> right;
    if (node.has_sibling()) {
      HF_ASSIGN_OR_RETURN(right, right_of(node, kNoKey));
    }
    const auto high = right ? right->low() : kNoKey;
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [key, value] = entries[i];
      if (key < from || HF_MUTANT("R29", key >= high, false)) continue;
      if (!visit(key, value)) return {};
    }
    if (!right) return {};
    from = std::max(from, high);
    node = *right;
    HF_RETURN_IF_ERROR(this->visit(node));
  }
}

// ---- Splitting ----

Status FastFair::put_taken(std::uint32_t nodes) {
  return writer_.put_word(kTakenAt, seal_word<SealedWord>(nodes, taken_context(id_)));
}

Status FastFair::put_root(std::uint32_t number) {
  return writer_.put_word(kRootAt, seal_word<SealedWord>(number, root_context(id_)));
}

Result<std::uint32_t> FastFair::take() {
  if (HF_MUTANT("R30", last_is_spare_, false)) return taken_ - 1;
  if (taken_ == shape_.nodes)
    return Error{Errc::kNoSpace, "fast+fair tree: all " + std::to_string(shape_.nodes) +
                                     " nodes are taken and one is full; find, scan, update and "
                                     "erase still work"};
  HF_RETURN_IF_ERROR(put_taken(taken_ + 1));
  ++taken_;
  last_is_spare_ = true;
  return taken_ - 1;
}

void FastFair::given() { last_is_spare_ = false; }

// FAIR. The right half is durable before the node leads to it, and the node leads to it durably
// before it drops that half. In between both hold it, and it counts in the right one.
Result<FastFair::Orphan> FastFair::split(const Latched& at, std::uint32_t level) {
  std::array<Entry, FastFairShape::kMaxSlots> entries;
  for (std::uint32_t slot = 0; slot < shape_.slots; ++slot)
    entries[slot] = at->entry(slot);
  const auto middle = shape_.slots / 2;
  const auto low = entries[middle].key;
  auto moved = std::span(entries).first(shape_.slots).subspan(middle);

  const Lock lock(split_mutex_);
  HF_ASSIGN_OR_RETURN(const auto number, take());
  const auto right = node_at(number);
  Node::Contents contents{level, low, at->high(), {}, 0, moved};
  if (at->has_sibling()) {
    // Checked before: it is bound to a node's number, so it is sealed anew.
    HF_ASSIGN_OR_RETURN(const auto next, right_of(*at, kNoKey));
    contents.sibling = next.number();
  }
  if (level != 0) {
    // The middle entry's child becomes the one for the least keys, bound to the same key.
    contents.leftmost = moved[0].value;
    contents.entries = moved.subspan(1);
  }
  right.fill(contents);
  right.state().set_repaired();
  if (HF_MUTANT("R31", true, false)) HF_RETURN_IF_ERROR(writer_.order());
  at->link(number, low);
  given();
  if (HF_MUTANT("R32", true, false)) at->truncate(middle);
  return Orphan{level, number, low};
}

Result<bool> FastFair::raise_root(const Orphan& orphan) {
  const Lock lock(split_mutex_);
  HF_ASSIGN_OR_RETURN(const auto old, root());
  if (HF_MUTANT("R33", *old.level() > orphan.level, false)) return false;
  if (*old.level() == kMaxLevel)
    return damaged_node(old.number(), "it is too high above the leaves");
  HF_ASSIGN_OR_RETURN(const auto number, take());
  const auto raised = node_at(number);
  const auto child = raised.child_entry(orphan.low, orphan.number);
  raised.fill({orphan.level + 1,
               0,
               kNoKey,
               {},
               raised.child_entry(0, old.number()).value,
               std::span(&child, 1)});
  raised.state().set_repaired();
  if (HF_MUTANT("R34", true, false)) HF_RETURN_IF_ERROR(writer_.order());
  HF_RETURN_IF_ERROR(put_root(number));
  HF_RETURN_IF_ERROR(writer_.order());
  given();
  return true;
}

Status FastFair::adopt(Orphan orphan) {
  for (;;) {
    HF_ASSIGN_OR_RETURN(const auto top, root());
    if (*top.level() == orphan.level) {
      HF_ASSIGN_OR_RETURN(const bool raised, raise_root(orphan));
      if (raised) return {};
      continue;
    }
    Orphans next;
    {
      HF_ASSIGN_OR_RETURN(const auto at, latch_for(orphan.low, orphan.level + 1, next));
      const auto place = at->place_of(orphan.low);
      // Somebody was first.
      const bool known = HF_MUTANT("R35", place.found || at->low() == orphan.low, false);
      if (!known && at->full(place)) {
        HF_ASSIGN_OR_RETURN(next, split(at, orphan.level + 1));
      } else {
        if (!known) at->insert(place, at->child_entry(orphan.low, orphan.number));
        if (!next) return {};
        orphan = *next;  // It is found above; then so are those below it.
        continue;
      }
    }
    HF_RETURN_IF_ERROR(adopt(*next));
  }
}

}  // namespace holdfast::index
