// join_rules.hpp: what all joins of a compiled graph do alike.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, kKind                          its number, its kind
//   Left, Right, Out                      rows of its sides, and what goes out
//   Key, left_key(row, run), right_key(row, run)
//   holds(left, right, run)               the condition beside the keys
//   give(graph, change, out)              to those that read it
//   kOnlyComes                            of a regular inner join: no row goes, and holds() never
//                                         fails; else it is not there
//   left_end(row), right_end(row)         window_end, of a join of windows
//   kGroupOf                              of a regular join: rows of this side remember the group
//                                         that comes next for their pairs; else it is not there
#pragma once

#include <holdfast/stream/compile/runtime/changes.hpp>

namespace holdfast::query {

enum class JoinKind : std::uint8_t { kInner, kLeft, kRight, kFull, kSemi, kAnti };
enum class Side : std::uint8_t { kLeft, kRight };

template <class Definition>
struct JoinRules {
  using Left = typename Definition::Left;
  using Right = typename Definition::Right;
  using Out = typename Definition::Out;
  template <Side kSide>
  using RowOn = std::conditional_t<kSide == Side::kLeft, Left, Right>;

  static constexpr auto kKind = Definition::kKind;
  static constexpr bool kLeftAlone = kKind == JoinKind::kSemi || kKind == JoinKind::kAnti;
  static constexpr Side other(Side side) {
    return side == Side::kLeft ? Side::kRight : Side::kLeft;
  }
  // The rows of this side are shown also where they have no partner.
  static constexpr bool keeps(Side side) {
    return kKind == JoinKind::kFull ||
           kKind == (side == Side::kLeft ? JoinKind::kLeft : JoinKind::kRight);
  }
  // How many partners a row of this side has says what is shown of it.
  static constexpr bool counts_partners(Side side) {
    return keeps(side) || (kLeftAlone && side == Side::kLeft);
  }
  static constexpr std::int64_t slice_of(Side side) {
    return first_slice(Definition::kNode) + static_cast<std::int64_t>(side);
  }
  // The rows of a key, of both sides: adopt(entry) -> whether it is one. `stored`: of each side.
  // False: one is none, or the store has failed.
  template <class Stored, class Key, class Adopt>
  static bool fetch(Stored (&stored)[2], const Key& key, const Adopt& adopt) {
    for (const auto side : {Side::kLeft, Side::kRight}) {
      const auto take = [&adopt, side](Text bytes, Text state, std::uint64_t version) {
        return adopt(GraphEntry{slice_of(side), bytes, state, version, false});
      };
      const auto group = [&key](std::string& bytes) { append_key_part(key, bytes); };
      if (!stored[static_cast<std::size_t>(side)].fetch(group, take)) return false;
    }
    return true;
  }
  template <Side kSide>
  static auto key(const RowOn<kSide>& row, Run& run) {
    if constexpr (kSide == Side::kLeft)
      return Definition::left_key(row, run);
    else
      return Definition::right_key(row, run);
  }
  template <Side kSide>
  static bool holds(const RowOn<kSide>& row, const RowOn<other(kSide)>& partner, Run& run) {
    if constexpr (kSide == Side::kLeft)
      return Definition::holds(row, partner, run);
    else
      return Definition::holds(partner, row, run);
  }
  template <Side kSide, class Graph>
  static void give_pair(Graph& graph, Change change, const RowOn<kSide>& row,
                        const RowOn<other(kSide)>& partner) {
    if constexpr (kLeftAlone)
      return;
    else if constexpr (kSide == Side::kLeft)
      Definition::give(graph, change, beside<Out>(row, partner));
    else
      Definition::give(graph, change, beside<Out>(partner, row));
  }
  // Beside NULLs.
  template <Side kSide, class Graph>
  static void give_alone(Graph& graph, Change change, const RowOn<kSide>& row) {
    give_pair<kSide>(graph, change, row, RowOn<other(kSide)>());
  }
};

}  // namespace holdfast::query
