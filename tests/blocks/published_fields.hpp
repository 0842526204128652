// published_fields.hpp: the in-place updates of van Renen et al., section 3.4 and appendix A, as
// published: failure-atomic memory (FAM) with its recovery and its two listings, the redo log, the
// selector. Beside them field_holes_test.cpp counts states.
#pragma once

#include <array>

#include "../crash/protocols.hpp"

namespace holdfast::crash::protocols {

// ---- FAM: version in bits 62-63, the value before in 31-61, the value in 0-30 of each block ----

inline constexpr std::uint64_t kFamLow = 0x7fffffff;

inline std::uint64_t fam_version(std::uint64_t block) { return block >> 62; }
inline std::uint64_t fam_next(std::uint64_t block, std::uint64_t value) {
  return (fam_version(block) + 1) << 62 | (block & kFamLow) << 31 | (value & kFamLow);
}

// A field of `blocks` blocks from word 6 on, so that two of them end a line.
struct FamModel {
  std::uint64_t blocks = 5;  // 16 bytes: four, and one for the top bits.
  bool fenced = true;        // Recovery persists what it rolled back. The paper does not say so.

  static constexpr std::uint64_t kAt = 6;

  Words read(Region& region) const {
    Words values;
    for (std::uint64_t i = 0; i < blocks; ++i)
      values.push_back(load(region, kAt + i) & kFamLow);
    return values;
  }
  void update(Region& region, std::uint64_t value, bool with_fence = true) const {
    for (std::uint64_t i = 0; i < blocks; ++i)
      store(region, kAt + i, fam_next(load(region, kAt + i), value));
    write_back(region, kAt, blocks);
    if (with_fence) fence(region);
  }
  // Rolls the blocks of the newest version back: the one that nothing follows.
  Words recover(Region& region) const {
    bool seen[4] = {};
    for (std::uint64_t i = 0; i < blocks; ++i)
      seen[fam_version(load(region, kAt + i))] = true;
    bool rolled = false;
    for (std::uint64_t version = 0; version < 4; ++version) {
      if (!seen[version] || !seen[(version + 3) % 4] || seen[(version + 1) % 4]) continue;
      for (std::uint64_t i = 0; i < blocks; ++i) {
        const auto block = load(region, kAt + i);
        if (fam_version(block) != version) continue;
        const auto old = block >> 31 & kFamLow;
        store(region, kAt + i, (version + 3) << 62 | old << 31 | old);
        rolled = true;
      }
      break;
    }
    if (rolled && fenced) persist(region, kAt, blocks);
    return read(region);
  }
};

// Value 1, and after a recovery value 3 by the code that has just opened it. In a group: values 1
// and 2 under one fence.
inline Protocol<Words> fam_updates(const FamModel& field, bool group = false) {
  Protocol<Words> protocol;
  protocol.initial = Words(field.blocks, 0);
  protocol.workload = [=](Region& region, Workload& run) {
    run.begin(1, 1);
    if (group) {
      run.begin(2, 2);
      field.update(region, 1, false);
      field.update(region, 2);
      run.acknowledge(1);
      run.acknowledge(2);
    } else {
      field.update(region, 1);
      run.acknowledge(1);
    }
  };
  protocol.recover = [=](Region& region) -> Result<Words> { return field.recover(region); };
  protocol.then = [=](Region& region, Workload& run, const Words&) {
    field.recover(region);
    run.perform(3, [&] { field.update(region, 3); });
  };
  protocol.check = [=](const Past<Words>& past, const Words& seen) -> std::string {
    Words newest = past.base;
    for (const auto& operation : past.operations) {
      const Words value(field.blocks, operation.id);
      if (operation.acknowledged())
        newest = value;
      else if (seen == value)
        return "";
    }
    return seen == newest ? "" : "a torn field";
  };
  protocol.print = [](const Words& values) { return print_entries({values}); };
  return protocol;
}

// The pseudo code: the input is cast to int32, so the shift smears the top bit. Block 4 is the top
// bits, of which that of the first word is the highest.
inline void pseudo_code_update(std::array<std::uint64_t, 5>& blocks,
                               const std::array<std::int32_t, 4>& words) {
  std::int32_t high = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    blocks[i] = fam_next(blocks[i], static_cast<std::uint32_t>(words[i]));
    high |= words[i] >> 31;
    high = static_cast<std::int32_t>(static_cast<std::uint32_t>(high) << 1);
  }
  blocks[4] = fam_next(blocks[4], static_cast<std::uint32_t>(high));
}
inline std::uint32_t pseudo_code_read(const std::array<std::uint64_t, 5>& blocks, std::size_t i) {
  const auto top = (blocks[4] >> (4 - i)) & 1;
  return static_cast<std::uint32_t>((blocks[i] & kFamLow) | top << 31);
}

