// query_subject.hpp: the query in SQL as a subject: the pipeline of `holdfast stream run` from a
// source in memory to a sink that checks.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <holdfast/bench/stream/window_loop.hpp>
#include <holdfast/stream/script.hpp>

namespace holdfast::bench::stream {

struct QuerySetting {
  const holdfast::stream::Script* script = nullptr;  // With the one query.
  bool in_kv = false;
  bool interpreted = false;
  std::string region;
  double checkpoint_seconds = 1;

  std::chrono::milliseconds interval() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(checkpoint_seconds * 1'000));
  }
};

std::unique_ptr<Subject> query_subject(const WindowSum& query, const QuerySetting& setting);

}  // namespace holdfast::bench::stream
