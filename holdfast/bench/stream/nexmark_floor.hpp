// nexmark_floor.hpp: queries of NEXMark as one writes them by hand, for these events: no NULL, no
// late rows, no checkpoints, and a table of one's own that knows its key to be a number.
#pragma once

#include <holdfast/bench/stream/nexmark_events.hpp>

namespace holdfast::bench::stream {

using NexmarkLoop = void(const NexmarkEvents& events, Answer& answer);

// Of q0 to q5, q7 and q8; null: of the others there is none.
NexmarkLoop* nexmark_loop(unsigned number);

}  // namespace holdfast::bench::stream
