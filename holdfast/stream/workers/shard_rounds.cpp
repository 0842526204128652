#include "shard_rounds.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream {
namespace {

constexpr auto kAllEvents = std::numeric_limits<std::size_t>::max();

}  // namespace

ShardRounds::ShardRounds(GraphReader& reader, std::unique_ptr<WorkerCrew> crew,
                         std::chrono::milliseconds round, Take take, Give give)
    : reader_(reader),
      crew_(std::move(crew)),
      round_(round),
      take_(std::move(take)),
      give_(std::move(give)) {
  for (std::size_t i = 0; i < 2 * std::size_t{shards()} + 2; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->crossings.resize(shards());
  }
}

ShardRounds::~ShardRounds() = default;

// ---- A round ----

Result<Operators::Progress> ShardRounds::take() {
  {
    const Lock lock(mutex_);
    now_ = {};
    now_.done.assign(shards(), 0);
  }
  until_ = std::chrono::steady_clock::now() + round_;
  crew_->run(crew_->size(), [this](unsigned number) { work(number); });
  HF_RETURN_IF_ERROR(end_round());
  const Lock lock(mutex_);
  return Operators::Progress{now_.rows, reader_.ended()};
}

void ShardRounds::work(std::uint32_t number) {
  for (std::uint64_t batch = 0;; ++batch) {
    Slot* const slot = fetch(number, batch);
    if (slot == nullptr) return;
    auto& crossings = slot->crossings[number];
    crossings.clear();
    std::size_t event = 0;
    const Status taken = take_(number, slot->batch, crossings, event);
    if (taken) continue;
    const Lock lock(mutex_);
    return note({batch, event, taken.error()});
  }
}

std::uint64_t ShardRounds::done_by_all() const {
  return *std::min_element(now_.done.begin(), now_.done.end());
}

// Null: the round is over. Whoever finds that a batch is to be read, or to be merged, does it.
ShardRounds::Slot* ShardRounds::fetch(std::uint32_t number, std::uint64_t batch) {
  const Lock lock(mutex_);
  now_.done[number] = batch;
  moved_.notify_all();
  for (;;) {
    if (!now_.merging && now_.merged < done_by_all()) {
      merge_one();
    } else if (batch < now_.batches) {
      return &slot(batch);
    } else if (now_.over) {
      return nullptr;
    } else if (!now_.reading && batch - now_.merged < slots_.size()) {
      read_one();
    } else {
      moved_.wait(mutex_);
    }
  }
}

void ShardRounds::read_one() {
  now_.reading = true;
  const auto number = now_.batches;
  mutex_.unlock();
  auto& batch = slot(number).batch;
  reader_.read(batch);
  const bool late = std::chrono::steady_clock::now() >= until_;
  mutex_.lock();
  now_.reading = false;
  now_.rows += batch.count;
  if (!batch.events.empty()) ++now_.batches;
  if (!batch.behind) note({number, batch.events.size(), batch.behind.error()});
  now_.over = now_.over || late || batch.count == 0 || reader_.ended();
  moved_.notify_all();
}

// A failure stays: nothing behind it is merged, for the shard in which it was is not done with it.
void ShardRounds::merge_one() {
  now_.merging = true;
  const auto number = now_.merged;
  mutex_.unlock();
  std::size_t event = 0;
  const Status merged = merge(slot(number), kAllEvents, event);
  mutex_.lock();
  if (merged) {
    now_.merging = false;
    ++now_.merged;
  } else {
    note({number, event, merged.error()});
  }
  moved_.notify_all();
}

// Of several the first of the input counts.
void ShardRounds::note(Failure failure) {
  now_.over = true;
  auto& known = now_.failure;
  if (!known || std::pair(failure.batch, failure.event) < std::pair(known->batch, known->event))
    known = std::move(failure);
  moved_.notify_all();
}

// ---- What the shards gave ----

// Up to the event `last`. With an error: the `event` that failed.
Status ShardRounds::merge(const Slot& slot, std::size_t last, std::size_t& event) {
  heads_.assign(shards(), 0);
  for (;;) {
    auto next = kAllEvents;
    std::size_t shard = 0;
    for (std::size_t i = 0; i < shards(); ++i) {
      const auto& crossings = slot.crossings[i];
      if (heads_[i] == crossings.size()) continue;
      const auto first = crossings[heads_[i]].event;
      if (HF_MUTANT("ST155", first >= next, next != kAllEvents)) continue;
      next = first;
      shard = i;
    }
    if (next == kAllEvents || next > last) return {};
    event = next;
    if (slot.batch.events[next].is_row)
      HF_RETURN_IF_ERROR(give_rows(slot.crossings[shard], next, heads_[shard]));
    else
      HF_RETURN_IF_ERROR(merge_watermark(slot, next));
  }
}

// What the shards say of a watermark: rows, then that it comes to an edge, and so on. All say the
// same of edges. So what waits behind an edge has the rows of all shards before the watermark.
Status ShardRounds::merge_watermark(const Slot& slot, std::size_t event) {
  for (;;) {
    const Crossed* watermark = nullptr;
    for (std::size_t i = 0; i < shards(); ++i) {
      const auto& crossings = slot.crossings[i];
      auto& at = heads_[i];
      HF_RETURN_IF_ERROR(give_rows(crossings, event, at));
      if (at == crossings.size() || crossings[at].event != event) continue;
      watermark = &crossings[at++];
    }
    if (watermark == nullptr) return {};
    HF_RETURN_IF_ERROR(give_(*watermark));
  }
}

Status ShardRounds::give_rows(const Crossings& crossings, std::size_t event, std::size_t& at) {
  for (; at < crossings.size() && crossings[at].event == event && crossings[at].is_row; ++at)
    HF_RETURN_IF_ERROR(give_(crossings[at]));
  return {};
}

// No worker is at work. What one worker would have shown before the failure is shown.
Status ShardRounds::end_round() {
  const Lock lock(mutex_);
  auto failure = std::move(now_.failure);
  if (!failure) return {};
  for (; !now_.merging && now_.merged <= failure->batch && now_.merged < now_.batches;
       ++now_.merged) {
    const bool last = now_.merged == failure->batch;
    std::size_t event = 0;
    const Status merged = merge(slot(now_.merged), last ? failure->event : kAllEvents, event);
    if (merged) continue;
    failure = Failure{now_.merged, event, merged.error()};
    break;
  }
  const auto& batch = slot(failure->batch).batch;
  if (failure->event == batch.events.size()) return failure->error;
  return reader_.at_place(failure->error, batch, failure->event);
}

}  // namespace holdfast::stream
