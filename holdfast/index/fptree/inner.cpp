#include <holdfast/index/fptree/inner.hpp>

#include <algorithm>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/spin.hpp>

namespace holdfast::index::fptree_detail {
namespace {

// One thread at a time changes nodes. Readers look at the latches and take none.
void lock(InnerNode& node) { HF_CHECK(node.latch().try_lock()); }
void unlock(InnerNode& node) {
  HF_MUTANT("T10", node.latch().unlock(), node.latch().unlock_unchanged());
}

std::uint64_t as_child(const InnerNode* node) { return reinterpret_cast<std::uint64_t>(node); }

}  // namespace

// ---- One node ----

std::uint32_t InnerNode::child_for(std::uint64_t key) const {
  // The first low above the key, and one back.
  std::uint32_t first = 0;
  const auto all = size();
  for (auto left = all; left > 0;) {
    const auto half = left / 2;
    const bool below = lows_[first + half].load(std::memory_order_acquire) <= key;
    first = below ? first + half + 1 : first;
    left = below ? left - half - 1 : half;
  }
  return first == 0 ? all : first - 1;
}

void InnerNode::clear(std::uint32_t level) {
  level_.store(level, std::memory_order_release);
  resize(0);
}

void InnerNode::insert(std::uint32_t at, std::uint64_t low, std::uint64_t child) {
  const auto all = size();
  for (auto i = all; i > at; --i) {
    lows_[i].store(lows_[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
    children_[i].store(children_[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
  }
  set_low(at, low);
  children_[at].store(child, std::memory_order_release);
  resize(all + 1);
}

void InnerNode::erase(std::uint32_t at) {
  const auto all = size();
  for (auto i = at; i + 1 < all; ++i) {
    lows_[i].store(lows_[i + 1].load(std::memory_order_relaxed), std::memory_order_release);
    children_[i].store(children_[i + 1].load(std::memory_order_relaxed), std::memory_order_release);
  }
  resize(all - 1);
}

void InnerNode::move_tail(std::uint32_t at, InnerNode& right) {
  for (auto i = at; i < size(); ++i)
    right.insert(i - at, low(i), child(i));
  resize(at);
}

// ---- Looking ----

std::optional<Route> InnerLevels::try_find(std::uint64_t key) const {
  const auto* node = root_.load(std::memory_order_acquire);
  auto version = node->latch().begin_read();
  if (root_.load(std::memory_order_acquire) != node) return std::nullopt;
  Route route{};
  for (;;) {
    const auto at = node->child_for(key);
    const auto size = node->size();
    if (at >= size) return std::nullopt;
    route.range.low = node->low(at);
    if (at + 1 < size) route.range.high = node->low(at + 1), route.range.last = false;
    const auto child = node->child(at);
    const auto level = node->level();
    // Only now is the child one.
    if (!node->latch().unchanged(version)) return std::nullopt;
    if (level == 1) {
      route.leaf = static_cast<std::uint32_t>(child);
      route.parent = node;
      route.version = version;
      return route;
    }
    const auto* const next = reinterpret_cast<const InnerNode*>(child);
    next->prefetch();
    const auto next_version = next->latch().begin_read();
    // It was this node's child when its version was read.
    if (!node->latch().unchanged(version)) return std::nullopt;
    node = next, version = next_version;
  }
}

Route InnerLevels::find(std::uint64_t key) const {
  for (SpinWait wait;; wait()) {
    if (const auto route = try_find(key)) return *route;
  }
}

InnerLevels::Path InnerLevels::path_to(std::uint64_t key) const {
  Path path;
  auto* node = root_.load(std::memory_order_relaxed);
  for (;;) {
    const auto at = node->child_for(key);
    path.push_back({node, at});
    if (node->level() == 1) return path;
    node = node->node(at);
  }
}

// ---- Memory ----

void InnerLevels::make_spare(std::size_t nodes) {
  while (spare_.size() < nodes) {
    auto made = std::make_unique<InnerNode>();
    spare_.reserve(nodes_.size() + 1);  // So that giving one back never fails.
    nodes_.push_back(std::move(made));
    spare_.push_back(nodes_.back().get());
  }
}

InnerNode* InnerLevels::take(std::uint32_t level) {
  HF_CHECK(!spare_.empty());
  auto* const node = spare_.back();
  spare_.pop_back();
  lock(*node);
  node->clear(level);
  return node;
}

// An add splits a node of each level at most, and makes a root. Other adds that hold a reservation
// may raise the tree before: a level each.
InnerLevels::Reservation::Reservation(InnerLevels& levels) : levels_(levels) {
  const Lock lock(levels_.mutex_);
  const auto each =
      levels_.root_.load(std::memory_order_relaxed)->level() + 1 + levels_.reservations_;
  levels_.make_spare((levels_.reservations_ + 1) * (each + 1));
  ++levels_.reservations_;
}

InnerLevels::Reservation::~Reservation() {
  const Lock lock(levels_.mutex_);
  --levels_.reservations_;
}

std::uint64_t InnerLevels::bytes() const {
  const Lock lock(mutex_);
  return (nodes_.size() - spare_.size()) * sizeof(InnerNode);
}

// ---- Changing ----

void InnerLevels::build(std::span<const LeafEntry> leaves) {
  // Filled to seven eighths, so that the first splits below find room.
  constexpr std::size_t kFill = InnerNode::kFanout / 8 * 7;
  const Lock guard(mutex_);
  struct Entry {
    std::uint64_t low, child;
  };
  std::vector<Entry> below;
  below.reserve(leaves.size());
  for (const auto& leaf : leaves)
    below.push_back({leaf.low, leaf.leaf});
  for (std::uint32_t level = 1;; ++level) {
    std::vector<Entry> above;
    for (std::size_t begin = 0; begin < below.size(); begin += kFill) {
      make_spare(1);
      auto* const node = take(level);
      const auto end = std::min(begin + kFill, below.size());
      for (auto i = begin; i < end; ++i)
        node->insert(static_cast<std::uint32_t>(i - begin), below[i].low, below[i].child);
      unlock(*node);
      above.push_back({below[begin].low, as_child(node)});
    }
    if (above.size() == 1) {
      root_.store(reinterpret_cast<InnerNode*>(above[0].child), std::memory_order_release);
      return;
    }
    below = std::move(above);
  }
}

void InnerLevels::add(std::uint64_t low, std::uint32_t leaf, Reservation&) {
  const Lock guard(mutex_);
  const auto path = path_to(low);
  // All nodes that are split, and the one above them, are latched before the first one changes.
  auto top = path.size() - 1;
  while (top > 0 && path[top].node->full())
    --top;
  Few<InnerNode*, 2 * kMaxLevels + 1> latched;
  for (auto depth = top; depth < path.size(); ++depth) {
    lock(*path[depth].node);
    latched.push_back(path[depth].node);
  }

  std::uint64_t child = leaf;
  for (auto depth = path.size(); depth-- > top;) {
    auto* node = path[depth].node;
    auto at = path[depth].at + 1;
    if (!node->full()) {
      node->insert(at, low, child);
      break;
    }
    // At the right edge of the tree keys arrive in order: the left half stays full.
    const auto half = at == InnerNode::kFanout ? at - 1 : InnerNode::kFanout / 2;
    auto* const right = take(node->level());
    latched.push_back(right);
    node->move_tail(half, *right);
    if (at > half) at -= half, node = right;
    node->insert(at, low, child);
    low = right->low(0), child = as_child(right);
    if (depth != 0) continue;
    auto* const root = take(right->level() + 1);
    latched.push_back(root);
    root->insert(0, path[0].node->low(0), as_child(path[0].node));
    root->insert(1, low, child);
    root_.store(root, std::memory_order_release);
  }
  for (std::size_t i = 0; i < latched.size(); ++i)
    unlock(*latched[i]);
}

void InnerLevels::remove(std::uint64_t low) {
  const Lock guard(mutex_);
  const auto path = path_to(low);
  // A node whose first child goes begins later: so it is written in the node above, too.
  auto top = path.size() - 1;
  while (top > 0 && path[top].at == 0)
    --top;
  for (auto depth = top; depth < path.size(); ++depth)
    lock(*path[depth].node);
  bool gone = true;  // The child, wholly; else its first key has changed, to `low`.
  for (auto depth = path.size(); depth-- > top;) {
    const auto [node, at] = path[depth];
    if (gone)
      node->erase(at);
    else
      node->set_low(at, low);
    gone = node->size() == 0;
    if (gone)
      spare_.push_back(node);
    else
      low = node->low(0);
  }
  for (auto depth = top; depth < path.size(); ++depth)
    unlock(*path[depth].node);
  lower_root();
}

void InnerLevels::lower_root() {
  for (auto* root = root_.load(std::memory_order_relaxed);
       root->level() > 1 && root->size() == 1;) {
    auto* const child = root->node(0);
    lock(*root);
    root_.store(child, std::memory_order_release);
    spare_.push_back(root);
    unlock(*root);
    root = child;
  }
}

}  // namespace holdfast::index::fptree_detail
