// floor_loops.hpp: the loops of floor.hpp, for whatever vectors the including kernels_*.cpp is
// compiled for. It defines HF_FLOOR_SET before; without it, it is the portable one.
#pragma once

#ifndef HF_FLOOR_SET
#define HF_FLOOR_SET kPortableFloor
#endif

#include <cstddef>
#include <cstdint>

#include <holdfast/bench/memory/floor_set.hpp>
#include <holdfast/bench/memory/vector_lines.hpp>

namespace holdfast::bench::memory {
namespace {
namespace by_hand {

void keep(Lanes* lanes, LineVector sum) {
  sum.add(LineVector::load(lanes->sum));
  sum.store(reinterpret_cast<std::byte*>(lanes->sum));
}

void read_sequential(const FloorJob& job) {
  auto a = LineVector::zero(), b = LineVector::zero();
  const auto* end = job.begin + job.bytes;
  for (const auto* at = job.begin; at < end; at += 256) {
    a.add_from(at), b.add_from(at + 64), a.add_from(at + 128), b.add_from(at + 192);
  }
  a.add(b);
  keep(job.lanes, a);
}

void write_sequential(const FloorJob& job) {
  auto line = pattern(job.tag);
  line.add(LineVector::broadcast(static_cast<std::uint64_t>(job.begin - job.base) / 64 *
                                 (kLanes * kContentStep)));
  const auto next = LineVector::broadcast(kLanes * kContentStep);
  auto* end = job.begin + job.bytes;
  for (auto* at = job.begin; at < end;) {
    for (auto* access_end = at + job.access_bytes; at < access_end; at += 64) {
      line.stream(at);
      line.add(next);
    }
    x86_64::store_fence();
  }
}

template <std::size_t kBytes>
void read_random(const FloorJob& job) {
  auto sum = LineVector::zero();
  for (std::uint64_t i = 0; i < job.count; ++i) {
#pragma GCC unroll 8
    for (std::size_t byte = 0; byte < kBytes; byte += 64)
      sum.add_from(job.pointers[i] + byte);
  }
  keep(job.lanes, sum);
}

// Three nodes of 512 bytes, each found through the one before.
void lookup_in_tree(const FloorJob& job) {
  auto sum = LineVector::zero();
  for (std::uint64_t i = 0; i < job.count; ++i) {
    const auto* at = static_cast<const std::byte*>(job.pointers[i]);
#pragma GCC unroll 3
    for (unsigned level = 0; level < 3; ++level) {
      auto node = LineVector::load(at);
#pragma GCC unroll 8
      for (std::size_t byte = 64; byte < 512; byte += 64)
        node.add_from(at + byte);
      node.stay();
      sum.add(node);
      if (level < 2)
        at = job.base + 512 * chain_slot(node.lane0(), job.first + i, level, job.slots);
    }
  }
  keep(job.lanes, sum);
}

// A bucket of 256 bytes, the entry in its third line, then its header.
void update_in_hash(const FloorJob& job) {
  auto sum = LineVector::zero();
  const auto line_0 = pattern(job.tag);
  for (std::uint64_t i = 0; i < job.count; ++i) {
    auto* bucket = job.pointers[i];
    auto all = LineVector::load(bucket);
#pragma GCC unroll 8
    for (std::size_t byte = 64; byte < 256; byte += 64)
      all.add_from(bucket + byte);
    all.stay();
    sum.add(all);
    // As a lookup does that finds the place in what it read.
    bucket += all.lane0() & job.zero;
    constexpr std::size_t kOffsets[] = {128, 0};
    for (const auto offset : kOffsets) {
      auto* at = bucket + offset;
      auto line = line_0;
      line.add(LineVector::broadcast(static_cast<std::uint64_t>(at - job.base) / 64 *
                                     (kLanes * kContentStep)));
      line.store(at);
      x86_64::clwb(reinterpret_cast<std::uintptr_t>(at));
      x86_64::store_fence();
    }
  }
  keep(job.lanes, sum);
}

}  // namespace by_hand
}  // namespace

constinit const FloorSet HF_FLOOR_SET = {&by_hand::read_sequential,  &by_hand::write_sequential,
                                         &by_hand::read_random<64>,  &by_hand::read_random<256>,
                                         &by_hand::read_random<512>, &by_hand::lookup_in_tree,
                                         &by_hand::update_in_hash};

}  // namespace holdfast::bench::memory
