#include <holdfast/index/ordered/directory.hpp>

#include <algorithm>
#include <deque>

#include <holdfast/base/lock.hpp>

namespace holdfast::index::ordered {
namespace {

// The children of a node and their separators, to be changed and made into a node again.
class Draft {
 public:
  explicit Draft(const Inner& node) { append(node, {}); }

  // `separator` is that of the 0th child of `node`.
  void append(const Inner& node, std::string_view separator) {
    entries_.reserve(entries_.size() + node.size() + 1);
    entries_.push_back({separator, node.child(0)});
    for (std::uint32_t at = 1; at < node.size(); ++at)
      entries_.push_back({whole(node, at), node.child(at)});
  }
  void insert(std::uint32_t at, std::string_view separator, void* child) {
    entries_.insert(entries_.begin() + at, {separator, child});
  }
  void remove(std::uint32_t at) { entries_.erase(entries_.begin() + at); }
  void set_child(std::uint32_t at, void* child) { entries_[at].child = child; }
  std::string_view whole(const Inner& node, std::uint32_t separator) {
    const std::string_view rest = node.rest(separator);
    if (node.prefix().empty()) return rest;
    return texts_.emplace_back(std::string(node.prefix()).append(rest));
  }
  std::span<const Inner::Entry> entries() const { return entries_; }

 private:
  std::vector<Inner::Entry> entries_;
  std::deque<std::string> texts_;  // Stay where they are.
};

// Deleters of EpochDomain.
void destroy_leaf(void* leaf) { Leaf::destroy(static_cast<Leaf*>(leaf)); }

}  // namespace

Directory::~Directory() {
  std::vector<Inner*> nodes;
  if (root_ != nullptr) nodes.push_back(root_);
  while (!nodes.empty()) {
    Inner* node = nodes.back();
    nodes.pop_back();
    for (std::uint32_t at = 0; node->level() > 1 && at < node->size(); ++at)
      nodes.push_back(static_cast<Inner*>(node->child(at)));
    Inner::destroy(node);
  }
}

Inner* Directory::make(std::uint32_t level, std::span<const Inner::Entry> entries) {
  Inner* node = Inner::make(level, entries);
  if (node != nullptr) bytes_.fetch_add(node->bytes(), std::memory_order_relaxed);
  return node;
}

// Of a node that nobody saw.
void Directory::drop(Inner* node) {
  bytes_.fetch_sub(node->bytes(), std::memory_order_relaxed);
  Inner::destroy(node);
}

void Directory::retire(Inner* node) {
  bytes_.fetch_sub(node->bytes(), std::memory_order_relaxed);
  domain_.retire(node, Inner::destroy);
}

bool Directory::build(std::vector<Inner::Entry> level) {
  // Nodes are filled to seven eighths, so that the first splits below find room.
  constexpr std::size_t kFill = Inner::kFanout / 8 * 7;
  std::vector<Inner*> made;
  for (std::uint32_t height = 1; height == 1 || level.size() > 1; ++height) {
    std::vector<Inner::Entry> above;
    for (std::size_t begin = 0; begin < level.size();) {
      std::size_t end = std::min(begin + kFill, level.size());
      auto entries = std::span(level).subspan(begin, end - begin);
      while (Inner::too_big(entries))
        end = begin + entries.size() / 2, entries = entries.first(entries.size() / 2);
      Inner* node = make(height, entries);
      if (node == nullptr) {
        for (Inner* one : made)
          drop(one);
        return false;
      }
      made.push_back(node);
      above.push_back({level[begin].separator, node});
      begin = end;
    }
    level = std::move(above);
  }
  Inner* const old = root_.exchange(static_cast<Inner*>(level[0].child), std::memory_order_acq_rel);
  if (old != nullptr) retire(old);
  return true;
}

Leaf* Directory::leaf_for(const Target& target) const {
  const Inner* node = root();
  while (node->level() > 1) {
    node = static_cast<const Inner*>(node->child(node->child_for(target)));
    node->prefetch();  // A search by halves would wait for one line after the other.
  }
  return static_cast<Leaf*>(node->child(node->child_for(target)));
}

std::vector<Directory::Step> Directory::path_to(const Target& target) const {
  std::vector<Step> path;
  Inner* node = root_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t at = node->child_for(target);
    path.push_back({node, at});
    if (node->level() == 1) return path;
    node = static_cast<Inner*>(node->child(at));
  }
}

void Directory::publish(const std::vector<Step>& path, std::size_t depth, Inner* node) {
  if (depth == 0)
    root_.store(node, std::memory_order_release);
  else
    path[depth - 1].node->set_child(path[depth - 1].child, node);
}

