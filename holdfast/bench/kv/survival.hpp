// survival.hpp: whether what a store acknowledged is still there: after filling, after closing and
// opening, after SIGKILL. Store and Session as in store_adapter.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <holdfast/bench/kv/context.hpp>
#include <holdfast/bench/kv/helper_process.hpp>
#include <holdfast/bench/kv/operations.hpp>
#include <holdfast/bench/kv/store_adapter.hpp>
#include <holdfast/bench/kv/workload.hpp>
#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::kv {

inline constexpr std::uint64_t kSampled = 1000;  // Answers checked after a phase, per thread.
inline constexpr std::uint64_t kKilledVersion = 1 << 20;  // Above every phase's number.

// A record whose value must be whole; and of `version`, where that is not 0.
template <class Session>
Status expect_version(Session& session, const Records& records, std::uint64_t index,
                      std::uint64_t version, const char* when) {
  Buffers buffers(records, 1);
  const auto& key = buffers.make_key(0, index);
  const auto size = session.get(key, buffers.value());
  const auto what = std::string(when) + ": record " + std::to_string(index);
  if (size == kAbsent) return Error{Errc::kCorrupt, what + " is lost"};
  if (records.difference(key, buffers.value(), size, kKilledVersion) != 0)
    return Error{Errc::kCorrupt, what + " has a value that was never written"};
  if (version != 0 && records.version_of(key, buffers.value()) != version)
    return Error{Errc::kCorrupt, what + " has an older value than the one acknowledged"};
  return {};
}

// kSampled records, evenly over those that filling put there.
template <class Store>
Status sample_records(Store& store, const Context& context, const Records& records,
                      const char* when) {
  auto session = store.session(0);
  const auto sampled = std::min(context.records, kSampled);
  for (std::uint64_t i = 0; i < sampled; ++i) {
    HF_RETURN_IF_ERROR(expect_version(session, records, i * (context.records / sampled), 0, when));
  }
  return {};
}

// Closes and opens the store, timed.
template <class Store>
Result<ExtraSample> reopened(Store& store, const Context& context, const Records& records,
                             const char* operation) {
  HF_RETURN_IF_ERROR(store.close());
  ExtraSample sample;
  sample.operation = operation;
  const auto begin = Clock::now();
  HF_RETURN_IF_ERROR(store.open(Opening::kExisting));
  sample.seconds = seconds_since(begin);
  sample.facts.set("seconds", sample.seconds);
  if (const auto status = sample_records(store, context, records, operation); !status)
    sample.invalid = status.error().message();
  return sample;
}

// In a child that will be killed: opens the store as it is, and overwrites records in their order
// with version kKilledVersion, telling the parent how many are acknowledged.
template <class Store>
Status overwrite_until_killed(const Context& context, const std::string& name,
                              HelperShared& shared) {
  const Records records(context.shape);
  Store store(context, records, name);
  HF_RETURN_IF_ERROR(store.open(Opening::kExisting));
  auto session = store.session(0);
  Buffers buffers(records, 1);
  constexpr std::uint64_t kTogether = AnswersLater<decltype(session)> ? 32 : 1;
  for (std::uint64_t i = 0;; ++i) {
    buffers.make_record(0, i % context.records, kKilledVersion);
    const bool told = (i + 1) % kTogether == 0;
    if (!session.overwrite(buffers.keys[0], buffers.values[0]) || (told && !all_done(session)))
      return Error{Errc::kIo, session.error()};
    if (told) shared.acknowledged.store(i + 1, std::memory_order_release);
  }
}

// Lets a helper overwrite records of the closed store, kills it, and looks for what it
// acknowledged.
template <class Store>
Result<ExtraSample> killed(Store& store, const Context& context, const Records& records,
                           const std::string& name, HelperProcess& helper) {
  HF_RETURN_IF_ERROR(store.close());
  const auto least =
      std::max<std::uint64_t>(1, std::min<std::uint64_t>(context.records / 20, 100'000));
  HF_ASSIGN_OR_RETURN(const auto acknowledged,
                      helper.kill_at_work(context.request_prefix + name, least, /*seconds=*/3));
  HF_ASSIGN_OR_RETURN(auto sample, reopened(store, context, records, "open_killed"));
  auto session = store.session(0);
  for (std::uint64_t i = 0; i < std::min(acknowledged, context.records) && sample.invalid.empty();
       ++i) {
    if (const auto status = expect_version(session, records, i, kKilledVersion, "after SIGKILL");
        !status)
      sample.invalid = status.error().message();
  }
  sample.facts.set("acknowledged_before_kill", acknowledged);
  return sample;
}

}  // namespace holdfast::bench::kv
