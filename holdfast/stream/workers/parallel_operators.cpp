#include "parallel_operators.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/spin.hpp>

namespace holdfast::stream {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

struct alignas(64) ParallelOperators::Worker {
  std::unique_ptr<Part> part;
  std::unique_ptr<Batch> batch;
  // No row that it will take is judged by a lower watermark; what it had for windows that this one
  // has passed, it gave.
  std::atomic<std::int64_t> standing{kNoWatermark};
};

struct ParallelOperators::Ring {
  // Batch n is at n modulo their number. None before rows are shared out by key.
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<std::uint64_t> done;  // By worker that is at work: how many batches.
  Condition moved;
};

ParallelOperators::ParallelOperators(std::unique_ptr<MergingOperators> merging,
                                     std::unique_ptr<WorkerCrew> crew, Sharing sharing,
                                     std::chrono::milliseconds round, ActiveTimes times)
    : merging_(std::move(merging)),
      crew_(std::move(crew)),
      round_(round),
      choice_(sharing),
      active_(crew_->size(), crew_->cores(), times),
      by_key_(choice_.by_key()),
      number_(active_.number()),
      ring_(std::make_unique<Ring>()) {
  for (unsigned i = 0; i < crew_->size(); ++i)
    workers_.push_back(std::make_unique<Worker>());
  begin_parts(merging_->counts().watermark);
}

ParallelOperators::~ParallelOperators() = default;

Result<std::unique_ptr<ParallelOperators>> ParallelOperators::start(
    std::unique_ptr<MergingOperators> merging, unsigned workers, Sharing sharing,
    std::chrono::milliseconds round, ActiveTimes times) {
  HF_ASSIGN_OR_RETURN(auto crew, WorkerCrew::start(workers));
  return std::unique_ptr<ParallelOperators>(
      new ParallelOperators(std::move(merging), std::move(crew), sharing, round, times));
}

void ParallelOperators::begin_parts(std::int64_t watermark) {
  watermark_ = watermark;
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    auto& worker = *workers_[i];
    worker.part =
        merging_->make_part(watermark, [this](std::int64_t end, std::unique_ptr<Parcel> parcel) {
          receive(end, std::move(parcel));
        });
    worker.batch = worker.part->make_batch();
  }
  ring_->batches.clear();
  share_out();
}

// Rows to come, as measured.
void ParallelOperators::share_out() {
  by_key_ = choice_.by_key();
  number_ = active_.number();
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->part->own(by_key_ ? i : 0, by_key_ ? number_ : 1);
    // One that is at rest has nothing, so no window waits for it.
    const bool at_rest = i >= number_;
    workers_[i]->standing.store(at_rest ? kEndOfTime : watermark_, std::memory_order_relaxed);
  }
  auto& batches = ring_->batches;
  while (by_key_ && batches.size() < 2 * std::size_t{number_} + 2)
    batches.push_back(workers_.front()->part->make_batch());
}

Status ParallelOperators::restore(const OperatorCounts& counts) {
  HF_RETURN_IF_ERROR(merging_->restore(counts));
  begin_parts(counts.watermark);
  return {};
}

OperatorCounts ParallelOperators::counts() const {
  auto counts = merging_->counts();
  counts.watermark = std::max(counts.watermark, watermark_);
  for (const auto& worker : workers_) {
    const auto of_part = worker->part->counts();
    counts.late_rows += of_part.late_rows;
    counts.rows_without_time += of_part.rows_without_time;
  }
  return counts;
}

// Up to the groups rows are the workers', and nobody counts them between two operators.
std::vector<OperatorProgress> ParallelOperators::operators() const {
  auto all = merging_->operators();
  const auto now = counts();
  bool merged = false;
  for (auto& one : all) {
    one.watermark_ms = now.watermark;
    if (merged) continue;
    one.rows_in.reset();
    merged = std::holds_alternative<sql::Group>(merging_->plan().nodes[one.node].what);
    if (merged) {
      one.late_rows = now.late_rows;
      one.rows_without_time = now.rows_without_time;
      for (const auto& worker : workers_)
        worker->part->add_state(one);
    } else {
      one.rows_out.reset();
    }
  }
  return all;
}

// ---- A round ----

