// parallel_operators.hpp: the operators of a plan on several workers: docs/stream_workers.md.
//
// take() is a round: workers take rows for some milliseconds, and are done when it returns. So
// whatever the pipeline does between two rounds (checkpoints, others that take over) sees all of
// them at one place of the source. How many are at work may change there too.
//
// Guarantee  Results are those of one worker, in its order; but sums of FLOAT and DOUBLE are added
//            up in another order.
// Threads    One at a time; it has threads of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/stream/pipeline.hpp>
#include <holdfast/stream/workers/active_workers.hpp>
#include <holdfast/stream/workers/part.hpp>
#include <holdfast/stream/workers/sharing_choice.hpp>
#include <holdfast/stream/workers/worker_crew.hpp>

namespace holdfast::stream {

class ParallelOperators final : public Operators {
 public:
  static constexpr unsigned kMostWorkers = 256;

  // Long beside the moment in which workers wait for the last of them, short for a checkpoint that
  // waits for the round to end.
  static constexpr std::chrono::milliseconds kRound{20};

  // At most so many `workers`; how many are at work is measured again and again.
  // Errors: kNoSpace: there are no threads.
  static Result<std::unique_ptr<ParallelOperators>> start(std::unique_ptr<MergingOperators> merging,
                                                          unsigned workers, Sharing sharing,
                                                          std::chrono::milliseconds round = kRound,
                                                          ActiveTimes times = {});
  ~ParallelOperators() override;

  Status restore(const OperatorCounts& counts) override;
  Result<Progress> take(Source& source) override;
  Status end() override;
  Status settle() override;
  Status put_state() override;
  OperatorCounts counts() const override;
  unsigned workers() const override { return active_.number(); }
  std::vector<OperatorProgress> operators() const override;
  std::set<std::int64_t> stored_slices() const override { return merging_->stored_slices(); }
  Status visit_entries(VisitEntry visit) const override { return merging_->visit_entries(visit); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker;
  struct Failure {
    std::uint64_t batch = 0;
    std::int64_t before = kNoWatermark;  // The watermark before the batch.
    std::string position;
    std::size_t row = 0;
    bool of_row = false;  // False: the source's own, with its place.
    Error error;
  };
  // Batches that all workers look at.
  struct Ring;

  ParallelOperators(std::unique_ptr<MergingOperators> merging, std::unique_ptr<WorkerCrew> crew,
                    Sharing sharing, std::chrono::milliseconds round, ActiveTimes times);
  void begin_parts(std::int64_t watermark);
  void receive(std::int64_t end, std::unique_ptr<Parcel> parcel) HF_EXCLUDES(parcels_mutex_);
  void work(unsigned number, Source& source);
  void work_by_key(unsigned number, Source& source);
  bool claim(Source& source, Worker& worker) HF_EXCLUDES(source_mutex_);
  bool read(Source& source, const Part& part, Batch& batch) HF_REQUIRES(source_mutex_);
  Batch* fetch(Source& source, unsigned number, std::uint64_t batch) HF_EXCLUDES(source_mutex_);
  std::int64_t pass_on_watermark(const Batch& batch);
  void step(Worker& worker, const Batch& batch, std::int64_t before);
  void note(Failure failure) HF_EXCLUDES(failure_mutex_);
  std::int64_t lowest() const;
  void merge_if_due() HF_EXCLUDES(merging_mutex_);
  Status merge_up_to(std::int64_t watermark) HF_REQUIRES(merging_mutex_);
  Status end_round(Source& source);
  void share_out();
  Error explained(const Failure& failure, Source& source) const;

  const std::unique_ptr<MergingOperators> merging_;
  const std::unique_ptr<WorkerCrew> crew_;
  const std::chrono::milliseconds round_;
  SharingChoice choice_;
  ActiveWorkers active_;
  bool by_key_;      // In this round.
  unsigned number_;  // Of workers in this round: the first of workers_.
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Ring> ring_;

  // ---- A round ----
  Clock::time_point until_;
  KernelMutex source_mutex_;
  std::uint64_t batches_ HF_GUARDED_BY(source_mutex_) = 0;  // That were read.
  std::uint64_t rows_ HF_GUARDED_BY(source_mutex_) = 0;
  bool ended_ HF_GUARDED_BY(source_mutex_) = false;
  std::atomic<bool> over_{false};
  // Batches whose watermarks are in `watermark_`. The worker with the next batch may write it.
  std::atomic<std::uint64_t> passed_{0};
  std::int64_t watermark_ = kNoWatermark;
  KernelMutex failure_mutex_;
  std::optional<Failure> failure_ HF_GUARDED_BY(failure_mutex_);

  // ---- Parcels, by the ends they are for ----
  KernelMutex parcels_mutex_;
  std::map<std::int64_t, std::vector<std::unique_ptr<Parcel>>> parcels_
      HF_GUARDED_BY(parcels_mutex_);
  std::atomic<std::int64_t> first_end_{kEndOfTime};
  // Held by the worker that uses merging_ while others are at work.
  KernelMutex merging_mutex_;

  double merging_seconds_ HF_GUARDED_BY(merging_mutex_) = 0;  // Of this round.
};

// `successor`'s operators on so many workers.
Successor parallel_successor(Successor successor, unsigned workers, Sharing sharing,
                             ActiveTimes times = {});

}  // namespace holdfast::stream
