// Counts the instructions that each verb of the store executes, and fails beyond a budget. So the
// speed of the store cannot rot unseen, on machines whose timings say nothing.
//
//   instruction_count_test                 judges by the budgets of kVerbs, or skips (exit code 77)
//   … --store bytes|typed --path streaming|write-back --verb NAME      a part of the table
//   … --times N                            counts N times as many calls
//   … --profile FILE                       also writes where the instructions were: lines of
//                                          "store path verb address count", the address as
//                                          addr2line -fie instruction_count_test wants it
//
// What is counted: calls on a warm store of 40,000 records of 16 + 200 bytes on DRAM that is taken
// as a line medium; each verb had 600 calls before. Streaming and write-back are the two ways of
// copying to the medium (nt_evicts=on and off). What the calling code costs is subtracted: the same
// calling code is counted with a store whose verbs return at once. put_many and get_many take 16
// records per call, and a call of the pipeline's verbs is a window of 32 operations with its flush;
// their figures are per record.
//
// A step costs up to 30 us of CPU, so few calls are counted unless --times asks for more.
//
// What is judged: the median. A call now and then has more to do (it seals a run, it applies a
// group of notes); the mean and the maximum are printed, so that they are seen.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/kv/pipeline.hpp>
#include <holdfast/kv/record_kernel.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/kv/typed_store.hpp>

#include "step_counter.hpp"

namespace holdfast::kv {
namespace {

constexpr unsigned kRecords = 40'000, kWarmUp = 600, kBatch = 16, kWindow = 32;
constexpr int kPassed = 0, kFailed = 1, kBadRequest = 2, kSkipped = 77;

// A change that needs fewer instructions lowers the budget; none is raised without a reason in
// docs/performance.md.
struct Verb {
  const char* name;
  unsigned per_call;  // Records.
  unsigned calls;     // Counted; --times N multiplies it.
  double avx512;      // The budget on CPUs with AVX-512 and VAES,
  double avx2;        // and on those with AVX2, AES and BMI2 only.
  double goal;

