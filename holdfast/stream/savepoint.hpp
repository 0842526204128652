// savepoint.hpp: the state of a query as one file, in the format of snapshot_store.hpp, to begin
// other runs with: on another state store, with other places, from the past.
//
// Threads  One at a time.
// Errors   kNotFound (there is no checkpoint), kAlreadyExists (there is one where a run is to
//          begin), and those of the stores.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream {

// The last completed checkpoint of `from`, with its state, becomes the first of `to`. A run from it
// on has sources at the same places, and sinks that begin anew; what the checkpoint covers and the
// sinks have not shown yet they show first.
Status copy_checkpoint(StateStore& from, StateStore& to);

}  // namespace holdfast::stream
