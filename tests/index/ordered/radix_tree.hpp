// radix_tree.hpp: an adaptive radix tree of keys, for ordered_index_bench alone: what the ordered
// index was chosen over.
//
// Leis, Kemper, Neumann, "The Adaptive Radix Tree: ARTful Indexing for Main-Memory Databases" (ICDE
// 2013): nodes of 4, 16, 48 and 256 children, compressed paths, leaves created late. It has what is
// measured and no more: no erase, no key that is the beginning of another, memory by the chunk that
// goes with the tree. For one thread: a tree for many would do more per node (optimistic locks), so
// this is the best case.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace holdfast::index::ordered {

class RadixTree {
 public:
  // False: it was there.
  bool insert(std::string_view key) {
    Child* at = &root_;
    std::size_t depth = 0;
    while (*at != 0) {
      if (is_leaf(*at)) return split_leaf(*at, key, depth);
      Node& node = *node_of(*at);
      const auto same = same_prefix(*at, key, depth);
      if (same < node.prefix_bytes) return split_prefix(*at, key, depth, same);
      depth += node.prefix_bytes;
      Child* child = find(node, byte(key, depth));
      if (child == nullptr) {
        add(*at, byte(key, depth), new_leaf(key));
        ++count_;
        return true;
      }
      at = child;
      ++depth;
    }
    *at = new_leaf(key);
    ++count_;
    return true;
  }

  // Up to `most` keys from `from` on, in order: visit(key). How many there were.
  template <class Visit>
  std::size_t scan(std::string_view from, std::size_t most, Visit visit) const {
    std::size_t left = most;
    if (root_ != 0) scan_from(root_, from, 0, left, visit);
    return most - left;
  }

  std::uint64_t count() const { return count_; }
  // Of nodes and leaves that are in use.
  std::uint64_t bytes() const { return bytes_; }

 private:
  using Child = std::uintptr_t;  // Of a leaf the lowest bit is set; 0: none.
  static constexpr std::size_t kKept = 10, kChunk = 1 << 20;

  struct Node {
    std::uint16_t children = 0;  // How many.
    std::uint8_t kind = 0;       // 0 to 3: room for 4, 16, 48, 256.
    std::uint32_t prefix_bytes = 0;
    std::uint8_t prefix[kKept] = {};  // The first of them; the others are those of any leaf below.
  };
  struct Node4 : Node {
    std::uint8_t bytes[4];
    Child child[4];
  };
  struct Node16 : Node {
    std::uint8_t bytes[16];
    Child child[16];
  };
  struct Node48 : Node {
    std::uint8_t place[256];  // One more than the child's place; 0: none.
    Child child[48];
  };
  struct Node256 : Node {
    Child child[256];
  };
  struct Leaf {
    std::uint32_t bytes;
    char key[];
  };

  static bool is_leaf(Child child) { return (child & 1) != 0; }
  static Node* node_of(Child child) { return reinterpret_cast<Node*>(child); }
  static std::string_view key_of(Child child) {
    const auto* leaf = reinterpret_cast<const Leaf*>(child - 1);
    return {leaf->key, leaf->bytes};
  }
  static std::uint8_t byte(std::string_view key, std::size_t at) {
    return at < key.size() ? static_cast<std::uint8_t>(key[at]) : 0;
  }

  std::byte* allocate(std::size_t bytes) {
    bytes = (bytes + 7) / 8 * 8;
    bytes_ += bytes;
    if (left_ < bytes) {
      chunks_.push_back(std::make_unique<std::byte[]>(kChunk));
      next_ = chunks_.back().get(), left_ = kChunk;
    }
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }
  template <class Made>
  Made* make(std::uint8_t kind) {
    auto* made = new (allocate(sizeof(Made))) Made();
    made->kind = kind;
    return made;
  }
  Child new_leaf(std::string_view key) {
    auto* leaf = reinterpret_cast<Leaf*>(allocate(sizeof(Leaf) + key.size()));
    leaf->bytes = static_cast<std::uint32_t>(key.size());
    std::memcpy(leaf->key, key.data(), key.size());
    return reinterpret_cast<Child>(leaf) + 1;
  }
  // Its memory is not used again; bytes() leaves it out, as if an allocator had taken it.
  void forget(std::size_t bytes) { bytes_ -= (bytes + 7) / 8 * 8; }

