// stream_places.hpp: where `holdfast stream` keeps the states of queries, and savepoints of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/script.hpp>

namespace holdfast::tools {

// What the command line says.
struct StreamArguments {
  std::string file, text, state, region, checkpoint, directory, compile, format, members, from,
      target;
  stream::compile::CompileSettings compile_settings;
  bool final_state = false, watch = false;
  int ui = -1;           // The port; -1: no page.
  unsigned workers = 0;  // 0: what the script says.
  std::size_t queries = 1;
  std::string kv_memory;  // Of --state kv; empty: what the script says.
  std::string sharing;
};

// What the command line leaves open the statements may have said.
StreamArguments with_state_of(StreamArguments arguments, const stream::Script& script);

// Of a run: it alone writes checkpoints there. A savepoint only reads them, and makes nothing.
enum class Use : std::uint8_t { kRun, kSavepoint };

// Where states are: what it gives may be called for the same state again and again. Empty: nowhere.
Result<stream::OpenState> places_of(const StreamArguments& arguments, Use use);
// The same, of a run, and each state that has no checkpoint yet begins with the savepoint --from.
Result<stream::OpenState> state_of(const StreamArguments& arguments);

// Copies the last checkpoint of each query to the directory --to: all of them or none, since half of
// a savepoint would be in the way of the next. Gives the names of its files. Errors: kNotFound (no
// query has a checkpoint), kAlreadyExists, those of both places.
Result<std::vector<std::string>> save_all(const stream::OpenState& open,
                                          const StreamArguments& arguments,
                                          const stream::Script& script);

}  // namespace holdfast::tools
