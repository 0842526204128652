// pipeline_window.hpp: what a Pipeline holds: the operations in flight, and the last outcomes.
//
// Nothing of an operation in flight is in the store: neither a sequence, nor a place on the medium,
// nor a guard. So an idle pipeline holds up no snapshot, no reclamation and no close(), and
// whatever happens to the store before its window is executed has happened before it.
//
// Threads    One at a time.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include <holdfast/kv/pipeline.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

// Bytes of keys and values, copied until their operations are executed. What was given stays where
// it is until clear().
class KeptBytes {
 public:
  bool fits(std::size_t bytes) const { return bytes <= kCapacity - used_; }
  // Beyond what fits: in memory of its own.
  Bytes keep(Bytes bytes) {
    if (bytes.empty()) return {bytes_.get(), 0};
    if (!fits(bytes.size())) [[unlikely]]
      return keep_beyond(bytes);
    std::byte* const to = bytes_.get() + used_;
    used_ += bytes.size();
    if (bytes.size() == 16)
      std::memcpy(to, bytes.data(), 16);  // The usual keys: two moves.
    else
      std::memcpy(to, bytes.data(), bytes.size());
    return {to, bytes.size()};
  }
  void clear() { used_ = 0, beyond_.clear(); }

 private:
  // The values of a usual window, in the cache; larger ones are not copied (PipelineWindow::keep).
  static constexpr std::size_t kCapacity = 64 * KiB;

  Bytes keep_beyond(Bytes bytes);

  std::unique_ptr<std::byte[]> bytes_ = std::make_unique_for_overwrite<std::byte[]>(kCapacity);
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> beyond_;
};

class PipelineWindow {
 public:
  using Receiver = std::function<void(Result<std::uint64_t>)>;

  PipelineWindow(StoreCore& core, PipelineOptions options);
  ~PipelineWindow();
  PipelineWindow(const PipelineWindow&) = delete;

  // The next operation, its bytes kept, its first cache line on the way; where the window is full
  // that is executed before.
  Operation& begin(Operation::Verb verb, std::string_view key, std::string_view value = {});
  // The operation of the last begin() is in flight. Returns its ticket. `done` is moved from.
  std::uint64_t submit(Receiver& done);

  Status flush();
  Result<std::uint64_t> outcome_of(std::uint64_t ticket);
  std::size_t in_flight() const { return filling_.count; }

 private:
  struct Window {
    std::vector<Operation> operations;  // Kept from window to window; the first `count` are in use.
    std::vector<Receiver> receivers;    // Of each.
    std::size_t count = 0;
    std::uint64_t first_ticket = 1;
    KeptBytes bytes;

    std::span<Operation> in_use() { return std::span(operations).first(count); }
  };
  struct Failure {
    std::uint64_t ticket;
    Error error;
  };

  void execute();
  void acknowledge();
  void end_without_memory(WriteGate& gate);
  Result<std::uint64_t>& place_of(std::uint64_t ticket) {
    return outcomes_[ticket & (outcomes_.size() - 1)];
  }
  void note(std::uint64_t ticket, const Error& error);
  Status take_failures();

  const PipelineOptions options_;
  const std::shared_ptr<std::atomic<StoreCore*>> store_;
  Window filling_, executed_;
  // Outcomes of the last acknowledged operations, by their tickets; a power of two of them.
  std::vector<Result<std::uint64_t>> outcomes_;
  std::uint64_t acknowledged_ = 0;  // The last one's ticket.
  bool borrowed_ = false;  // The newest operation's bytes are the caller's: it is executed at once.
  bool busy_ = false;      // In execute(): what is submitted now waits.
  bool ending_ = false;    // In the destructor.
  std::vector<Failure> failures_;  // Nobody was told; the first ones.
  std::uint64_t more_failures_ = 0;
};

}  // namespace holdfast::kv