  static Child* find(Node& node, std::uint8_t byte) {
    switch (node.kind) {
      case 0: {
        auto& at = static_cast<Node4&>(node);
        for (unsigned child = 0; child < at.children; ++child)
          if (at.bytes[child] == byte) return &at.child[child];
        return nullptr;
      }
      case 1: {
        auto& at = static_cast<Node16&>(node);
#ifdef __SSE2__
        const auto equal =
            _mm_cmpeq_epi8(_mm_set1_epi8(static_cast<char>(byte)),
                           _mm_loadu_si128(reinterpret_cast<const __m128i*>(at.bytes)));
        const auto found =
            static_cast<unsigned>(_mm_movemask_epi8(equal)) & ((1U << at.children) - 1);
        return found != 0 ? &at.child[__builtin_ctz(found)] : nullptr;
#else
        for (unsigned child = 0; child < at.children; ++child)
          if (at.bytes[child] == byte) return &at.child[child];
        return nullptr;
#endif
      }
      case 2: {
        auto& at = static_cast<Node48&>(node);
        return at.place[byte] != 0 ? &at.child[at.place[byte] - 1] : nullptr;
      }
      default: {
        auto& at = static_cast<Node256&>(node);
        return at.child[byte] != 0 ? &at.child[byte] : nullptr;
      }
    }
  }
  template <class Small>
  static void add_in_order(Small& node, std::uint8_t byte, Child child) {
    unsigned at = node.children++;
    for (; at > 0 && node.bytes[at - 1] > byte; --at)
      node.bytes[at] = node.bytes[at - 1], node.child[at] = node.child[at - 1];
    node.bytes[at] = byte, node.child[at] = child;
  }
  // A node of the next kind in its place, where it is full.
  void grow(Child& at) {
    Node& node = *node_of(at);
    if (node.kind == 0 && node.children == 4) {
      auto* larger = make<Node16>(1);
      const auto& old = static_cast<Node4&>(node);
      std::copy_n(old.bytes, 4, larger->bytes), std::copy_n(old.child, 4, larger->child);
      replace(at, *larger, sizeof(Node4));
    } else if (node.kind == 1 && node.children == 16) {
      auto* larger = make<Node48>(2);
      const auto& old = static_cast<Node16&>(node);
      for (unsigned child = 0; child < 16; ++child)
        larger->place[old.bytes[child]] = static_cast<std::uint8_t>(child + 1);
      std::copy_n(old.child, 16, larger->child);
      replace(at, *larger, sizeof(Node16));
    } else if (node.kind == 2 && node.children == 48) {
      auto* larger = make<Node256>(3);
      const auto& old = static_cast<Node48&>(node);
      for (unsigned byte = 0; byte < 256; ++byte)
        if (old.place[byte] != 0) larger->child[byte] = old.child[old.place[byte] - 1];
      replace(at, *larger, sizeof(Node48));
    }
  }
  void replace(Child& at, Node& larger, std::size_t bytes) {
    const Node& old = *node_of(at);
    larger.children = old.children, larger.prefix_bytes = old.prefix_bytes;
    std::copy_n(old.prefix, kKept, larger.prefix);
    forget(bytes);
    at = reinterpret_cast<Child>(&larger);
  }
  void add(Child& at, std::uint8_t byte, Child child) {
    grow(at);
    Node& node = *node_of(at);
    switch (node.kind) {
      case 0: add_in_order(static_cast<Node4&>(node), byte, child); break;
      case 1: add_in_order(static_cast<Node16&>(node), byte, child); break;
      case 2: {
        auto& larger = static_cast<Node48&>(node);
        larger.child[larger.children] = child;
        larger.place[byte] = static_cast<std::uint8_t>(++larger.children);
        break;
      }
      default: static_cast<Node256&>(node).child[byte] = child; ++node.children;
    }
  }

