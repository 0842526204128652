// access_suite.hpp: the workload of suite access, shared by its subjects: accesses of some lines
// each, one after another or at random places of a range, by threads with a share of it each.
//
// The loops that show what the instructions cost are those of bench/memory (`holdfast bench run`
// drives them over workload files); here our primitive and PMDK's stand beside them. Where accesses
// go is drawn before the clock starts. What is read is checked by sums that follow from the places;
// of what was written the last accesses of each thread are looked up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/bench/memory/access_list.hpp>
#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/kernels.hpp>

namespace holdfast::bench::blocks {

enum class AccessOrder : std::uint8_t { kSameLine, kSequential, kRandom };
enum class AccessMedium : std::uint8_t { kRegion, kDram };

struct AccessShape {
  AccessOrder order = AccessOrder::kRandom;
  std::uint64_t lines = 1;            // Of an access.
  std::uint64_t footprint_bytes = 0;  // What all threads together go over; multiple of 2 MiB.
  memory::Flush flush = memory::Flush::kNone;
  bool fence = false;  // After each access.

  std::uint64_t access_bytes() const { return lines * kCacheLineBytes; }
};

// The two ranges of the suite, and what lies in them.
class AccessMemory {
 public:
  explicit AccessMemory(const Context& context) : context_(context) {}
  // Present, at least as large as a footprint. Errors: of opening a region in DRAM.
  Result<std::byte*> range(AccessMedium medium);
  // Fills it, if what lies there is not that already (bench/memory/content.hpp).
  Status prepare_content(AccessMedium medium);
  // Links the lines of [0, bytes) to one cycle, in order or not. Returns places on it.
  Result<std::vector<std::uint64_t>> prepare_chase(AccessMedium medium, std::uint64_t bytes,
                                                   bool random);
  void written(AccessMedium medium) { content_[static_cast<int>(medium)] = Content::kOther; }
  std::uint64_t footprint_bytes() const;

 private:
  enum class Content : std::uint8_t { kOther, kLines };
  const Context& context_;
  std::optional<Region> dram_;
  Content content_[2] = {Content::kOther, Content::kOther};
};

// What all subjects here have in common but the access itself.
class AccessSubject : public BlockSubject {
 public:
  AccessSubject(const Context& context, const AccessShape& shape,
                std::shared_ptr<AccessMemory> memory, AccessMedium medium)
      : BlockSubject(context), shape_(shape), memory_(std::move(memory)), medium_(medium) {}

  Status create() override {
    HF_ASSIGN_OR_RETURN(base_, memory_->range(medium_));
    return {};
  }
  bool counts_persists() const override { return false; }
  // Draws the places of each thread.
  Status before(const Phase& phase) override;

 protected:
  // Accesses of a kernel call: so many that the loop around it does not count.
  static constexpr std::uint64_t kBlockBytes = 16 * KiB;
  std::uint64_t block(const Phase& phase) const {
    return phase.latency ? 1 : std::max<std::uint64_t>(1, kBlockBytes / shape_.access_bytes());
  }
  // The accesses [first, first + count) of a thread; they do not go beyond the end of its list.
  memory::Accesses accesses(unsigned thread, std::uint64_t first, std::uint64_t count) const;
  std::uint64_t place(unsigned thread, std::uint64_t access) const;  // Byte in the range.
  // As many accesses as there are until the places begin again.
  std::uint64_t period(unsigned thread) const;
  // body(first access of this call, how many), until the phase ends.
  template <class Body>
  Status in_blocks(PhaseThread& thread, Body&& body) {
    const auto size = block(thread.phase());
    std::uint64_t at = 0;
    // With a fence after each it is about their latency.
    const auto bytes = shape_.fence ? 0 : size * shape_.access_bytes();
    const auto status =
        timed_loop(thread, 1, static_cast<unsigned>(size), bytes, [&](std::uint64_t) {
          body(at, size);
          at += size;
          if (at + size > period(thread.index())) at = 0;
        });
    done_[thread.index()] = thread.operations;
    return status;
  }
  // Where access number `i` of those that in_blocks() made went.
  std::uint64_t place_of_done(const Phase& phase, unsigned thread, std::uint64_t i) const {
    const auto size = block(phase);
    const auto whole = std::max(period(thread) / size, std::uint64_t{1}) * size;
    return place(thread, i % whole);
  }

