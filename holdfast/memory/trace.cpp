#ifdef HOLDFAST_TRACED

#include <holdfast/memory/trace.hpp>

#include <atomic>

namespace holdfast {

namespace {
std::atomic<TraceSink*> installed{nullptr};
}  // namespace

TraceSink& trace_sink() {
  static TraceSink ignores_everything;
  TraceSink* sink = installed.load(std::memory_order_acquire);
  return sink != nullptr ? *sink : ignores_everything;
}

TraceSink* set_trace_sink(TraceSink* sink) {
  return installed.exchange(sink, std::memory_order_acq_rel);
}

}  // namespace holdfast

#endif  // HOLDFAST_TRACED
