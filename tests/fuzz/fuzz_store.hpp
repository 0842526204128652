// fuzz_store.hpp: a store in memory for targets that give a state any contents.
#pragma once

#include <cstdint>
#include <memory>

#include <holdfast/kv/store.hpp>

namespace holdfast {

// Of fixed size, in order, and with its checks; nothing goes on behind.
inline std::shared_ptr<kv::Store<>> empty_fuzz_store(std::uint64_t bytes) {
  RegionOptions of_region;
  of_region.access = RegionAccess::kCreate;
  of_region.size_bytes = of_region.unit_bytes = of_region.reserve_bytes = bytes;
  kv::StoreOptions options;
  options.access = RegionAccess::kOpenOrCreate;
  options.block_bytes = 8 * KiB;
  options.segment_bytes = options.initial_bytes = 64 * KiB;
  options.max_bytes = bytes;
  options.background = false;
  options.order = options.verify_reads = true;
  return std::make_shared<kv::Store<>>(
      kv::Store<>::open(Region::open("dram", of_region).value(), options).value());
}

}  // namespace holdfast
