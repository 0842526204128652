// failure.hpp: a crash state in words.
#pragma once

#include <span>
#include <string>

#include <holdfast/crash/medium.hpp>

namespace holdfast::crash {

// Lists the cells that are neither as durable nor as newest would be by the fewer differences: with
// "everything kept" as the reference if more cells are newest than durable, else "nothing kept".
// For each: offset, the stores kept and lost in program order with value and site.
std::string describe_state(const Medium& medium, std::span<const std::uint32_t> cells,
                           std::span<const CellState> states);

}  // namespace holdfast::crash
