#include <holdfast/bench/kv/steady.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::bench::kv {

using Seconds = std::chrono::duration<double>;

SteadyWatch::SteadyWatch(Space space, double seconds)
    : space_(std::move(space)),
      seconds_(seconds),
      process_cpu_ns_(process_cpu_ns()),
      caller_cpu_ns_(thread_cpu_ns()) {
  if (!space_) return;
  before_ = space_();
  looker_ = std::thread([this] { look_now_and_then(); });
}

SteadyWatch::~SteadyWatch() { stop(); }

void SteadyWatch::look_now_and_then() {
  const auto begin = std::chrono::steady_clock::now();
  const auto interval = Seconds(std::min(1.0, seconds_ / 20));
  const auto from = Seconds(std::min(10.0, seconds_ / 2));
  const Lock lock(mutex_);
  for (unsigned times = 1;; ++times) {
    const auto next =
        begin + std::chrono::duration_cast<std::chrono::nanoseconds>(interval * times);
    while (!stop_ && std::chrono::steady_clock::now() < next)
      stopped_.wait_for(mutex_, next - std::chrono::steady_clock::now());
    if (stop_) break;
    if (Seconds(std::chrono::steady_clock::now() - begin) < from) continue;
    const auto use = space_();
    if (use.live_bytes == 0) continue;
    ++samples_;
    used_over_live_max_ = std::max(used_over_live_max_, static_cast<double>(use.used_bytes) /
                                                            static_cast<double>(use.live_bytes));
  }
  looker_cpu_ns_ = thread_cpu_ns();
}

void SteadyWatch::stop() {
  if (!looker_.joinable()) return;
  {
    const Lock lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  looker_.join();
}

void SteadyWatch::thread_ends(const StallWatch& stalls) {
  if (!stalls.knows_waiting()) knows_waiting_ = false;
  auto longest = stall_max_ns_.load();
  while (longest < stalls.longest_ns() &&
         !stall_max_ns_.compare_exchange_weak(longest, stalls.longest_ns())) {
  }
  phase_cpu_ns_ += thread_cpu_ns();
}

results::Fields SteadyWatch::finish(std::uint64_t operations) {
  const auto all_ns = process_cpu_ns() - process_cpu_ns_;
  const auto after = space_ ? space_() : SpaceUse();
  const auto mine_ns = thread_cpu_ns() - caller_cpu_ns_;
  stop();
  results::Fields fields;
  const auto per_op = [&](std::uint64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(operations, 1));
  };
  const auto known_ns = phase_cpu_ns_ + looker_cpu_ns_ + mine_ns;
  fields.set("background_cpu_ns_per_op", per_op(all_ns - std::min(all_ns, known_ns)));
  fields.set("stall_max_ns", stall_max_ns_.load());
  fields.set("stall_clock", knows_waiting_ ? "wall less waiting for a CPU" : "wall");
  if (!space_) return fields;
  fields.set("used_over_live_samples", samples_);
  if (samples_ > 0) fields.set("used_over_live_max", used_over_live_max_);
  if (after.records > 0) {
    const auto written = static_cast<double>(operations) * static_cast<double>(after.live_bytes) /
                         static_cast<double>(after.records);
    fields.set("relocated_bytes_per_written_byte",
               static_cast<double>(after.relocated_bytes - before_.relocated_bytes) /
                   std::max(written, 1.0));
  }
  return fields;
}

}  // namespace holdfast::bench::kv
