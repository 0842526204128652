#include "savepoint.hpp"

#include <holdfast/stream/pipeline.hpp>

namespace holdfast::stream {

Status copy_checkpoint(StateStore& from, StateStore& to) {
  HF_ASSIGN_OR_RETURN(auto found, from.open());
  if (!found) return Error{Errc::kNotFound, "there is no completed checkpoint"};
  HF_ASSIGN_OR_RETURN(const auto there, to.open());
  if (there) return Error{Errc::kAlreadyExists, "there is a checkpoint already"};
  HF_ASSIGN_OR_RETURN(const auto slices, from.slices());
  for (const auto slice : slices) {
    HF_RETURN_IF_ERROR(from.for_each(slice, [&](std::string_view key, std::string_view state) {
      return to.put(slice, key, state);
    }));
  }
  HF_ASSIGN_OR_RETURN(auto metadata, metadata_of_beginning(found->metadata));
  return to.complete({1, std::move(metadata)});
}

}  // namespace holdfast::stream
