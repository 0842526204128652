#include <holdfast/kv/pipeline_window.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace holdfast::kv {
namespace {

constexpr std::size_t kFailuresKept = 64;

Error no_store() {
  return {Errc::kClosed,
          "the store was closed before the operation was executed; nothing of it "
          "was written"};
}

Error in_callback(const char* what) {
  return {Errc::kBusy, std::string(what) + " in a callback of the same pipeline; do it behind it"};
}

}  // namespace

Bytes KeptBytes::keep_beyond(Bytes bytes) {
  beyond_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes.size()));
  std::memcpy(beyond_.back().get(), bytes.data(), bytes.size());
  return {beyond_.back().get(), bytes.size()};
}

PipelineWindow::PipelineWindow(StoreCore& core, PipelineOptions options)
    : options_(std::move(options)),
      store_(core.alive),
      outcomes_(std::bit_ceil(std::size_t{options_.window}), Result<std::uint64_t>(0)) {}

PipelineWindow::~PipelineWindow() {
  ending_ = true;
  execute();
  const Status failed = take_failures();
  if (failed) return;
  if (options_.report)
    options_.report(failed.error());
  else
    std::fprintf(stderr, "holdfast: a pipeline ended, and nobody was told: %s\n",
                 failed.error().message().c_str());
}

// ---- Submission ----

[[gnu::flatten]] Operation& PipelineWindow::begin(Operation::Verb verb, std::string_view key,
                                                  std::string_view value) {
  const std::size_t bytes = key.size() + value.size();
  const bool fits = filling_.bytes.fits(bytes);
  if (!busy_ && (filling_.count >= options_.window || (!fits && filling_.count != 0))) execute();
  // What fits into no window is executed before the caller goes on, from where it lies.
  borrowed_ = !busy_ && !filling_.bytes.fits(bytes);
  if (filling_.count == filling_.operations.size()) {
    filling_.operations.emplace_back();
    filling_.receivers.emplace_back();
  }
  Operation& operation = filling_.operations[filling_.count];
  const auto kept = [&](std::string_view given) {
    return borrowed_ ? bytes_of(given) : filling_.bytes.keep(bytes_of(given));
  };
  operation.begin(verb, kept(key), kept(value));
  if (StoreCore* const core = store_->load(std::memory_order_acquire)) [[likely]]
    core->groups.prepare(operation);
  return operation;
}

std::uint64_t PipelineWindow::submit(Receiver& done) {
  const std::uint64_t ticket = filling_.first_ticket + filling_.count;
  if (ending_) [[unlikely]] {
    note(ticket, {Errc::kClosed, "submitted by a callback while the pipeline ended"});
    return ticket;
  }
  if (done) filling_.receivers[filling_.count] = std::move(done);
  ++filling_.count;
  if (borrowed_) [[unlikely]]
    execute();
  return ticket;
}

// ---- Execution ----

void PipelineWindow::execute() {
  if (filling_.count == 0) return;
  std::swap(filling_, executed_);
  filling_.first_ticket = executed_.first_ticket + executed_.count;
  filling_.count = 0;
  filling_.bytes.clear();
  struct Busy {
    bool& flag;
    explicit Busy(bool& of) : flag(of) { flag = true; }
    ~Busy() { flag = false; }
  } const busy(busy_);
  if (StoreCore* const core = store_->load(std::memory_order_acquire)) [[likely]] {
    try {
      core->groups.run(executed_.in_use(), core->rooms.effective({options_.durability}));
    } catch (const std::bad_alloc&) {
      end_without_memory(core->rooms.gate);
    }
  } else {
    for (Operation& operation : executed_.in_use())
      operation.end(no_store());
  }
  acknowledge();
}

// What is not at its end has failed. A record of it that is on the medium comes back with the next
// opening, so no write may follow.
void PipelineWindow::end_without_memory(WriteGate& gate) {
  bool in_doubt = false;
  for (Operation& operation : executed_.in_use()) {
    if (operation.done) continue;
    in_doubt |= operation.appended.offset != 0;
    operation.end(Error{Errc::kNoSpace, "no memory"});
  }
  if (in_doubt) gate.fail_in_doubt({Errc::kNoSpace, "no memory"});
}

// A callback may submit, which concerns the other window; nothing is executed meanwhile.
void PipelineWindow::acknowledge() {
  const std::uint64_t first = executed_.first_ticket;
  for (std::size_t i = 0; i < executed_.count; ++i) {
    Operation& operation = executed_.operations[i];
    if (operation.updates()) operation.change = nullptr, operation.change_word = nullptr;
    place_of(first + i) = operation.outcome;
  }
  acknowledged_ = first + executed_.count - 1;
  for (std::size_t i = 0; i < executed_.count; ++i) {
    Operation& operation = executed_.operations[i];
    Receiver& done = executed_.receivers[i];
    if (done) {
      done(std::move(operation.outcome));
      done = nullptr;
    } else if (!operation.outcome && operation.outcome.code() != Errc::kNotFound) [[unlikely]] {
      note(first + i, operation.outcome.error());
    }
  }
}

Status PipelineWindow::flush() {
  if (busy_) return in_callback("flush()");
  execute();
  return take_failures();
}

Result<std::uint64_t> PipelineWindow::outcome_of(std::uint64_t ticket) {
  const std::uint64_t submitted = filling_.first_ticket + filling_.count;
  if (ticket > acknowledged_ && ticket < submitted) {
    if (busy_) return in_callback("wait() for what is in flight");
    execute();
  }
  const std::uint64_t kept =
      acknowledged_ < outcomes_.size() ? 1 : acknowledged_ - outcomes_.size() + 1;
  if (ticket < kept || ticket >= submitted) {
    return Error{Errc::kInvalidOption, "ticket=" + std::to_string(ticket) + "; outcomes of " +
                                           std::to_string(kept) + " to " +
                                           std::to_string(submitted - 1) + " are kept"};
  }
  std::erase_if(failures_, [&](const Failure& failure) { return failure.ticket == ticket; });
  return place_of(ticket);
}

// ---- What nobody was told ----

void PipelineWindow::note(std::uint64_t ticket, const Error& error) {
  if (failures_.size() < kFailuresKept)
    failures_.push_back({ticket, error});
  else
    ++more_failures_;
}

Status PipelineWindow::take_failures() {
  if (failures_.empty()) {
    const std::uint64_t uncounted = std::exchange(more_failures_, 0);
    if (uncounted == 0) return {};
    return Error{Errc::kIo, std::to_string(uncounted) + " operations failed"};
  }
  Failure first = std::move(failures_.front());
  const std::uint64_t more = failures_.size() - 1 + std::exchange(more_failures_, 0);
  failures_.clear();
  std::string detail = "operation " + std::to_string(first.ticket);
  if (!first.error.detail.empty()) detail += ": " + first.error.detail;
  if (more != 0) detail += "; " + std::to_string(more) + " more failed";
  return Error{first.error.code, std::move(detail)};
}

}  // namespace holdfast::kv
