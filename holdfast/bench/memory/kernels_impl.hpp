// kernels_impl.hpp: the kernels of whole lines, for whatever vectors the including file is compiled
// for. It defines HF_KERNEL_SET, the name of its table, and HF_KERNEL_NAME before;
// without them it is the portable one.
#pragma once

#ifndef HF_KERNEL_SET
#define HF_KERNEL_SET kPortableKernels
#define HF_KERNEL_NAME "portable"
#endif

#include <cstddef>
#include <cstdint>

#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/bench/memory/vector_lines.hpp>

namespace holdfast::bench::memory {
namespace {

// Lines of an access: known while compiling, or not.
template <std::size_t kClass>
constexpr std::uint64_t lines_of(std::uint64_t lines) {
  constexpr std::uint64_t kKnown[kSizeClasses] = {1, 2, 4, 8, 0};
  return kKnown[kClass] != 0 ? kKnown[kClass] : lines;
}

void add_to(Lanes& lanes, const LineVector& sum) {
  auto total = LineVector::load(lanes.sum);
  total.add(sum);
  total.store(reinterpret_cast<std::byte*>(lanes.sum));
}

template <bool kSlots, std::size_t kClass, bool kStreamed>
void read(const Accesses& accesses) {
  const auto lines = lines_of<kClass>(accesses.lines);
  const auto count = accesses.count;
  auto sum = LineVector::zero();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* at = accesses.base + byte_of<kSlots>(accesses, i);
#ifdef HF_TEST_LOSE_LOADS  // memory_kernel_lines.py must see this.
    if (i % 2 == 1) continue;
#endif
#pragma GCC unroll 8
    for (std::uint64_t line = 0; line < lines; ++line) {
      if constexpr (kStreamed)
        sum.add_streamed_from(at + line * 64);
      else
        sum.add_from(at + line * 64);
    }
  }
  add_to(*accesses.lanes, sum);
}

// Stores lines that hold what they held, with the tag in lane 7.
template <std::size_t kClass, Flush kFlush>
void write_lines(std::byte* base, std::uint64_t at_byte, std::uint64_t line_count,
                 const LineVector& first_line) {
  const auto lines = lines_of<kClass>(line_count);
  auto line_vector = LineVector::broadcast(at_byte / 64 * (kLanes * kContentStep));
  line_vector.add(first_line);
  const auto next = LineVector::broadcast(kLanes * kContentStep);
#pragma GCC unroll 8
  for (std::uint64_t line = 0; line < lines; ++line) {
    write_line<kFlush>(base + at_byte + line * 64, line_vector);
    if (kClass != 0) line_vector.add(next);
  }
}

template <bool kSlots, std::size_t kClass, Flush kFlush, bool kFence>
void write(const Accesses& accesses) {
  const auto first_line = pattern(accesses.tag);
  const auto count = accesses.count;
  for (std::uint64_t i = 0; i < count; ++i) {
    write_lines<kClass, kFlush>(accesses.base, byte_of<kSlots>(accesses, i), accesses.lines,
                                first_line);
#ifdef HF_TEST_LOSE_FENCES  // And this.
    if (i % 2 == 1) continue;
#endif
    if constexpr (kFence) x86_64::store_fence();
  }
}

template <std::size_t kClass, bool kFirst>
void chain_read(const ChainStep& step, ChainState& state) {
  const auto slot =
      kFirst ? state.value : chain_slot(state.value, state.number, step.salt, step.slots);
  const auto at_byte = step.margin_bytes + slot * step.slot_bytes;
  const auto* at = step.base + at_byte;
  const auto lines = lines_of<kClass>(step.lines);
  auto sum = LineVector::zero();
#pragma GCC unroll 8
  for (std::uint64_t line = 0; line < lines; ++line)
    sum.add_from(at + line * 64);
  sum.stay();
  add_to(*step.lanes, sum);
  // Of all lines: what follows waits for the last of them.
  state.value = sum.lane0();
  state.at_byte = at_byte;
}

template <std::size_t kClass, Flush kFlush>
void chain_write(const ChainStep& step, ChainState& state) {
  const auto at_byte =
      state.at_byte + static_cast<std::uint64_t>(step.offset) + (state.value & state.zero);
  write_lines<kClass, kFlush>(step.base, at_byte, step.lines, pattern(step.tag));
  if constexpr (kFlush != Flush::kNone) x86_64::store_fence();
  state.at_byte = at_byte;
}

void run_chain(const ChainStep* steps, std::size_t count, const std::uint32_t* slots,
               std::uint64_t runs, ChainState& state) {
  auto here = state;
  for (std::uint64_t i = 0; i < runs; ++i) {
    here.value = slots[i];
    for (std::size_t step = 0; step < count; ++step)
      steps[step].run(steps[step], here);
    ++here.number;
  }
  state = here;
}

// The loop of run_same. As short as by hand: what a core overlaps of neighbouring chains is what
// fits its window. kReads: 0 is any number.
template <std::size_t kClass, Flush kFlush, std::size_t kReads>
void run_same_reads(const ChainStep* steps, std::size_t read_count, std::size_t count,
                    const std::uint32_t* slots, std::uint64_t runs, ChainState& state) {
  const auto reads = kReads != 0 ? kReads : read_count;
  const auto lines = lines_of<kClass>(steps[0].lines);
  auto* const base = steps[0].base;
  const auto line_0 = pattern(steps[count - 1].tag);
  auto sum = LineVector::zero();
  auto here = state;
  const auto read_node = [&](const ChainStep& step, std::uint64_t slot) {
    here.at_byte = step.margin_bytes + slot * (lines * 64);
    auto node = LineVector::load(base + here.at_byte);
#pragma GCC unroll 8
    for (std::uint64_t line = 1; line < lines; ++line)
      node.add_from(base + here.at_byte + line * 64);
    node.stay();
    sum.add(node);
    here.value = node.lane0();  // Of all lines: what follows waits for the last of them.
  };
  for (std::uint64_t i = 0; i < runs; ++i) {
    read_node(steps[0], slots[i]);
#pragma GCC unroll 2
    for (std::size_t s = 1; s < reads; ++s)
      read_node(steps[s], chain_slot(here.value, here.number, steps[s].salt, steps[s].slots));
    for (std::size_t s = reads; s < count; ++s) {
      here.at_byte += static_cast<std::uint64_t>(steps[s].offset) + (here.value & here.zero);
      write_lines<0, kFlush>(base, here.at_byte, 1, line_0);
      if constexpr (kFlush != Flush::kNone) x86_64::store_fence();
    }
    ++here.number;
  }
  add_to(*steps[0].lanes, sum);
  state = here;
}

template <std::size_t kClass, Flush kFlush>
void run_same(const ChainStep* steps, std::size_t reads, std::size_t count,
              const std::uint32_t* slots, std::uint64_t runs, ChainState& state) {
  const auto loop = reads == 1   ? &run_same_reads<kClass, kFlush, 1>
                    : reads == 2 ? &run_same_reads<kClass, kFlush, 2>
                    : reads == 3 ? &run_same_reads<kClass, kFlush, 3>
                                 : &run_same_reads<kClass, kFlush, 0>;
  loop(steps, reads, count, slots, runs, state);
}

// access_list.hpp, shifted(): written out, as this file may include little, and in sixteens of
// known number, which become a few vector instructions.
void shift_slots(std::uint32_t* to, const std::uint32_t* from, std::uint64_t count,
                 std::uint32_t first, std::uint32_t range, std::uint32_t shift) {
  for (std::uint64_t i = 0; i < count; i += 16) {
#pragma GCC ivdep
    for (std::uint64_t j = i; j < i + 16; ++j) {
      const std::uint32_t at = from[j] - first + shift;
      const std::uint32_t around = at - range;
      to[j] = first + (around < at ? around : at);
    }
  }
}

template <bool kSlots, std::size_t kClass>
constexpr void fill_size(KernelSet& set) {
  set.read[kSlots][kClass] = &read<kSlots, kClass, false>;
  set.stream_read[kSlots][kClass] = &read<kSlots, kClass, true>;
  auto& write_of = set.write[kSlots][kClass];
  const auto fill = [&]<Flush kFlush>() {
    write_of[static_cast<std::size_t>(kFlush)][0] = &write<kSlots, kClass, kFlush, false>;
    write_of[static_cast<std::size_t>(kFlush)][1] = &write<kSlots, kClass, kFlush, true>;
    set.chain_write[kClass][static_cast<std::size_t>(kFlush)] = &chain_write<kClass, kFlush>;
    set.run_same[kClass][static_cast<std::size_t>(kFlush)] = &run_same<kClass, kFlush>;
  };
  fill.template operator()<Flush::kNone>();
  fill.template operator()<Flush::kClwb>();
  fill.template operator()<Flush::kClflushopt>();
  fill.template operator()<Flush::kClflush>();
  fill.template operator()<Flush::kNonTemporal>();
  fill.template operator()<Flush::kFenceOnly>();
  set.chain_first_read[kClass] = &chain_read<kClass, true>;
  set.chain_read[kClass] = &chain_read<kClass, false>;
}

constexpr KernelSet make_kernels() {
  KernelSet set{};
  set.name = HF_KERNEL_NAME;
  fill_size<false, 0>(set), fill_size<true, 0>(set);
  fill_size<false, 1>(set), fill_size<true, 1>(set);
  fill_size<false, 2>(set), fill_size<true, 2>(set);
  fill_size<false, 3>(set), fill_size<true, 3>(set);
  fill_size<false, 4>(set), fill_size<true, 4>(set);
  set.run_chain = &run_chain;
  set.shift_slots = &shift_slots;
  return set;
}

}  // namespace

constinit const KernelSet HF_KERNEL_SET = make_kernels();

}  // namespace holdfast::bench::memory