  double budget() const { return record_isa() == RecordIsa::kAvx512 ? avx512 : avx2; }
};
constexpr std::array kVerbs = {
    Verb{"put", 1, 16, 380, 435, 300},
    Verb{"overwrite", 1, 16, 400, 420, 330},
    Verb{"erase", 1, 16, 440, 330, 350},
    Verb{"update8", 1, 16, 230, 230, 0},
    Verb{"get", 1, 16, 190, 175, 0},
    Verb{"get_text", 1, 16, 190, 195, 0},
    Verb{"put_many", kBatch, 2, 400, 465, 0},
    Verb{"get_many", kBatch, 2, 230, 245, 0},
    Verb{"pipeline_put", kWindow, 2, 780, 830, 0},
    Verb{"pipeline_overwrite", kWindow, 2, 800, 835, 0},
    Verb{"pipeline_erase", kWindow, 2, 720, 735, 0},
    Verb{"pipeline_update8", kWindow, 2, 640, 655, 0},
    Verb{"pipeline_get", kWindow, 2, 540, 560, 0},
};

struct Path {
  const char* name;
  const char* spec;
};
constexpr std::array kPaths = {Path{"streaming", "dram?granularity=line&nt_evicts=on"},
                               Path{"write-back", "dram?granularity=line&nt_evicts=off"}};

template <std::size_t kBytes>
using Fixed = std::array<std::byte, kBytes>;
using Key16 = Fixed<16>;
using Value200 = Fixed<200>;

struct Bytes {
  static constexpr const char* kName = "bytes";
  using Key = std::string_view;
  using Value = std::string_view;
  using Out = std::string;
  using StoreType = Store<>;
  using PipelineType = Pipeline<>;
  static Key key(const Key16& key) { return {reinterpret_cast<const char*>(key.data()), 16}; }
  static Value value(const Value200& v) { return {reinterpret_cast<const char*>(v.data()), 200}; }
};
struct Typed {
  static constexpr const char* kName = "typed";
  using Key = Key16;
  using Value = Value200;
  using Out = Value200;
  using StoreType = Store<Key16, Value200>;
  using PipelineType = Pipeline<Key16, Value200>;
  static const Key& key(const Key16& key) { return key; }
  static const Value& value(const Value200& value) { return value; }
};

std::uint64_t mixed(std::uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
Key16 key_of(std::uint64_t record) {
  const std::array<std::uint64_t, 2> words = {mixed(record), mixed(~record)};
  return std::bit_cast<Key16>(words);
}
Value200 value_of(std::uint64_t record, std::uint64_t version) {
  std::array<std::uint64_t, 25> words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = mixed(record * 32 + version * 7 + i);
  return std::bit_cast<Value200>(words);
}

// The verbs of a store, doing nothing: what is left is the calling code. noinline and an asm that
// touches memory keep the compiler from knowing that.
template <class Kind>
struct NoStore {
  using Key = typename Kind::Key;
  using Value = typename Kind::Value;
#define HOLDFAST_NOTHING(result)   \
  {                                \
    asm volatile("" ::: "memory"); \
    return result;                 \
  }
  [[gnu::noinline]] Result<PutOutcome> put(const Key&, const Value&)
      HOLDFAST_NOTHING(PutOutcome::kOverwrote) [[gnu::noinline]] Result<bool> erase(const Key&)
          HOLDFAST_NOTHING(true) [[gnu::noinline]] Result<std::uint64_t> update_word(
              const Key&, std::uint32_t, FunctionRef<std::uint64_t(std::uint64_t)>)
              HOLDFAST_NOTHING(std::uint64_t{0})
                  [[gnu::noinline]] Result<std::uint64_t> get(const Key&, std::span<std::byte>)
                      HOLDFAST_NOTHING(std::uint64_t{200})
                          [[gnu::noinline]] Result<Version> get(const Key&, Value200&)
                              HOLDFAST_NOTHING(Version{1})
                                  [[gnu::noinline]] Result<Version> get(const Key&, std::string&)
                                      HOLDFAST_NOTHING(Version{1}) [[gnu::noinline]] Status
      put_many(std::span<const Key>, std::span<const Value>) HOLDFAST_NOTHING(Status())
          [[gnu::noinline]] Status
      get_many(std::span<const Key>, std::span<typename Kind::Out>, std::span<Errc>)
          HOLDFAST_NOTHING(Status())
#undef HOLDFAST_NOTHING
};

// The calling code: one function per verb, on keys and values that lie ready.
template <class Kind, class StoreType>
class Calls {
 public:
  Calls(StoreType& store, std::uint64_t first_record, std::uint64_t records)
      : store_(store), outs_(kBatch), outcomes_(kBatch), first_record_(first_record) {
    raw_keys_.reserve(records);  // The views into them stay valid.
    raw_values_.reserve(records);
    for (std::uint64_t i = 0; i < records; ++i) {
      raw_keys_.push_back(key_of(first_record + i));
      raw_values_.push_back(value_of(first_record + i, 1));
      keys_.push_back(Kind::key(raw_keys_.back()));
      values_.push_back(Kind::value(raw_values_.back()));
    }
    for (auto& out : outs_)
      if constexpr (requires { out.resize(200); }) out.resize(200);
  }

  using Call = void (Calls::*)(std::size_t at);
  static Call named(std::string_view verb) {
    if (verb == "put" || verb == "overwrite") return &Calls::put;
    if (verb == "erase") return &Calls::erase;
    if (verb == "update8") return &Calls::update8;
    if (verb == "get") return &Calls::get;
    if (verb == "get_text") return &Calls::get_text;
    if (verb == "pipeline_put" || verb == "pipeline_overwrite") return &Calls::pipeline_put;
    if (verb == "pipeline_erase") return &Calls::pipeline_erase;
    if (verb == "pipeline_update8") return &Calls::pipeline_update8;
    if (verb == "pipeline_get") return &Calls::pipeline_get;
    return verb == "put_many" ? &Calls::put_many : &Calls::get_many;
  }

  // Every call must have succeeded, and the last ones must have done what they say.
  bool all_right(std::string_view verb) {
    if (!ok_) return false;
    const auto last = keys_.size() - 1;
    Value200 found{};
    const bool there = read(last, found);
    if (verb.ends_with("erase")) return !there;
    if (verb.ends_with("update8"))
      return there && std::bit_cast<std::array<std::uint64_t, 25>>(found)[0] == 5;
    const bool reads = verb.starts_with("get") || verb == "pipeline_get";
    const auto expected = value_of(first_record_ + last, reads ? 0 : 1);
    if (!there || found != expected) return false;
    if (verb == "pipeline_get") return buffers_[kWindow - 1] == expected;
    if (verb == "get") return one_ == expected;
    if (verb == "get_text")
      return text_.size() == expected.size() &&
             std::memcmp(text_.data(), expected.data(), expected.size()) == 0;
    return verb != "get_many" ||
           std::memcmp(outs_[kBatch - 1].data(), expected.data(), expected.size()) == 0;
  }

 private:
  [[gnu::noinline]] void put(std::size_t at) { ok_ &= bool(store_.put(keys_[at], values_[at])); }
  [[gnu::noinline]] void erase(std::size_t at) { ok_ &= bool(store_.erase(keys_[at])); }
  [[gnu::noinline]] void update8(std::size_t at) {
    ok_ &= bool(store_.update_word(keys_[at], 0, [](std::uint64_t) { return std::uint64_t{5}; }));
  }
  [[gnu::noinline]] void get(std::size_t at) { ok_ &= read(at, one_); }
  // Into a string, which is what callers have. A typed store has no such verb: its get() again.
  [[gnu::noinline]] void get_text(std::size_t at) {
    if constexpr (std::is_same_v<Kind, Bytes>) {
      ok_ &= bool(store_.get(keys_[at], text_));
    } else {
      ok_ &= read(at, one_);
      text_.assign(reinterpret_cast<const char*>(one_.data()), one_.size());
    }
  }
  [[gnu::noinline]] void put_many(std::size_t at) {
    ok_ &= bool(store_.put_many(std::span(keys_).subspan(at, kBatch),
                                std::span(values_).subspan(at, kBatch)));
  }
  [[gnu::noinline]] void get_many(std::size_t at) {
    ok_ &= bool(store_.get_many(std::span(keys_).subspan(at, kBatch), std::span(outs_),
                                std::span(outcomes_)));
  }
  // A window, with what submits it.
  template <class Submit>
  [[gnu::always_inline]] void in_window(std::size_t at, Submit&& submit) {
    if constexpr (requires { StoreType::open("", StoreOptions{}); }) {
      if (!pipeline_) pipeline_.emplace(Kind::PipelineType::open(store_).value());
      for (std::size_t i = 0; i < kWindow; ++i)
        submit(*pipeline_, at + i, i);
      ok_ &= bool(pipeline_->flush());
    }
  }
  [[gnu::noinline]] void pipeline_put(std::size_t at) {
    in_window(at, [this](auto& pipeline, std::size_t key, std::size_t) {
      pipeline.put(keys_[key], values_[key]);
    });
  }
  [[gnu::noinline]] void pipeline_erase(std::size_t at) {
    in_window(at,
              [this](auto& pipeline, std::size_t key, std::size_t) { pipeline.erase(keys_[key]); });
  }
  [[gnu::noinline]] void pipeline_update8(std::size_t at) {
    in_window(at, [this](auto& pipeline, std::size_t key, std::size_t) {
      pipeline.update_word(keys_[key], 0, [](std::uint64_t) { return std::uint64_t{5}; });
    });
  }
  [[gnu::noinline]] void pipeline_get(std::size_t at) {
    in_window(at, [this](auto& pipeline, std::size_t key, std::size_t i) {
      if constexpr (std::is_same_v<Kind, Bytes>)
        pipeline.get(keys_[key], std::span<std::byte>(buffers_[i]));
      else
        pipeline.get(keys_[key], buffers_[i]);
    });
  }
  [[gnu::always_inline]] bool read(std::size_t at, Value200& out) {
    if constexpr (std::is_same_v<Kind, Bytes>)
      return bool(store_.get(keys_[at], std::span<std::byte>(out)));
    else
      return bool(store_.get(keys_[at], out));
  }

  StoreType& store_;
  std::vector<Key16> raw_keys_;
  std::vector<Value200> raw_values_;
  std::vector<typename Kind::Key> keys_;
  std::vector<typename Kind::Value> values_;
  std::vector<typename Kind::Out> outs_;
  std::vector<Errc> outcomes_;
  std::vector<Value200> buffers_ = std::vector<Value200>(kWindow);
  std::optional<typename Kind::PipelineType> pipeline_;
  Value200 one_{};
  std::string text_;
  const std::uint64_t first_record_;
  bool ok_ = true;
};

// `calls` samples of `verb`, records from `first` on; the first kWarmUp calls are not counted.
template <class Kind, class StoreType>
bool sample(StoreType& store, const Verb& verb, std::uint64_t first, bool warm_up) {
  const auto warm = warm_up ? kWarmUp / verb.per_call : 0;
  const auto calls = warm + verb.calls;
  Calls<Kind, StoreType> all(store, first, std::uint64_t{calls} * verb.per_call);
  const auto call = Calls<Kind, StoreType>::named(verb.name);
  for (unsigned i = 0; i < warm; ++i)
    (all.*call)(std::size_t{i} * verb.per_call);
  for (unsigned i = warm; i < calls; ++i) {
    step::mark();
    (all.*call)(std::size_t{i} * verb.per_call);
    step::mark();
  }
  return !warm_up || all.all_right(verb.name);
}

// In the child: for each verb the calling code alone, then the verb.
template <class Kind>
int count_verbs(const Path& path, const std::vector<Verb>& verbs) {
  StoreOptions options;
  options.patchable_words = {0};
  options.initial_bytes = 64 * MiB;
  options.prefault = true;
  auto store = Kind::StoreType::open(path.spec, options);
  if (!store || !store->reserve(2 * kRecords)) {
    std::fprintf(stderr, "open: %s\n", store ? "reserve" : store.error().message().c_str());
    return kFailed;
  }
  for (std::uint64_t record = 0; record < kRecords; ++record) {
    const auto key = key_of(record);
    const auto value = value_of(record, 0);
    if (!store->put(Kind::key(key), Kind::value(value))) return kFailed;
  }
  // Each verb has records of its own, so that none meets what another has changed; new ones for
  // put.
  std::uint64_t next_old = 0, next_new = kRecords;
  for (const auto& verb : verbs) {
    const auto records = kWarmUp + std::uint64_t{verb.calls} * verb.per_call;
    const std::string_view name = verb.name;
    auto& next = name.starts_with("put") || name == "pipeline_put" ? next_new : next_old;
    NoStore<Kind> nothing;
    if (!sample<Kind>(nothing, verb, next, false) || !sample<Kind>(*store, verb, next, true)) {
      std::fprintf(stderr, "%s: a call failed, or its answer is wrong\n", verb.name);
      return kFailed;
    }
    next += records;
  }
  return store->close() ? kPassed : kFailed;
}

struct Arguments {
  std::string store, path, verb, profile, times = "1";
};

double percentile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

// Counts in samples [first, first + verb.calls), per record, less `harness`, ascending.
std::vector<double> per_record(const std::vector<std::uint64_t>& samples, std::size_t first,
                               const Verb& verb, double harness) {
  std::vector<double> counts;
  for (std::size_t i = first; i < first + verb.calls; ++i)
    counts.push_back(static_cast<double>(samples[i]) / verb.per_call - harness);
  std::sort(counts.begin(), counts.end());
  return counts;
}

void write_profile(std::ofstream& file, const char* store, const char* path, const Verb& verb,
                   const step::Counted& counted, std::size_t first) {
  extern const char start_of_image __asm__("__executable_start");
  std::map<std::uint64_t, std::uint64_t> all;
  for (std::size_t i = first; i < first + verb.calls; ++i) {
    for (const auto& [address, times] : counted.addresses[i])
      all[address - reinterpret_cast<std::uint64_t>(&start_of_image)] += times;
  }
  for (const auto& [address, times] : all) {
    file << store << ' ' << path << ' ' << verb.name << " 0x" << std::hex << address << std::dec
         << ' ' << times << '\n';
  }
}

// Returns how many verbs were beyond what is judged by, or an error.
template <class Kind>
Result<unsigned> judge(const Path& path, const std::vector<Verb>& verbs, const Arguments& arguments,
                       std::ofstream& profile) {
  HF_ASSIGN_OR_RETURN(
      const auto counted,
      step::count([&] { return count_verbs<Kind>(path, verbs); }, !arguments.profile.empty()));
  std::size_t expected = 0, first = 0;
  for (const auto& verb : verbs)
    expected += 2 * verb.calls;
  if (counted.samples.size() != expected)
    return Error{Errc::kIo, std::to_string(counted.samples.size()) + " samples instead of " +
                                std::to_string(expected)};
  unsigned beyond = 0;
  for (const auto& verb : verbs) {
    const auto harness = percentile(per_record(counted.samples, first, verb, 0), 0.5);
    const auto counts = per_record(counted.samples, first + verb.calls, verb, harness);
    double sum = 0;
    for (const auto value : counts)
      sum += value;
    const auto median = percentile(counts, 0.5);
    const bool too_many = median > verb.budget();
    beyond += too_many;
    std::printf("%-6s %-11s %-18s %7.0f %7.0f %7.0f %7.0f %8.0f %8.0f %6.0f%s%s\n", Kind::kName,
                path.name, verb.name, median, percentile(counts, 0.1), percentile(counts, 0.9),
                sum / static_cast<double>(counts.size()), counts.back(), harness, verb.budget(),
                verb.goal > 0 && median <= verb.goal ? "  goal reached" : "",
                too_many                       ? "  BEYOND"
                : median < 0.8 * verb.budget() ? "  the budget can be lowered"
                                               : "");
    if (profile.is_open())
      write_profile(profile, Kind::kName, path.name, verb, counted, first + verb.calls);
    first += 2 * verb.calls;
  }
  std::fflush(stdout);
  return beyond;
}

// The counter itself: a known number of instructions, string instructions included.
Result<bool> counter_is_exact() {
  HF_ASSIGN_OR_RETURN(const auto counted, step::count([] {
                        static char from[4096], to[4096];
                        step::mark();
                        step::mark();
                        step::mark();
                        asm volatile(".rept 1000\n nop\n .endr");
                        step::mark();
                        step::mark();
                        auto* target = to;
                        const auto* source = from;
                        std::size_t bytes = sizeof to;
                        asm volatile(".rept 7\n nop\n .endr\n rep movsb"
                                     : "+D"(target), "+S"(source), "+c"(bytes)::"memory");
                        step::mark();
                        return kPassed;
                      }));
  const auto& samples = counted.samples;
  // The compiler may put two or three moves before rep movsb.
  return samples.size() == 3 && samples[1] - samples[0] == 1000 && samples[2] - samples[0] >= 8 &&
         samples[2] - samples[0] <= 16;
}

std::optional<Arguments> parsed(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    std::string* const target = word == "--store"     ? &arguments.store
                                : word == "--path"    ? &arguments.path
                                : word == "--verb"    ? &arguments.verb
                                : word == "--times"   ? &arguments.times
                                : word == "--profile" ? &arguments.profile
                                                      : nullptr;
    if (target == nullptr || i + 1 == count) return std::nullopt;
    *target = words[++i];
  }
  const auto digits = arguments.times.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || arguments.times.empty() || arguments.times.size() > 2) return std::nullopt;
  return arguments;
}

// Why counts of this build or machine say nothing; empty if they do.
std::string not_comparable() {
#ifndef __OPTIMIZE__
  return "built without optimisation";
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "built with a sanitizer";
#elif !defined(__x86_64__)
  return "not an x86-64";
#else
  if (record_isa() == RecordIsa::kPortable)
    return "a CPU without AVX2, AES and BMI2 takes the portable paths";
  return {};
#endif
}

int skipped(const std::string& why) {
  std::printf("SKIPPED, no instruction was judged: %s\n", why.c_str());
  return kSkipped;
}

int run(const Arguments& arguments) {
  if (const auto why = not_comparable(); !why.empty()) return skipped(why);
  const auto exact = counter_is_exact();
  if (!exact && exact.code() == Errc::kUnsupported) return skipped(exact.error().detail);
  if (!exact || !*exact) {
    std::printf("FAILED: the counter does not count 1,000 nops as 1,000: %s\n",
                exact ? "" : exact.error().message().c_str());
    return kFailed;
  }
  std::vector<Verb> verbs;
  for (const auto& verb : kVerbs) {
    if (!arguments.verb.empty() && arguments.verb != verb.name) continue;
    verbs.push_back(verb);
    verbs.back().calls *= std::max(1u, static_cast<unsigned>(std::stoul(arguments.times)));
  }
  std::ofstream profile;
  if (!arguments.profile.empty()) profile.open(arguments.profile);
  std::printf(
      "instructions per record by %s, calling code subtracted; judged: the median\n%-6s %-11s "
      "%-18s %7s %7s %7s %7s %8s %8s %6s\n",
      record_isa() == RecordIsa::kAvx512 ? "AVX-512" : "AVX2", "store", "path", "verb", "median",
      "p10", "p90", "mean", "max", "harness", "budget");
  unsigned beyond = 0;
  // What is beyond is counted once more: hash key and addresses differ from store to store, and with
  // them a group of 16 records now and then. What a change of the code adds is there both times.
  const auto add = [&](const auto& judged) {
    auto result = judged();
    if (result && *result > 0) {
      std::printf("counted once more, with another store:\n");
      result = judged();
    }
    if (!result) std::printf("FAILED: %s\n", result.error().message().c_str());
    beyond += result ? *result : 1;
  };
  for (const auto& path : kPaths) {
    if (!arguments.path.empty() && arguments.path != path.name) continue;
    if (arguments.store != Typed::kName)
      add([&] { return judge<Bytes>(path, verbs, arguments, profile); });
    if (arguments.store != Bytes::kName)
      add([&] { return judge<Typed>(path, verbs, arguments, profile); });
  }
  if (beyond == 0) return kPassed;
  std::printf("FAILED: %u verbs are beyond their budget\n", beyond);
  return kFailed;
}

}  // namespace
}  // namespace holdfast::kv

int main(int count, char** words) {
  const auto arguments = holdfast::kv::parsed(count, words);
  if (!arguments) {
    std::fprintf(stderr,
                 "usage: instruction_count_test [--store bytes|typed] [--path "
                 "streaming|write-back] [--verb NAME] [--times 1..99] [--profile FILE]\n");
    return holdfast::kv::kBadRequest;
  }
  return holdfast::kv::run(*arguments);
}
