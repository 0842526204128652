// state_room.hpp: where the state of an operator of a plan may be, for `explain`.
//
// Threads  Any.   Errors  None.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <holdfast/sql/plan.hpp>

namespace holdfast::stream::graph {

enum class StateRoom : std::uint8_t {
  kNone,     // It has no state.
  kMemory,   // All is in memory; a checkpoint has a copy.
  kWindows,  // Groups of windows: a store that keeps entries has what memory has no room for.
  kEntries,  // The same, of a store that finds groups.
};

StateRoom state_room(const sql::Node& node);
// Of the query of this number, with this `--state`: its operators, by where their state is.
std::string text_of_state(const sql::Plan& plan, std::size_t number, const std::string& state);

}  // namespace holdfast::stream::graph
