// nexmark_subject.hpp: subjects of NEXMark's queries. A phase runs a query over all events, from
// the beginning to the end, and again until its time is up; with its state in a region it runs
// once, since what that holds is of one run. Each run's answer is compared with the one that the
// interpreter gave before.
#pragma once

#include <memory>

#include <holdfast/bench/runner.hpp>
#include <holdfast/bench/stream/nexmark_events.hpp>
#include <holdfast/bench/stream/nexmark_floor.hpp>
#include <holdfast/bench/stream/query_subject.hpp>

namespace holdfast::bench::stream {

// One query with its events and its answer.
class NexmarkQuery {
 public:
  // `events` outlives it. Runs the query once, interpreted.
  static Result<std::unique_ptr<NexmarkQuery>> make(unsigned number, const NexmarkEvents& events,
                                                    std::uint64_t count, std::uint64_t seed);

  unsigned number() const { return number_; }
  const sql::Plan& plan() const { return script_.plans().front(); }
  const NexmarkEvents& events() const { return events_; }
  const Answer& answer() const { return answer_; }
  // No two runs of q12 have the same windows of processing time: what all agree on is the sum of
  // its counts.
  bool agrees(const Answer& other) const;
  // Of the tables that the query reads.
  std::uint64_t rows() const { return rows_; }

 private:
  NexmarkQuery(unsigned number, const NexmarkEvents& events, holdfast::stream::Script script);

  const unsigned number_;
  const NexmarkEvents& events_;
  holdfast::stream::Script script_;
  Answer answer_;
  std::uint64_t rows_ = 0;
};

std::unique_ptr<Subject> nexmark_subject(const NexmarkQuery& query, const QuerySetting& setting);
std::unique_ptr<Subject> nexmark_floor(const NexmarkQuery& query, NexmarkLoop& loop);

}  // namespace holdfast::bench::stream
