// pmdk_bytes.hpp: one loop per operation of persist, memcpy and memset, for any library.
//
// `Calls` has what a library calls these things:
//   Status open(const Context&); void close();
//   bool has(ByteOperation) const;
//   void flush(to, bytes), persist(…), deep_persist(…), msync(…);      -> bool: it worked
//   void copy_nodrain(to, from, bytes), copy_persist(…); set_nodrain(to, byte, bytes), …; drain();
//   std::byte* area(const Context&), Fields facts().
// ByteCalls has all of them; a library hides those it has. Internal to peers/blocks.
#pragma once

#include <holdfast/peers/blocks/pmdk_suite.hpp>

namespace holdfast::bench::blocks {

enum class ByteOperation : std::uint8_t {
  kFlush,
  kPersist,
  kDeepPersist,
  kMsync,
  kMemcpy,
  kMemcpyNodrain,
  kMemcpyPersist,
  kMemset,
  kMemsetNodrain,
  kMemsetPersist,
  kUnknown
};

inline ByteOperation byte_operation(const std::string& name) {
  using O = ByteOperation;
  static constexpr std::pair<const char*, O> kAll[] = {{"flush", O::kFlush},
                                                       {"persist", O::kPersist},
                                                       {"deep_persist", O::kDeepPersist},
                                                       {"msync", O::kMsync},
                                                       {"memcpy", O::kMemcpy},
                                                       {"memcpy_nodrain", O::kMemcpyNodrain},
                                                       {"memcpy_persist", O::kMemcpyPersist},
                                                       {"memset", O::kMemset},
                                                       {"memset_nodrain", O::kMemsetNodrain},
                                                       {"memset_persist", O::kMemsetPersist}};
  for (const auto& [text, operation] : kAll) {
    if (name == text) return operation;
  }
  return O::kUnknown;
}

// Does nothing, says yes to nothing.
struct ByteCalls {
  Status open(const Context&, const ByteShape&) { return {}; }
  void close() {}
  bool has(ByteOperation) const { return false; }
  bool counts_persists() const { return false; }
  std::byte* area(const Context& context) const { return context.region.data(); }
  results::Fields facts(const Context&) const { return {}; }
  bool flush(std::byte*, std::size_t) const { return true; }
  bool persist(std::byte*, std::size_t) const { return true; }
  bool deep_persist(std::byte*, std::size_t) const { return true; }
  bool msync(std::byte*, std::size_t) const { return true; }
  void copy(std::byte*, const std::byte*, std::size_t) const {}
  void copy_nodrain(std::byte*, const std::byte*, std::size_t) const {}
  void copy_persist(std::byte*, const std::byte*, std::size_t) const {}
  void set(std::byte*, unsigned char, std::size_t) const {}
  void set_nodrain(std::byte*, unsigned char, std::size_t) const {}
  void set_persist(std::byte*, unsigned char, std::size_t) const {}
  void drain() const {}
};

template <class Calls>
class ByteSubject final : public BlockSubject {
 public:
  ByteSubject(const Context& context, const ByteShape& shape, Calls calls)
      : BlockSubject(context), shape_(shape), calls_(std::move(calls)) {}
  ~ByteSubject() override { calls_.close(); }

  Status create() override { return calls_.open(context_, shape_); }
  bool supports(const std::string& operation) const override {
    return calls_.has(byte_operation(operation));
  }
  bool counts_persists() const override { return calls_.counts_persists(); }
  results::Fields facts() const override {
    auto facts = shape_.facts();
    facts.merge(calls_.facts(context_));
    return facts;
  }
  Status before(const Phase& phase) override {
    done_.assign(phase.threads, 0);
    evict(calls_.area(context_), phase.threads * shape_.area_bytes);
    return {};
  }
  Status run(PhaseThread& thread) override {
    const auto status = run_operation(thread);
    calls_.drain();
    done_[thread.index()] = thread.operations;
    return status;
  }
  Status after(const Phase& phase) override {
    for (unsigned i = 0; i < phase.threads; ++i)
      HF_RETURN_IF_ERROR(check_bytes(shape_, phase, i, done_[i], place_seed(context_, phase, i),
                                     [&](std::uint64_t offset) { return area_of(i) + offset; }));
    return {};
  }
  void destroy() override { calls_.close(); }

 private:
  std::byte* area_of(unsigned thread) const {
    return calls_.area(context_) + thread * shape_.area_bytes;
  }
  Status run_operation(PhaseThread& thread) {
    const std::size_t bytes = shape_.bytes;
    const auto stores = [&](auto&& call) {
      return each(thread, [&](std::byte* at, ByteContent& content, std::uint64_t i) {
        const auto stamp = content.stamp(i);
        for (std::size_t line = 0; line < bytes; line += kCacheLineBytes)
          std::memcpy(at + line, &stamp, sizeof stamp);
        if (!call(at, bytes)) [[unlikely]]
          thread.wrong("the call failed");
      });
    };
    const auto copies = [&](auto&& call) {
      return each(thread, [&](std::byte* at, ByteContent& content, std::uint64_t i) {
        call(at, content.copy(i), bytes);
      });
    };
    const auto sets = [&](auto&& call) {
      return each(thread, [&](std::byte* at, ByteContent& content, std::uint64_t i) {
        call(at, content.byte(i), bytes);
      });
    };
    using O = ByteOperation;
    switch (byte_operation(thread.phase().operation)) {
      case O::kFlush: return stores([&](auto... a) { return calls_.flush(a...); });
      case O::kPersist: return stores([&](auto... a) { return calls_.persist(a...); });
      case O::kDeepPersist: return stores([&](auto... a) { return calls_.deep_persist(a...); });
      case O::kMsync: return stores([&](auto... a) { return calls_.msync(a...); });
      case O::kMemcpy: return copies([&](auto... a) { calls_.copy(a...); });
      case O::kMemcpyNodrain: return copies([&](auto... a) { calls_.copy_nodrain(a...); });
      case O::kMemcpyPersist: return copies([&](auto... a) { calls_.copy_persist(a...); });
      case O::kMemset: return sets([&](auto... a) { calls_.set(a...); });
      case O::kMemsetNodrain: return sets([&](auto... a) { calls_.set_nodrain(a...); });
      case O::kMemsetPersist: return sets([&](auto... a) { calls_.set_persist(a...); });
      case O::kUnknown: break;
    }
    return Error{Errc::kUnsupported, thread.phase().operation};
  }

  template <class Call>
  Status each(PhaseThread& thread, Call&& call) {
    const auto& phase = thread.phase();
    const Places places(shape_, place_seed(context_, phase, thread.index()));
    ByteContent content(shape_, phase.number, thread.index());
    auto* const area = area_of(thread.index());
    return timed_loop(thread, 16, 1, shape_.bytes,
                      [&](std::uint64_t i) { call(area + places.at(i), content, i); });
  }

  const ByteShape shape_;
  Calls calls_;
  std::vector<std::uint64_t> done_;  // By thread.
};

template <class Calls>
SubjectEntry byte_entry(const std::string& name, const Context& context, const ByteShape& shape,
                        const Calls& calls) {
  return subject_entry<ByteSubject<Calls>>(name, context, shape, calls);
}

}  // namespace holdfast::bench::blocks
