// The registry of the trace sink. Only the traced build has one: without HF_TRACED this file
// is empty, and nothing in the library can be observed or dropped.
#ifdef HF_TRACED

#include <holdfast/memory/trace.hpp>

#include <atomic>

#include <holdfast/base/spin.hpp>

namespace holdfast {
namespace {

std::atomic<TraceSink*> installed{nullptr};

TraceSink& silent_sink() {
  static TraceSink sink;
  return sink;
}

}  // namespace

TraceSink& trace_sink() {
  auto* sink = installed.load(std::memory_order_acquire);
  return sink ? *sink : silent_sink();
}

TraceSink* set_trace_sink(TraceSink* sink) {
  set_spin_hook([] { trace_sink().on_wait(); });  // Waits in base and index cannot know the sink.
  return installed.exchange(sink, std::memory_order_acq_rel);
}

}  // namespace holdfast

#endif