Result<Operators::Progress> ParallelOperators::take(Source& source) {
  {
    const Lock lock(source_mutex_);
    batches_ = rows_ = 0;
    ended_ = false;
    ring_->done.assign(number_, 0);
  }
  over_.store(false);
  passed_.store(0);
  const auto begun = Clock::now();
  until_ = begun + round_;
  const double busy = crew_->run(number_, [&](unsigned number) {
    by_key_ ? work_by_key(number, source) : work(number, source);
  });
  HF_RETURN_IF_ERROR(end_round(source));
  const double seconds = seconds_since(begun);
  const Lock reading(source_mutex_);
  const Lock merging(merging_mutex_);
  // One measurement at a time.
  if (!choice_.trying() || rows_ == 0) active_.note(rows_, seconds, busy);
  choice_.note(rows_, seconds, std::exchange(merging_seconds_, 0));
  // What those have who will be at rest goes where a checkpoint would bring it.
  if (active_.number() < number_) HF_RETURN_IF_ERROR(settle());
  if (active_.number() != number_ || choice_.by_key() != by_key_) share_out();
  return Progress{rows_, ended_};
}

void ParallelOperators::work(unsigned number, Source& source) {
  auto& worker = *workers_[number];
  while (claim(source, worker)) {
    worker.part->prepare(*worker.batch, true);
    step(worker, *worker.batch, pass_on_watermark(*worker.batch));
  }
}

void ParallelOperators::work_by_key(unsigned number, Source& source) {
  auto& worker = *workers_[number];
  for (std::uint64_t next = 0;; ++next) {
    const Batch* const batch = fetch(source, number, next);
    if (batch == nullptr) return;
    step(worker, *batch, worker.part->counts().watermark);
  }
}

bool ParallelOperators::claim(Source& source, Worker& worker) {
  const Lock lock(source_mutex_);
  return read(source, *worker.part, *worker.batch);
}

// False: the round is over.
bool ParallelOperators::read(Source& source, const Part& part, Batch& batch) {
  if (over_.load(std::memory_order_relaxed)) return false;
  batch.number = batches_;
  batch.position = source.position();
  part.read(source, batch);
  ended_ = batch.ended;
  // Behind all rows of the batch.
  if (!batch.source)
    note({batches_ + 1, kEndOfTime, {}, 0, false, batch.source.error()});
  else if (batch.ended || batch.rows == 0 || Clock::now() >= until_)
    over_.store(true, std::memory_order_relaxed);
  if (batch.rows == 0) return false;
  ++batches_;
  rows_ += batch.rows;
  return true;
}

// Null: the round is over. The worker that is ahead of the others reads.
Batch* ParallelOperators::fetch(Source& source, unsigned number, std::uint64_t batch) {
  auto& ring = *ring_;
  const auto size = ring.batches.size();
  UniqueLock lock(source_mutex_);
  ring.done[number] = batch;
  ring.moved.notify_all();
  while (batch == batches_ && !over_.load(std::memory_order_relaxed)) {
    const auto slowest = *std::min_element(ring.done.begin(), ring.done.end());
    if (batch - slowest >= size) {
      ring.moved.wait(source_mutex_);
      continue;
    }
    auto& part = *workers_[number]->part;
    auto& next = *ring.batches[batch % size];
    if (read(source, part, next)) part.prepare(next, false);
  }
  return batch < batches_ ? ring.batches[batch % size].get() : nullptr;
}

// The watermark before the batch. Workers with earlier batches make it known.
std::int64_t ParallelOperators::pass_on_watermark(const Batch& batch) {
  // They are about to: a sleep would take longer.
  for (SpinWait wait; passed_.load(std::memory_order_acquire) != batch.number;)
    wait();
  const auto before = watermark_;
  watermark_ = std::max(watermark_, batch.highest);
  passed_.store(batch.number + 1, std::memory_order_release);
  return before;
}

void ParallelOperators::step(Worker& worker, const Batch& batch, std::int64_t before) {
  std::size_t row = 0;
  const Status advanced = worker.part->advance(before);
  worker.standing.store(before, std::memory_order_release);
  const Status taken = advanced ? worker.part->take(batch, row) : advanced;
  if (!taken) note({batch.number, before, batch.position, row, true, taken.error()});
  merge_if_due();
}

// Of several the first of the input counts.
void ParallelOperators::note(Failure failure) {
  over_.store(true, std::memory_order_relaxed);
  const Lock lock(failure_mutex_);
  if (!failure_ || failure.batch < failure_->batch) failure_ = std::move(failure);
}

// ---- Parcels ----

void ParallelOperators::receive(std::int64_t end, std::unique_ptr<Parcel> parcel) {
  const Lock lock(parcels_mutex_);
  parcels_[end].push_back(std::move(parcel));
  first_end_.store(parcels_.begin()->first, std::memory_order_release);
}

