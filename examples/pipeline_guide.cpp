// pipeline_guide.cpp: the latest readings of ten sensors, by a thread that does not wait for each
// operation. docs/guide_store.md.
#include <cstdio>
#include <string>

#include <holdfast/kv/pipeline.hpp>

using holdfast::Result;
using holdfast::Status;
using holdfast::kv::Pipeline;
using holdfast::kv::PutOutcome;
using holdfast::kv::Store;

Status run(const std::string& path) {
  holdfast::kv::StoreOptions options;
  options.initial_bytes = options.segment_bytes = 4 * holdfast::MiB;  // A small store.
  HF_ASSIGN_OR_RETURN(auto store, Store<>::open(path, options));
  HF_ASSIGN_OR_RETURN(auto pipeline, Pipeline<>::open(store, {.window = 32}));

  // Up to 32 of them are in flight, and share a fence. The call says when one is durable.
  int durable = 0;
  for (int reading = 0; reading < 1000; ++reading) {
    const std::string sensor = "sensor/" + std::to_string(reading % 10);
    pipeline.put(sensor, std::to_string(reading),
                 [&](Result<PutOutcome> put) { durable += put.has_value(); });
  }

  // What comes behind sees what was before, acknowledged or not. A ticket asks for one answer.
  std::string latest;
  const auto read = pipeline.get("sensor/7", latest);
  const auto retired = pipeline.erase("sensor/3");
  HF_RETURN_IF_ERROR(pipeline.wait(read));
  HF_ASSIGN_OR_RETURN(const bool was_there, pipeline.wait(retired));
  std::printf("sensor 7 read %s, sensor 3 was there: %s\n", latest.c_str(),
              was_there ? "yes" : "no");

  HF_RETURN_IF_ERROR(pipeline.flush());  // All is acknowledged, or this says what failed.
  std::printf("%d readings are durable\n", durable);
  return {};  // The pipeline was made behind the store, and ends before it.
}

int main(int count, char** arguments) {
  const auto status = run(count > 1 ? arguments[1] : "./pipeline.store");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}
