// index_suites.hpp: the suites of `holdfast index bench`, which the runner of the blocks' suites
// measures: interleaved, every answer checked, rows with intervals.
//
//   point   look-ups, updates, inserts and a mixture, on keys drawn uniformly, by Zipf or
//           self-similarly; all indexes beside one another, one by one and interleaved
//   scan    100 records in order
//   limit   each persistent index beside the chain of accesses that models it (`custom_operations`
//           of `holdfast bench run`): how much of what the memory allows it reaches
//
// After Lersch, Hao, Oukid, Wang, Willhalm, "Evaluating Persistent Memory Range Indexes" (VLDB
// 2019), whose PiBench draws keys and mixtures so; and Benson, "Efficient State Management with
// Persistent Memory" (2023), figures 3.8 to 3.10.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <holdfast/bench/blocks/suites.hpp>

namespace holdfast::bench::index {

const std::vector<blocks::Suite>& suites();

// Whether suites can be run with options.mix and options.zipf, which are for `point`, and with
// options.sizes, which are for `bytes`. Before run_suites(). Errors: kInvalidOption.
Status check_choices(const blocks::BlocksBenchOptions& options);

// Records that an index holds before it is measured.
std::uint64_t records_of(const blocks::Context& context);

// The chain `text` over as many bytes as the records take; a Subject with the operation
// `operation`. Its reads are those of bench/memory, and so are its flushes; on a region of byte
// granularity it has the fences alone.
// in_turn: an operation begins when the one before has read; else a core overlaps what it can.
std::unique_ptr<Subject> make_model(const blocks::Context& context, const char* operation,
                                    const char* text, bool in_turn);

}  // namespace holdfast::bench::index
