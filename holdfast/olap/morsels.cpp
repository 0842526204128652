#include <holdfast/olap/morsels.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include <holdfast/base/mutant.hpp>

namespace holdfast::olap {

Morsels::Morsels(std::size_t pieces) : queues_(1) { queues_[0].size = pieces; }

Morsels::Morsels(std::span<const std::uint8_t> nodes, unsigned count) : queues_(count) {
  if (count == 1) {
    queues_[0].size = nodes.size();
    return;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    queues_[nodes[i]].pieces.push_back(static_cast<std::uint32_t>(i));
  for (auto& queue : queues_)
    queue.size = queue.pieces.size();
}

Morsels Morsels::of(const Region& region, std::span<const Extent> pieces, const Team& team) {
  if (team.nodes().size() <= 1) return Morsels(pieces.size());
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::vector<void*> addresses;
  for (const auto& piece : pieces) {
    // The middle: pieces are long, and their ends share pages with others.
    const auto at =
        reinterpret_cast<std::uintptr_t>(region.data()) + piece.offset_bytes + piece.size_bytes / 2;
    addresses.push_back(reinterpret_cast<void*>(at / page * page));
  }
  std::vector<int> found(pieces.size(), -1);
  (void)::syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nullptr, found.data(), 0);
  std::vector<std::uint8_t> nodes;
  for (const int node : found) {
    const auto at = std::find(team.nodes().begin(), team.nodes().end(), node);
    nodes.push_back(at == team.nodes().end()
                        ? std::uint8_t{0}
                        : static_cast<std::uint8_t>(at - team.nodes().begin()));
  }
  return Morsels(nodes, static_cast<unsigned>(team.nodes().size()));
}

std::optional<std::size_t> Morsels::next(unsigned node) {
  if (const auto own = queues_[queues_.size() == 1 ? 0 : node].take()) return own;
  for (;;) {
    auto most = std::max_element(queues_.begin(), queues_.end(),
                                 [](const auto& a, const auto& b) { return a.left() < b.left(); });
    if (HF_MUTANT("O30", most->left() == 0, true)) return std::nullopt;
    if (const auto other = most->take()) return other;
  }
}

}  // namespace holdfast::olap
