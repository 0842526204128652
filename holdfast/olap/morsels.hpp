// morsels.hpp: which worker takes which piece of a table next.
//
// There is a queue for each node that has workers. A worker takes the pieces that lie on its node,
// in order; when these are taken, those of the node that has most left.
//
// Threads  next() from any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/team.hpp>

namespace holdfast::olap {

class Morsels {
 public:
  // Piece i lies on the node with the number nodes[i] within the team, less than `count`.
  Morsels(std::span<const std::uint8_t> nodes, unsigned count);
  // Morsels of so many pieces, which may lie anywhere.
  explicit Morsels(std::size_t pieces);
  // Morsels of these places of a region, for the workers of a team. If the team is on more than one
  // node, asks the kernel where the places lie; a place that it does not know counts as on the
  // first node.
  static Morsels of(const Region& region, std::span<const Extent> pieces, const Team& team);

  // Nothing: all are taken.
  std::optional<std::size_t> next(unsigned node);

 private:
  struct Queue {
    std::vector<std::uint32_t> pieces;  // Of more than one node.
    std::size_t size = 0;
    std::atomic<std::size_t> taken{0};

    std::optional<std::size_t> take() {
      const auto at = taken.fetch_add(1, std::memory_order_relaxed);
      if (at >= size) return std::nullopt;
      return pieces.empty() ? at : pieces[at];
    }
    std::size_t left() const {
      const auto gone = taken.load(std::memory_order_relaxed);
      return gone < size ? size - gone : 0;
    }
  };
  std::vector<Queue> queues_;
};

}  // namespace holdfast::olap
