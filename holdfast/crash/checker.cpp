#include <holdfast/crash/checker.hpp>

#include <ostream>
#include <utility>

#include <holdfast/crash/engine.hpp>

namespace holdfast::crash {

Status Options::validate() const {
  const auto bad = [](const std::string& field, std::uint64_t value, const char* rule) {
    return Error{Errc::kInvalidOption,
                 "crash::Options: " + field + "=" + std::to_string(value) + "; " + rule};
  };
  if (model.granularity == Granularity::kNone) {
    return bad("model.granularity", 0, "must be page, line or byte: nothing survives on none");
  }
  if (unit_bytes == 0 || unit_bytes % kPageBytes != 0) {
    return bad("unit_bytes", unit_bytes, "must be a multiple of 4096");
  }
  if (size_bytes == 0 || size_bytes % unit_bytes != 0) {
    return bad("size_bytes", size_bytes, "must be a multiple of unit_bytes");
  }
  if (max_size_bytes < size_bytes || max_size_bytes % kPageBytes != 0) {
    return bad("max_size_bytes", max_size_bytes, "must be a multiple of 4096, at least size_bytes");
  }
  if (states_per_point < 16 || nested_states_per_point < 8) {
    return bad("states_per_point", states_per_point, "must be at least 16, nested 8");
  }
  if (images_per_run == 0) return bad("images_per_run", images_per_run, "must be at least 1");
  if (depth < 1 || depth > 8) return bad("depth", depth, "must be from 1 to 8");
  return ok_status();
}

std::uint64_t Report::images_in_all() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : images) {
    sum += count;
  }
  return sum;
}

const StepCounts& Report::operation(std::uint64_t id) const {
  const auto found = operations.find(id);
  HF_CHECK(found != operations.end());
  return found->second;
}

std::string Report::text() const {
  std::string text = "crash checker: " + std::to_string(points) + " crash points (" +
                     std::to_string(sampled_points) + " sampled), ";
  for (std::size_t i = 0; i < images.size(); ++i) {
    text += "depth " + std::to_string(i + 1) + ": " + std::to_string(states[i]) + " states, " +
            std::to_string(images[i]) + " images, " + std::to_string(violations[i]) +
            " violations; ";
  }
  if (kills > 0) text += std::to_string(kills) + " kills; ";
  text += std::to_string(schedules) + " schedules, seed " + std::to_string(seed) + "\n";
  for (const std::string& failure : failures) {
    text += failure;
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Report& report) { return out << report.text(); }

// ---- Workload ----

namespace {
std::uint64_t extend(std::uint64_t hash, std::uint64_t event, std::uint64_t id,
                     std::uint64_t more) {
  for (const std::uint64_t part : {event, id, more}) {
    hash = (hash ^ part) * 0xd6e8feb86659fd93ULL;
    hash ^= hash >> 29;
  }
  return hash;
}
}  // namespace

Operation& Workload::find(std::uint64_t id) {
  for (std::size_t i = operations_.size(); i > 0; --i) {
    if (operations_[i - 1].id == id) return operations_[i - 1];
  }
  check_failed("crash::Workload: an operation with this id was begun", __FILE__, __LINE__);
}

void Workload::begin(std::uint64_t id, std::uint32_t session) {
  const auto guard = medium_->lock();
  Operation operation;
  operation.id = id;
  operation.session = session;
  operation.begun_at = ++clock_;
  operation.thread = medium_->thread_slot();
  operation.sequence_at_begin = medium_->sequence();
  operation.counts = medium_->counts(operation.thread);
  operations_.push_back(operation);
  history_hash_ = extend(history_hash_, 1, id, session);
}

void Workload::acknowledge(std::uint64_t id) {
  {
    const auto guard = medium_->lock();
    Operation& operation = find(id);
    HF_CHECK(!operation.acknowledged());
    operation.acknowledged_at = ++clock_;
    operation.counts = medium_->counts(operation.thread) - operation.counts;
    history_hash_ = extend(history_hash_, 2, id, 0);
    if (engine_->options().durable_at_acknowledge) {
      const auto pending = medium_->first_pending(operation.thread, operation.sequence_at_begin);
      if (pending) {
        engine_->mistake(depth_, engine_->describe(id) +
                                     " is acknowledged while the byte at offset " +
                                     std::to_string(pending->offset) + ", stored at " +
                                     to_string(pending->site) + ", is not durable");
      }
    }
    engine_->at_point(depth_, PointKind::kAcknowledge, std::source_location::current());
  }
  scheduler_step();
}

void Workload::withdraw(std::uint64_t id) {
  const auto guard = medium_->lock();
  const Operation& operation = find(id);
  HF_CHECK(!operation.acknowledged());
  operations_.erase(operations_.begin() + (&operation - operations_.data()));
  history_hash_ = extend(history_hash_, 3, id, 0);
}

void Workload::hint(std::uint64_t offset, std::uint64_t bytes) {
  const auto guard = medium_->lock();
  medium_->declare_hint(offset, bytes);
}

Region Workload::open_again() { return medium_->open(); }

void Workload::threads(std::vector<std::function<void()>> bodies) {
  HF_CHECK(depth_ ==
           0);  // Schedules belong to workloads; an operation after a recovery has one thread.
  engine_->scheduler().run(std::move(bodies));
}

const StepCounts& Workload::counts(std::uint64_t id) const {
  const Operation& operation = const_cast<Workload*>(this)->find(id);
  HF_CHECK(operation.acknowledged());
  return operation.counts;
}

}  // namespace holdfast::crash
