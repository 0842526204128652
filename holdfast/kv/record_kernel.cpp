#include <holdfast/kv/record_kernel.hpp>

namespace holdfast::kv {
namespace {

struct Job {
  const Persist& persist;
  std::byte* to;
  const RecordParts& parts;
  std::uint64_t seed;
  const PatchableWords& words;
  Site site;
};

template <class Lines, LineWay kWay>
RecordSums compose_on(const Job& job) {
  const auto with = [&]<Patchable kPatch>() {
    return compose_record<Lines, kWay, kPatch>(job.persist, job.to, job.parts, job.seed, job.words,
                                               job.site);
  };
  switch (patchable_of(job.words)) {
    case Patchable::kNone: return with.template operator()<Patchable::kNone>();
    case Patchable::kFirst: return with.template operator()<Patchable::kFirst>();
    case Patchable::kSome: break;
  }
  return with.template operator()<Patchable::kSome>();
}

// The instance of one instruction set for what is known at run time only.
template <class Lines>
RecordSums compose(const Job& job) {
  switch (job.persist.line_way()) {
    case LineWay::kStore: return compose_on<Lines, LineWay::kStore>(job);
    case LineWay::kWriteBack: return compose_on<Lines, LineWay::kWriteBack>(job);
    case LineWay::kStream: break;
  }
  return compose_on<Lines, LineWay::kStream>(job);
}

[[gnu::flatten]] RecordSums compose_portable(const Job& job) { return compose<PortableLines>(job); }
[[gnu::flatten, gnu::target(HF_TARGET_AVX2)]] RecordSums compose_avx2(const Job& job) {
  return compose<Avx2Lines>(job);
}
[[gnu::flatten, gnu::target(HF_TARGET_AVX512)]] RecordSums compose_avx512(const Job& job) {
  return compose<Avx512Lines>(job);
}

RecordIsa ask_isa() {
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("aes") &&
                        __builtin_cpu_supports("bmi2");
  if (!has_avx2) return RecordIsa::kPortable;
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vaes");
  return has_avx512 ? RecordIsa::kAvx512 : RecordIsa::kAvx2;
}

}  // namespace

RecordIsa record_isa() {
  static const RecordIsa once = ask_isa();
  return once;
}

RecordSums compose_record_by(RecordIsa isa, const Persist& persist, std::byte* to,
                             RecordParts parts, std::uint64_t seed, const PatchableWords& words,
                             Site site) {
  switch (isa) {
    case RecordIsa::kAvx512: return compose_avx512({persist, to, parts, seed, words, site});
    case RecordIsa::kAvx2: return compose_avx2({persist, to, parts, seed, words, site});
    case RecordIsa::kPortable: break;
  }
  return compose_portable({persist, to, parts, seed, words, site});
}

}  // namespace holdfast::kv