// The printed AVX2 listing, lane by lane. Block 0 is the top bits. The input is masked before its
// top bits are taken; the new version of block 0 comes from them, not from the block; and what is
// shifted to the old half of block 0 is not masked.
inline void printed_update(std::array<std::uint64_t, 5>& blocks,
                           const std::array<std::uint32_t, 4>& words) {
  std::uint64_t tops = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto input = words[i] & std::uint32_t{kFamLow};
    const auto block = blocks[1 + i];
    const auto version = (block + (std::uint64_t{1} << 62)) & std::uint64_t{3} << 62;
    const auto state = (block << 31 & ~(std::uint64_t{3} << 62)) | input;
    blocks[1 + i] = version | state;
    tops |= static_cast<std::uint64_t>(input >> 31) << i;
  }
  const auto version = (tops + 1) << 62 & std::uint64_t{3} << 62;
  blocks[0] = version | blocks[0] << 31 | tops;
}
inline std::uint32_t printed_read(const std::array<std::uint64_t, 5>& blocks, std::size_t i) {
  return static_cast<std::uint32_t>((blocks[1 + i] & kFamLow) | (blocks[0] >> i & 1) << 31);
}

// The artifact's "sliding" update of n words and the blocks of their top bits, which takes the old
// half of the last block from the place where it would be with 31 words.
inline void sliding_update(std::vector<std::uint64_t>& blocks,
                           const std::vector<std::uint32_t>& words) {
  const auto before = blocks;
  std::vector<std::uint64_t> values(blocks.size(), 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    values[i] = words[i] & kFamLow;
    values[words.size() + i / 31] |= static_cast<std::uint64_t>(words[i] >> 31) << (i % 31);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto from = i + 1 < blocks.size() ? i : std::min<std::size_t>(i, 31);
    blocks[i] = (fam_version(before[i]) + 1) << 62 | (before[from] & kFamLow) << 31 | values[i];
  }
}

// ---- The redo log: what changes is logged, then written in place ----

// Two fields in words 32 and 40; a log of two entries of a line each: count, where, what. The
// published entry has no `where`, so recovery takes entry i for field i; and the artifact opens an
// existing file without zeroing it, so entries of another life are there.
inline Protocol<Words> redo_field(bool whole_record, bool fresh_log) {
  Protocol<Words> protocol;
  const auto append = [=](Region& region, std::uint64_t slot, std::uint64_t at,
                          std::uint64_t value) {
    const auto where = whole_record ? at : 0;
    store(region, slot * 8 + 1, where);
    store(region, slot * 8 + 2, value);
    store(region, slot * 8,
          static_cast<std::uint64_t>(std::popcount(where) + std::popcount(value)) + 1);
    persist(region, slot * 8, 3);
  };
  protocol.initial = {10, 11};
  protocol.setup = [=](Region& region) {
    store(region, 32, 10), store(region, 40, 11);
    persist(region, 32, 9);
    if (!fresh_log) append(region, 1, 32, 77);  // Of before these values were set.
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      append(region, 0, 40, 12);
      store(region, 40, 12);
      persist(region, 40, 1);
    });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    for (std::uint64_t slot = 0; slot < 2; ++slot) {
      const auto where = load(region, slot * 8 + 1), value = load(region, slot * 8 + 2);
      const auto count =
          static_cast<std::uint64_t>(std::popcount(where) + std::popcount(value)) + 1;
      if (load(region, slot * 8) != count) break;
      const auto at = whole_record ? where : 32 + slot * 8;
      store(region, at, value);
      persist(region, at, 1);
    }
    return Words{load(region, 32), load(region, 40)};
  };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    if (seen == Words{10, 12}) return "";
    return seen == Words{10, 11} && !past.operations[0].acknowledged() ? "" : "a field is wrong";
  };
  protocol.print = [](const Words& values) { return print_entries({values}); };
  return protocol;
}

// ---- The selector of two copies ----

enum class SelectorForm {
  kSound,     // The copy, fence, the selector, fence.
  kOneFence,  // Both under one fence.
  kOneBurst,  // Both in one line, by non-temporal stores.
};

inline Protocol<std::uint64_t> selected(SelectorForm form) {
  const bool burst = form == SelectorForm::kOneBurst;
  Protocol<std::uint64_t> protocol;  // 0: the first copy; else the second one's value + 1.
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      if (burst) {
        const Words line{1, 0, 7, 0, 0, 0, 0, 0};
        region.persist().stream(word(region, 0), line.data(), 64);
        fence(region);
        return;
      }
      store(region, 16, 7);
      write_back(region, 16, 1);
      if (form == SelectorForm::kSound) fence(region);
      store(region, 0, 1);
      persist(region, 0, 1);
    });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    return load(region, 0) == 0 ? 0 : load(region, burst ? 2 : 16) + 1;
  };
  protocol.check = [](const Past<std::uint64_t>& past, const std::uint64_t& seen) -> std::string {
    return seen == 8 || (seen == 0 && !past.operations[0].acknowledged()) ? "" : "half an update";
  };
  return protocol;
}

}  // namespace holdfast::crash::protocols
