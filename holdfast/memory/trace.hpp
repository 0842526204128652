// trace.hpp: what the traced build reports of every persistent store. Only with HF_TRACED.
//
// persist.hpp and the page back end of Region call the sink after executing each step; crash/ is
// the one implementation. Without a sink installed nothing is recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace holdfast {

class TraceSink {
 public:
  enum Step { kWriteBack, kFence, kSync };

  virtual ~TraceSink() = default;
  // Ordinary stores to [to, to + bytes), already executed: the bytes are read from there. Addresses
  // outside the simulated medium are ignored by all of these.
  virtual void on_store(const void* to, std::size_t bytes, const std::source_location& site) {
    (void)to, (void)bytes, (void)site;
  }
  virtual void on_stream(const void* to, std::size_t bytes, const std::source_location& site) {
    (void)to, (void)bytes, (void)site;
  }
  virtual void on_write_back(const void* begin, std::size_t bytes,
                             const std::source_location& site) {
    (void)begin, (void)bytes, (void)site;
  }
  virtual void on_fence(const std::source_location& site) { (void)site; }
  // The calling thread is about to hand write(), sync(), grow() or shrink() of a Region to its
  // backing, which does the work and so needs no report of it; this tells where it was called.
  virtual void on_region_call(const std::source_location& site) { (void)site; }
  // Mutation testing: true if this step at this site is to be left out.
  virtual bool drops(Step step, const std::source_location& site) {
    (void)step, (void)site;
    return false;
  }
  // A thread is about to wait for another one: the deterministic scheduler lets that one run.
  virtual void on_wait() {}
};

// The installed sink, or one that ignores everything.
TraceSink& trace_sink();
// Installs `sink` (null: none) and returns the previous one, or null.
TraceSink* set_trace_sink(TraceSink* sink);

}  // namespace holdfast