void Directory::add(Leaf& leaf) {
  const Lock lock(mutex_);
  // Nobody merged the leaf away: that is done to leaves that the directory knows. low() is read
  // without the latch, since it never changes.
  const std::string_view low = leaf.low();
  const auto path = path_to({low});
  std::string_view separator = low;
  void* child = &leaf;
  void* left = path.back().node->child(path.back().child);
  std::vector<Inner*> replaced, made;
  const auto give_up = [&] {
    for (Inner* node : made)
      drop(node);
  };
  std::deque<Draft> drafts;  // Separators of a level are used by the level above.
  for (std::size_t depth = path.size();; --depth) {
    if (depth == 0) {  // The root was split.
      const Inner::Entry both[] = {{{}, left}, {separator, child}};
      Inner* root = make(path[0].node->level() + 1, both);
      if (root == nullptr) return give_up();
      root_.store(root, std::memory_order_release);
      break;
    }
    const auto [node, at] = path[depth - 1];
    Draft& draft = drafts.emplace_back(*node);
    draft.set_child(at, left);
    draft.insert(at + 1, separator, child);
    const auto entries = draft.entries();
    replaced.push_back(node);
    if (!Inner::too_big(entries)) {
      Inner* fresh = make(node->level(), entries);
      if (fresh == nullptr) return give_up();
      publish(path, depth - 1, fresh);
      break;
    }
    // At the right edge of the tree keys arrive in order: the left half stays full.
    const std::size_t half = at + 2 == entries.size() ? entries.size() - 2 : entries.size() / 2;
    for (const auto part : {entries.first(half), entries.subspan(half)}) {
      Inner* fresh = make(node->level(), part);
      if (fresh == nullptr) return give_up();
      made.push_back(fresh);
    }
    left = made[made.size() - 2], child = made.back();
    separator = entries[half].separator;
  }
  for (Inner* node : replaced)
    retire(node);
}

void Directory::tidy(std::string_view key) {
  const Lock lock(mutex_);
  auto path = path_to({key});
  const auto [node, at] = path.back();
  const bool merged = (at + 1 < node->size() && merge(path, at)) || (at > 0 && merge(path, at - 1));
  if (merged) join_nodes(path, path.size() - 1);
}

// Merges child left + 1 of the path's last node into its neighbour. The separator goes first, then
// the leaf: a thread that still comes by the old node finds the leaf gone, and descends again by
// the new node.
bool Directory::merge(std::vector<Step>& path, std::uint32_t left) {
  Inner* const node = path.back().node;
  auto* into = static_cast<Leaf*>(node->child(left));
  auto* from = static_cast<Leaf*>(node->child(left + 1));
  const Lock left_latch(into->latch());
  if (into->next() != from) return false;  // A split in between is not known here yet.
  const Lock right_latch(from->latch());
  Draft draft(*node);
  draft.remove(left + 1);
  Inner* fresh = make(node->level(), draft.entries());
  if (fresh == nullptr) return false;
  if (!into->absorb_next()) {
    drop(fresh);
    return false;
  }
  publish(path, path.size() - 1, fresh);
  path.back() = {fresh, left};
  retire(node);
  domain_.retire(from, destroy_leaf);
  return true;
}

// Joins a node that lost most of its children with a neighbour under the same parent, and so on
// upwards.
void Directory::join_nodes(std::vector<Step>& path, std::size_t depth) {
  for (; depth > 0; --depth) {
    Inner* const node = path[depth].node;
    const auto [parent, at] = path[depth - 1];
    if (node->size() > Inner::kFanout / 4 || parent->size() == 1) break;
    const std::uint32_t left = at + 1 < parent->size() ? at : at - 1;
    auto* first = static_cast<Inner*>(parent->child(left));
    auto* second = static_cast<Inner*>(parent->child(left + 1));
    Draft outer(*parent);
    Draft draft(*first);
    draft.append(*second, outer.entries()[left + 1].separator);
    if (draft.entries().size() > Inner::kFanout / 4 * 3 || Inner::too_big(draft.entries())) break;
    Inner* joined = make(node->level(), draft.entries());
    if (joined == nullptr) break;
    outer.set_child(left, joined);
    outer.remove(left + 1);
    Inner* fresh = make(parent->level(), outer.entries());
    if (fresh == nullptr) {
      drop(joined);
      break;
    }
    publish(path, depth - 1, fresh);
    path[depth - 1] = {fresh, left};
    retire(first), retire(second), retire(parent);
  }
  lower_root();
}

void Directory::lower_root() {
  for (Inner* root = root_.load(std::memory_order_relaxed);
       root->level() > 1 && root->size() == 1;) {
    auto* child = static_cast<Inner*>(root->child(0));
    root_.store(child, std::memory_order_release);
    retire(root);
    root = child;
  }
}

}  // namespace holdfast::index::ordered
