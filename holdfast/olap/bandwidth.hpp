// bandwidth.hpp: how fast a team reads the fact table of a star when it does nothing else.
#pragma once

#include <holdfast/olap/kernels.hpp>
#include <holdfast/olap/star_store.hpp>
#include <holdfast/olap/team.hpp>

namespace holdfast::olap {

// Bytes per second, the best of `rounds` readings of all blocks, or of so many of them that they
// are a gigabyte, by the widest vectors that queries use. 0 where there are none.
double measure_bandwidth(const StarStore& store, Team& team, const Kernels& kernels,
                         unsigned rounds);

}  // namespace holdfast::olap