std::int64_t ParallelOperators::lowest() const {
  auto lowest = kEndOfTime;
  for (const auto& worker : workers_)
    lowest = std::min(lowest, worker->standing.load(std::memory_order_acquire));
  return lowest;
}

// Done by the worker that finds that all have passed the end of a window; the others go on.
void ParallelOperators::merge_if_due() {
  const auto end = first_end_.load(std::memory_order_acquire);
  if (end == kEndOfTime) return;
  const auto watermark = lowest();
  if (end - 1 > watermark) return;
  if (!merging_mutex_.try_lock()) return;
  const Status merged = merge_up_to(watermark);
  merging_mutex_.unlock();
  if (!merged) note({0, kNoWatermark, {}, 0, false, merged.error()});
}

// What is given for a window is added once all windows before it have ended: rows of theirs that
// came too late are among it.
Status ParallelOperators::merge_up_to(std::int64_t watermark) {
  for (;;) {
    std::vector<std::unique_ptr<Parcel>> parcels;
    std::int64_t end = 0;
    {
      const Lock lock(parcels_mutex_);
      if (parcels_.empty() || parcels_.begin()->first - 1 > watermark) break;
      end = parcels_.begin()->first;
      parcels = std::move(parcels_.begin()->second);
      parcels_.erase(parcels_.begin());
      first_end_.store(parcels_.empty() ? kEndOfTime : parcels_.begin()->first);
    }
    HF_RETURN_IF_ERROR(merging_->advance(end - 2));
    const auto begun = Clock::now();
    for (const auto& parcel : parcels)
      merging_->absorb(*parcel);
    merging_seconds_ += seconds_since(begun);
  }
  return merging_->advance(watermark);
}

// ---- Between two rounds ----

// All have done all batches that were read.
Status ParallelOperators::end_round(Source& source) {
  std::optional<Failure> failure;
  {
    const Lock lock(failure_mutex_);
    failure = std::exchange(failure_, {});
  }
  if (by_key_) watermark_ = std::max(watermark_, workers_.front()->part->counts().watermark);
  const auto reached = failure ? std::min(failure->before, watermark_) : watermark_;
  const bool merges = !failure || failure->before != kNoWatermark;
  const Lock lock(merging_mutex_);
  for (const auto& worker : workers_) {
    const Status advanced = worker->part->advance(reached);
    if (!advanced && !failure) return advanced;
  }
  for (std::size_t i = 0; i < number_; ++i)
    workers_[i]->standing.store(reached);
  if (merges) {
    const Status merged = merge_up_to(reached);
    if (!merged && !failure) return merged;
  }
  if (failure) return explained(*failure, source);
  return {};
}

Error ParallelOperators::explained(const Failure& failure, Source& source) const {
  Error error = failure.error;
  if (!failure.of_row) return error;
  go_behind(source, failure.position, failure.row + 1, merging_->plan().source().columns.size());
  error.detail += " (at " + source.place() + ")";
  return error;
}

Status ParallelOperators::settle() {
  for (const auto& worker : workers_)
    worker->part->give_rest();
  std::map<std::int64_t, std::vector<std::unique_ptr<Parcel>>> parcels;
  {
    const Lock lock(parcels_mutex_);
    parcels.swap(parcels_);
    first_end_.store(kEndOfTime);
  }
  for (const auto& [end, given] : parcels) {
    for (const auto& parcel : given)
      merging_->absorb(*parcel);
  }
  return {};
}

Status ParallelOperators::put_state() {
  HF_RETURN_IF_ERROR(settle());
  return merging_->put_state();
}

Status ParallelOperators::end() {
  HF_RETURN_IF_ERROR(settle());
  return merging_->end();
}

Successor parallel_successor(Successor successor, unsigned workers, Sharing sharing,
                             ActiveTimes times) {
  if (!successor) return {};
  return [successor = std::move(successor), workers, sharing, times](
             Operators& now, Sink& sink, StateStore* store) -> Result<std::unique_ptr<Operators>> {
    HF_ASSIGN_OR_RETURN(auto next, successor(now, sink, store));
    auto* const merging = dynamic_cast<MergingOperators*>(next.get());
    if (merging == nullptr) return next;
    (void)next.release();
    HF_ASSIGN_OR_RETURN(
        auto parallel, ParallelOperators::start(std::unique_ptr<MergingOperators>(merging), workers,
                                                sharing, ParallelOperators::kRound, times));
    return std::unique_ptr<Operators>(std::move(parallel));
  };
}

}  // namespace holdfast::stream