  // Whether the last accesses of each thread are there: is_there(thread, byte in the range).
  template <class IsThere>
  Status check_last_writes(const Phase& phase, IsThere&& is_there) const {
    constexpr std::uint64_t kLooked = 1024;
    for (unsigned t = 0; t < phase.threads; ++t) {
      for (std::uint64_t back = 1; back <= std::min(kLooked, done_[t]); ++back) {
        const auto at = place_of_done(phase, t, done_[t] - back);
        if (!is_there(t, at))
          return Error{Errc::kCorrupt,
                       "wrong: what was written at byte " + std::to_string(at) + " is not there"};
      }
    }
    return {};
  }

  const AccessShape shape_;
  const std::shared_ptr<AccessMemory> memory_;
  const AccessMedium medium_;
  std::byte* base_ = nullptr;
  std::array<std::uint64_t, 64> done_{};  // By thread, of the last phase.

 private:
  struct Share {
    std::uint64_t first_slot = 0, slots = 0;
    memory::AccessList list;
  };
  std::vector<Share> shares_;
};

// Copies lines of DRAM with `Writer`:
//   Writer(const Context&, const AccessShape&); Status ready(); void add_facts(Fields&)
//   void write(std::byte* to, const std::byte* from, std::size_t bytes)   and its fence, if
//   shape.fence void finish()                                                         at the end of
//   a phase
template <class Writer>
class CopySubject final : public AccessSubject {
 public:
  CopySubject(const Context& context, const AccessShape& shape,
              std::shared_ptr<AccessMemory> memory)
      : AccessSubject(context, shape, std::move(memory), AccessMedium::kRegion),
        writer_(context, shape) {}
  bool counts_persists() const override { return Writer::kCountsPersists; }
  Status create() override {
    HF_RETURN_IF_ERROR(writer_.ready());
    memory_->written(medium_);
    return AccessSubject::create();
  }
  results::Fields facts() const override {
    results::Fields facts;
    writer_.add_facts(facts);
    return facts;
  }
  Status run(PhaseThread& thread) override {
    const auto bytes = shape_.access_bytes();
    const Source source(thread.phase(), thread.index(), bytes);
    const auto* const from = source.data();
    const auto status = in_blocks(thread, [&](std::uint64_t first, std::uint64_t count) {
      for (auto i = first; i < first + count; ++i)
        writer_.write(base_ + place(thread.index(), i), from, bytes);
    });
    writer_.finish();
    return status;
  }
  Status after(const Phase& phase) override {
    std::vector<Source> sources;
    for (unsigned t = 0; t < phase.threads; ++t)
      sources.emplace_back(phase, t, shape_.access_bytes());
    return check_last_writes(phase, [&](unsigned thread, std::uint64_t at) {
      return std::memcmp(base_ + at, sources[thread].data(), shape_.access_bytes()) == 0;
    });
  }

 private:
  // What a thread writes in a phase, on lines of its own.
  class Source {
   public:
    Source(const Phase& phase, unsigned thread, std::uint64_t bytes)
        : words_(bytes / 8 + 8),
          first_(words_.data() +
                 (0 - reinterpret_cast<std::uintptr_t>(words_.data())) % kCacheLineBytes / 8) {
      for (std::uint64_t i = 0; i < bytes / 8; ++i)
        first_[i] = mix64(phase.number * 1'000'000 + thread * 1'000 + i);
    }
    const std::byte* data() const { return reinterpret_cast<const std::byte*>(first_); }

   private:
    std::vector<std::uint64_t> words_;
    std::uint64_t* first_;
  };

  Writer writer_;
};

}  // namespace holdfast::bench::blocks
