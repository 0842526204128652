// field_suite.hpp: the workload of suite field, shared by its subjects: an array of values of some
// bytes each, which are replaced in place and read, in order or at random places.
//
// Every value says whose it is and which update wrote it, and every one of its words follows from
// the first: a reader checks all that it reads without knowing what was written last, and after a
// phase of updates the last ones of each thread are looked up. A thread has a share of the fields
// of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/bench/memory/kernels.hpp>

namespace holdfast::bench::blocks {

struct FieldShape {
  std::uint32_t field_bytes = 0;
  bool random = false;
  std::uint64_t fields = 0;      // At most 2^40.
  std::uint64_t area_bytes = 0;  // For fields, from the region's beginning on.
  std::uint64_t log_bytes = 0;   // Of each thread, behind it.
};

template <std::uint32_t kBytes>
struct FieldValue {
  static constexpr std::uint32_t kWords = kBytes / 8;
  static constexpr unsigned kVersionBits = 24;
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;
  std::uint64_t words[kWords];

  static FieldValue of(std::uint64_t index, std::uint64_t version) {
    FieldValue value;
    const auto first = index << kVersionBits | (version & ((1u << kVersionBits) - 1));
    for (std::uint32_t i = 0; i < kWords; ++i)
      value.words[i] = first + i * kStep;
    return value;
  }
  // 0 if this is some version of field `index`.
  std::uint64_t differs_from(std::uint64_t index) const {
    auto difference = words[0] >> kVersionBits ^ index;
    for (std::uint32_t i = 1; i < kWords; ++i)
      difference |= words[i] ^ (words[0] + i * kStep);
    return difference;
  }
  bool operator==(const FieldValue&) const = default;
};

// The fields that one thread goes to.
class FieldSequence {
 public:
  FieldSequence(const FieldShape& shape, unsigned thread, unsigned threads, std::uint64_t seed)
      : random_order_(shape.random),
        share_(shape.fields / threads),
        first_(thread * share_),
        random_(seed) {}
  std::uint64_t next() {
    if (random_order_) return first_ + random_.below(share_);
    const auto index = first_ + at_;
    if (++at_ == share_) at_ = 0;
    return index;
  }
  // The one that is known only from what was read before it.
  std::uint64_t next_after(std::uint64_t word, std::uint64_t number) {
    if (random_order_) return first_ + memory::chain_slot(word, number, 0, share_);
    return next() + (word & zero_);
  }

 private:
  bool random_order_;
  std::uint64_t share_, first_, at_ = 0;
  Random random_;
  volatile std::uint64_t zero_ = 0;  // Which the compiler must not know.
};

// `Access` is where the fields lie and how they are replaced:
//   static constexpr kBytes, kStrideBytes                       of one field, on lines of its own
//   Access(const Context&, const FieldShape&); Status create()  all fields zero
//   void set(index, value)                                      before the clock, not yet durable
//   Status update(thread, index, value)                         durable on return
//   FieldValue<kBytes> read(index)
//   void settle()                                               after set(): make them durable
template <class Access>
class FieldSubject final : public BlockSubject {
 public:
  using Value = FieldValue<Access::kBytes>;

  FieldSubject(const Context& context, const FieldShape& shape)
      : BlockSubject(context), shape_(shape), access_(context, shape) {}

  Status create() override {
    HF_RETURN_IF_ERROR(access_.create());
    for (std::uint64_t index = 0; index < shape_.fields; ++index)
      access_.set(index, Value::of(index, 0));
    access_.settle();
    return {};
  }
  bool counts_persists() const override { return Access::kCountsPersists; }
  results::Fields facts() const override {
    results::Fields facts;
    facts.set("fields", shape_.fields);
    facts.set("medium_bytes_per_field", Access::kStrideBytes);
    access_.add_facts(facts);
    return facts;
  }

  Status run(PhaseThread& thread) override {
    auto sequence = sequence_of(thread.phase(), thread.index());
    if (thread.phase().operation == "update_field") return update(thread, sequence);
    if (thread.phase().operation == "read_field") {
      return read(thread, [&](std::uint64_t& bad) {
        const auto index = sequence.next();
        bad |= access_.read(index).differs_from(index);
      });
    }
    std::uint64_t number = 0, word = 0;
    return read(thread, [&](std::uint64_t& bad) {
      const auto index = sequence.next_after(word, ++number);
      const Value value = access_.read(index);
      bad |= value.differs_from(index);
      word = value.words[Value::kWords - 1];
    });
  }

  // The last updates of each thread are there.
  Status after(const Phase& phase) override {
    if (phase.operation != "update_field") return {};
    constexpr std::uint64_t kLooked = 4096;
    for (unsigned t = 0; t < phase.threads; ++t) {
      auto sequence = sequence_of(phase, t);
      std::vector<std::uint64_t> places(std::min(kLooked, updates_[t]));
      for (std::uint64_t i = 0; i < updates_[t]; ++i) {
        const auto index = sequence.next();
        if (updates_[t] - i <= places.size()) places[places.size() - (updates_[t] - i)] = index;
      }
      std::unordered_set<std::uint64_t> seen;
      for (std::uint64_t back = 1; back <= places.size(); ++back) {
        const auto index = places[places.size() - back];
        if (!seen.insert(index).second) continue;  // A later update was looked at.
        if (access_.read(index) != Value::of(index, version(phase, updates_[t] - back)))
          return Error{Errc::kCorrupt,
                       "wrong: field " + std::to_string(index) + " is not what was written last"};
      }
    }
    return {};
  }
  void destroy() override { access_.destroy(); }

 private:
  FieldSequence sequence_of(const Phase& phase, unsigned thread) const {
    return {shape_, thread, phase.threads, context_.options.seed + phase.number * 1000 + thread};
  }
  static std::uint64_t version(const Phase& phase, std::uint64_t i) {
    return i + phase.number * 7919;
  }
  Status update(PhaseThread& thread, FieldSequence& sequence) {
    Status failure;
    HF_RETURN_IF_ERROR(timed_loop(thread, 16, 1, Access::kBytes, [&](std::uint64_t i) {
      const auto index = sequence.next();
      const auto status =
          access_.update(thread.index(), index, Value::of(index, version(thread.phase(), i)));
      if (!status) [[unlikely]]
        failure = status;
    }));
    updates_[thread.index()] = thread.operations;
    return failure;
  }
  // In batches, since the loop around it would cost as much as a read does; one by one where each
  // is timed.
  template <class ReadOne>
  static Status read(PhaseThread& thread, ReadOne&& read_one) {
    const unsigned batch = thread.phase().latency ? 1 : 64;
    std::uint64_t bad = 0;
    const auto status =
        timed_loop(thread, 4, batch, std::uint64_t{batch} * Access::kBytes, [&](std::uint64_t) {
          for (unsigned i = 0; i < batch; ++i)
            read_one(bad);
        });
    if (bad != 0) thread.wrong("a field that was read is none of its versions");
    return status;
  }

  const FieldShape shape_;
  Access access_;
  std::array<std::uint64_t, 64> updates_{};  // By thread, of the last phase.
};

// What Access may leave out.
struct FieldAccessDefaults {
  static constexpr bool kCountsPersists = true;
  void add_facts(results::Fields&) const {}
  void destroy() {}
};

template <class Access>
SubjectEntry field_entry(const std::string& name, const Context& context, const FieldShape& shape) {
  return subject_entry<FieldSubject<Access>>(name, context, shape);
}

// Each instantiates `Access` for the sizes of the suite.
#define HF_FIELD_SIZES(size) size(16) size(32) size(64) size(128) size(256)

}  // namespace holdfast::bench::blocks
