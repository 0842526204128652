// verification.hpp: whether a repetition did what it claims, after its clock has stopped.
//
//   reads    every word of every access is in the sums that the kernels carried out; they are
//            compared with what content.hpp says for exactly the operations that were counted
//   writes   of up to 65,536 of them, spread over all, each line holds what was written, with the
//            tag of this repetition
//   atomics  the words have grown by the number of operations
//   chains   replayed without memory: both of the above
//   chases   the line that was reached is as far from the first as there were hops
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <holdfast/bench/memory/worker.hpp>

namespace holdfast::bench::memory {

// Empty, or what is wrong. `atomic_sum` is sum_of_atomic_words() from before the run.
std::string verify(const SharedWork& work, const std::vector<std::unique_ptr<Worker>>& workers,
                   std::uint64_t atomic_sum);
// Of the words that compare-and-swap and fetch-and-add change.
std::uint64_t sum_of_atomic_words(const SharedWork& work);

}  // namespace holdfast::bench::memory
