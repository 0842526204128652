#include "monitor.hpp"

#include <chrono>
#include <utility>

#include <holdfast/stream/format.hpp>

namespace holdfast::stream {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t now_ms() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

QueryMonitor::QueryMonitor(std::size_t number, std::string split, std::string plan) {
  view_.number = number;
  view_.split = std::move(split);
  view_.plan = std::move(plan);
  view_.begun_ms = now_ms();
}

void QueryMonitor::publish(QueryProgress progress) {
  const Lock lock(mutex_);
  view_.progress = std::move(progress);
}

void QueryMonitor::add_to_sample(std::string row) {
  const Lock lock(mutex_);
  sample_.push_back(std::move(row));
  if (sample_.size() > kSample) sample_.pop_front();
}

QueryView QueryMonitor::view() const {
  const Lock lock(mutex_);
  auto view = view_;
  view.sample.assign(sample_.begin(), sample_.end());
  return view;
}

std::shared_ptr<QueryMonitor> Monitor::add(std::size_t number, const std::string& split,
                                           std::string plan) {
  auto monitor = std::make_shared<QueryMonitor>(number, split, std::move(plan));
  const Lock lock(mutex_);
  for (auto& entry : entries_) {
    if (entry.number == number && entry.split == split) return entry.monitor = monitor;
  }
  entries_.push_back({number, split, monitor});
  return monitor;
}

std::vector<QueryView> Monitor::views() const {
  std::vector<Entry> entries;
  {
    const Lock lock(mutex_);
    entries = entries_;
  }
  std::vector<QueryView> views;
  for (const auto& entry : entries)
    views.push_back(entry.monitor->view());
  return views;
}

WatchedSink::WatchedSink(std::unique_ptr<Sink> sink, const std::vector<sql::Column>& columns,
                         QueryMonitor& monitor)
    : sink_(std::move(sink)), monitor_(monitor), writer_(plain_writer(false, columns)) {}

WatchedSink::~WatchedSink() = default;

// All rows of a slow query, some of a fast one.
void WatchedSink::note(std::string_view kind, const sql::Row& row) {
  if (++rows_ > QueryMonitor::kSample && rows_ % 64 != 0 && seconds_ > 0.05) return;
  std::string text(kind);
  if (writer_->append(row, text)) monitor_.add_to_sample(std::move(text));
}

Status WatchedSink::write(const sql::Row& row) {
  const auto begun = Clock::now();
  Status status = sink_->write(row);
  seconds_ += std::chrono::duration<double>(Clock::now() - begun).count();
  note("", row);
  return status;
}

Status WatchedSink::write_change(RowKind kind, const sql::Row& row) {
  const auto begun = Clock::now();
  Status status = sink_->write_change(kind, row);
  seconds_ += std::chrono::duration<double>(Clock::now() - begun).count();
  note(text_of(kind), row);
  return status;
}

}  // namespace holdfast::stream
