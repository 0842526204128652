#include "savepoint.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include <holdfast/stream/run_metadata.hpp>

namespace holdfast::stream {

Status copy_checkpoint(StateStore& from, StateStore& to) {
  // First: a run that has one goes on from it, also where the savepoint is gone.
  HF_ASSIGN_OR_RETURN(const auto there, to.open());
  if (there) return Error{Errc::kAlreadyExists, "there is a checkpoint already"};
  HF_ASSIGN_OR_RETURN(auto found, from.open());
  if (!found) return Error{Errc::kNotFound, "there is no completed checkpoint"};
  HF_ASSIGN_OR_RETURN(const auto slices, from.slices());
  std::uint64_t most = 1;
  for (const auto slice : slices) {
    std::unordered_map<std::string, std::uint64_t> entries;  // Of a key: one for each delta of it.
    HF_RETURN_IF_ERROR(from.for_each(slice, [&](std::string_view key, std::string_view state) {
      const std::uint64_t number = ++entries[std::string{key}];
      most = std::max(most, number);
      return to.put_copy(slice, key, state, number);
    }));
  }
  HF_ASSIGN_OR_RETURN(auto metadata, metadata_of_beginning(*found, most));
  return to.complete({most, std::move(metadata)});
}

}  // namespace holdfast::stream
