// log_guide.cpp: a queue that survives. Appends jobs, works through them, and goes on where it was
// when it is started again. docs/guide_log.md.
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/blocks/log/log.hpp>
#include <holdfast/memory/region.hpp>

using holdfast::Errc;
using holdfast::Region;
using holdfast::RegionOptions;
using holdfast::Status;
using holdfast::blocks::Log;
using holdfast::blocks::LogOptions;
using holdfast::blocks::Lsn;
using holdfast::blocks::whole;

Status run(const std::string& spec) {
  RegionOptions size;  // Of a new region. An existing one keeps its own.
  size.size_bytes = size.unit_bytes = 1 * holdfast::MiB;
  HF_ASSIGN_OR_RETURN(auto region, Region::open(spec, size));

  // A region of zeros holds no log yet.
  LogOptions options;
  options.segment_bytes = 64 * holdfast::KiB;
  auto log = Log::open(region, whole(region));
  if (log.code() == Errc::kNotHoldfast) log = Log::create(region, whole(region), options);
  if (!log) return log.error();

  // The producer. Each append is durable when it returns; those of a group share one fence.
  const std::string_view jobs[] = {"weigh", "pack", "ship"};
  std::span<const std::byte> records[3];
  for (int i = 0; i < 3; ++i)
    records[i] = std::as_bytes(std::span(jobs[i]));
  HF_RETURN_IF_ERROR(log->append(std::as_bytes(std::span(std::string_view("order")))));
  HF_RETURN_IF_ERROR(log->append_many(records));

  // The consumer. A reader begins at the head and ends at the newest record.
  Lsn last;
  {
    auto reader = log->read();
    for (;;) {
      HF_ASSIGN_OR_RETURN(const bool more, reader.next());
      if (!more) break;
      const auto record = reader.record();
      std::printf("%.*s\n", int(record.size()), reinterpret_cast<const char*>(record.data()));
      last = reader.lsn();
    }
  }
  // Done with these. A crash before this line shows them again: work must bear being repeated.
  HF_RETURN_IF_ERROR(log->truncate(Lsn{last.value + 1}));
  return log->sync();  // On a plain file, where an append alone survives the process only.
}

int main(int count, char** arguments) {
  const auto status = run(count > 1 ? arguments[1] : "./guide.log");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}