  static std::string_view first_key(Child at) {
    while (!is_leaf(at)) {
      Node& node = *node_of(at);
      switch (node.kind) {
        case 0: at = static_cast<Node4&>(node).child[0]; break;
        case 1: at = static_cast<Node16&>(node).child[0]; break;
        default:
          for (unsigned byte = 0;; ++byte) {
            if (const Child* child = find(node, static_cast<std::uint8_t>(byte))) {
              at = *child;
              break;
            }
          }
      }
    }
    return key_of(at);
  }
  // How many bytes of the node's prefix the key has from `depth` on.
  static std::size_t same_prefix(Child at, std::string_view key, std::size_t depth) {
    const Node& node = *node_of(at);
    std::size_t same = 0;
    const auto kept = std::min<std::size_t>(node.prefix_bytes, kKept);
    while (same < kept && node.prefix[same] == byte(key, depth + same))
      ++same;
    if (same < kept || kept == node.prefix_bytes) return same;
    const auto first = first_key(at);
    while (same < node.prefix_bytes && byte(first, depth + same) == byte(key, depth + same))
      ++same;
    return same;
  }
  static void set_prefix(Node& node, std::string_view key, std::size_t depth, std::size_t bytes) {
    node.prefix_bytes = static_cast<std::uint32_t>(bytes);
    for (std::size_t at = 0; at < std::min(bytes, kKept); ++at)
      node.prefix[at] = byte(key, depth + at);
  }
  bool split_leaf(Child& at, std::string_view key, std::size_t depth) {
    const auto other = key_of(at);
    if (other == key) return false;
    std::size_t same = 0;
    while (byte(other, depth + same) == byte(key, depth + same))
      ++same;
    auto* node = make<Node4>(0);
    set_prefix(*node, key, depth, same);
    add_in_order(*node, byte(other, depth + same), at);
    add_in_order(*node, byte(key, depth + same), new_leaf(key));
    at = reinterpret_cast<Child>(node);
    ++count_;
    return true;
  }
  bool split_prefix(Child& at, std::string_view key, std::size_t depth, std::size_t same) {
    const auto first = first_key(at);
    Node& old = *node_of(at);
    auto* node = make<Node4>(0);
    set_prefix(*node, key, depth, same);
    set_prefix(old, first, depth + same + 1, old.prefix_bytes - same - 1);
    add_in_order(*node, byte(first, depth + same), at);
    add_in_order(*node, byte(key, depth + same), new_leaf(key));
    at = reinterpret_cast<Child>(node);
    ++count_;
    return true;
  }

  // All keys below are visited where `from` is empty, else those from it on.
  template <class Visit>
  static void scan_from(Child at, std::string_view from, std::size_t depth, std::size_t& left,
                        Visit& visit) {
    if (is_leaf(at)) {
      const auto key = key_of(at);
      if (!from.empty() && key < from) return;
      visit(key);
      --left;
      return;
    }
    Node& node = *node_of(at);
    if (!from.empty() && node.prefix_bytes > 0) {
      const auto same = same_prefix(at, from, depth);
      if (same < node.prefix_bytes) {
        if (byte(first_key(at), depth + same) < byte(from, depth + same)) return;
        from = {};
      }
    }
    depth += node.prefix_bytes;
    const auto begin = from.empty() ? std::uint8_t{0} : byte(from, depth);
    const auto go_on = [&](std::uint8_t byte, Child child) {
      scan_from(child, byte == begin ? from : std::string_view(), depth + 1, left, visit);
    };
    if (node.kind < 2) {
      const auto* bytes =
          node.kind == 0 ? static_cast<Node4&>(node).bytes : static_cast<Node16&>(node).bytes;
      const auto* child =
          node.kind == 0 ? static_cast<Node4&>(node).child : static_cast<Node16&>(node).child;
      for (unsigned place = 0; place < node.children && left > 0; ++place)
        if (bytes[place] >= begin) go_on(bytes[place], child[place]);
    } else {
      for (unsigned byte = begin; byte < 256 && left > 0; ++byte)
        if (const Child* child = find(node, static_cast<std::uint8_t>(byte)))
          go_on(static_cast<std::uint8_t>(byte), *child);
    }
  }

  Child root_ = 0;
  std::uint64_t count_ = 0, bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace holdfast::index::ordered
