// filling.hpp: how records get into a store before it is measured: in batches with every CPU, or
// one put at a time under the clock. Store and Session as in store_adapter.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/base/histogram.hpp>
#include <holdfast/bench/kv/context.hpp>
#include <holdfast/bench/kv/helper_process.hpp>
#include <holdfast/bench/kv/operations.hpp>
#include <holdfast/bench/kv/store_adapter.hpp>
#include <holdfast/bench/kv/thread_times.hpp>
#include <holdfast/bench/kv/workload.hpp>
#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::kv {

// Puts the records numbered by of(0) … of(count - 1) in batches.
template <class Store, class Session, class Of>
Status load(Session& session, const Records& records, const std::string& name, std::uint64_t count,
            std::uint64_t version, Of&& of) {
  constexpr auto kBatch = static_cast<unsigned>(Store::kLoadBatch);
  Buffers buffers(records, kBatch);
  for (std::uint64_t i = 0; i < count; i += kBatch) {
    if (interrupted()) return Error{Errc::kClosed, "interrupted"};
    const auto now = static_cast<unsigned>(std::min<std::uint64_t>(kBatch, count - i));
    for (unsigned j = 0; j < now; ++j) {
      buffers.make_record(j, of(i + j), version);
    }
    if (!session.put_many(buffers.keys.data(), buffers.values.data(), now)) {
      return Error{Errc::kIo, name + ": filling failed at record " + std::to_string(of(i)) + ": " +
                                  session.error()};
    }
  }
  return {};
}

// The records from number `from` on, with as many threads as there are CPUs.
template <class Store>
Status fill(Store& store, const Context& context, const Records& records, const std::string& name,
            std::uint64_t from) {
  const auto threads = std::max(1u, std::min(context.threads, std::thread::hardware_concurrency()));
  std::vector<Status> status(threads);
  std::vector<std::thread> running;
  const auto left = context.records - from;
  for (unsigned t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      auto session = store.session(t);
      const auto begin = from + left * t / threads, end = from + left * (t + 1) / threads;
      status[t] = load<Store>(session, records, name, end - begin, 0,
                              [&](std::uint64_t i) { return begin + i; });
    });
  }
  for (auto& thread : running)
    thread.join();
  for (auto& result : status)
    HF_RETURN_IF_ERROR(std::move(result));
  return {};
}

// One put at a time, each under its thread's CPU clock, so that a thread that merely had to wait
// for a CPU does not count.
template <class Store>
Status grow_by_puts(Store& store, const Context& context, const Records& records,
                    const std::string& name, Growth& growth) {
  Status status;
  std::thread([&] {
    Histogram times;
    auto session = store.session(0);
    Buffers buffers(records, 1);
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(context.growth_seconds));
    std::uint64_t filled = 0;
    for (; filled < context.records; ++filled) {
      if (filled % 1024 == 0 && Clock::now() >= deadline) break;
      buffers.make_record(0, filled, 0);
      const auto begin = thread_cpu_ns();
      const bool ok = session.put(buffers.keys[0], buffers.values[0]);
      times.record(thread_cpu_ns() - begin);
      if (!ok) {
        status = Error{Errc::kIo, name + ": put of record " + std::to_string(filled) +
                                      " failed: " + session.error()};
        return;
      }
    }
    if (!all_done(session)) {
      status = Error{Errc::kIo, name + ": filling failed: " + session.error()};
      return;
    }
    growth.records_timed = filled;
    growth.longest_put_ns = times.max();
    growth.p50_ns = times.percentile(50);
    growth.p999_ns = times.percentile(99.9);
  }).join();
  return status;
}

// The row put_longest.
inline ExtraSample growth_sample(const Growth& growth) {
  ExtraSample sample;
  sample.operation = "put_longest";
  sample.seconds = static_cast<double>(growth.longest_put_ns) * 1e-9;
  sample.facts.set("records", growth.records_timed);
  sample.facts.set("clock", "thread CPU time");
  sample.facts.set("p50_ns", growth.p50_ns);
  sample.facts.set("p999_ns", growth.p999_ns);
  sample.facts.set("max_ns", growth.longest_put_ns);
  return sample;
}

// In a child: fills a new store from nothing, and removes it.
template <class Store>
Status grow_from_nothing(const Context& context, const std::string& name, HelperShared& shared) {
  const Records records(context.shape);
  const auto before = anonymous_bytes();
  Store store(context, records, name);
  HF_RETURN_IF_ERROR(store.open(Opening::kGrowing));
  auto status = store.reserve(context.records, context.records);
  if (status) status = grow_by_puts(store, context, records, name, shared.growth);
  if (status) status = fill(store, context, records, name, shared.growth.records_timed);
  if (status) status = store.settle();
  if (status) {
    const auto after = anonymous_bytes();
    shared.growth.dram_bytes = after - std::min(after, before);
    shared.growth.medium_bytes = store.medium_bytes();
  }
  store.remove();
  return status;
}

}  // namespace holdfast::bench::kv
