// query_subject.hpp: the query in SQL as a subject: the pipeline of `holdfast stream run` from a
// source in memory to a sink that checks.
#pragma once

#include <memory>
#include <string>

#include <holdfast/bench/stream/query_state.hpp>
#include <holdfast/bench/stream/window_loop.hpp>
#include <holdfast/stream/script.hpp>

namespace holdfast::bench::stream {

std::unique_ptr<Subject> query_subject(const WindowSum& query, const QuerySetting& setting);

}  // namespace holdfast::bench::stream
