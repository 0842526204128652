#include "tour_workload.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "import/record_parser.hpp"
#include "text_encoding.hpp"

namespace holdfast::tools {
namespace {

class Collector final : public RecordSink {
 public:
  Collector(std::vector<TourRecord>& records, std::uint64_t limit)
      : records_(records), limit_(limit) {}
  bool record(std::string_view key, std::string_view value, std::uint64_t) override {
    const auto [found, fresh] = position_.try_emplace(std::string{key}, records_.size());
    if (!fresh) {
      records_[found->second].stanza = value;
      return true;
    }
    if (limit_ != 0 && records_.size() == limit_) return false;
    records_.push_back({std::string{key}, std::string{value}});
    return true;
  }
  bool skip(std::uint64_t, std::string_view) override { return true; }

 private:
  std::vector<TourRecord>& records_;
  std::uint64_t limit_;
  std::unordered_map<std::string, std::size_t> position_;
};

// How many of the operations below `operation` are on record `index` of `records`.
std::uint64_t operations_on(std::uint64_t index, std::uint64_t records, std::uint64_t operation) {
  return operation <= index ? 0 : (operation - index - 1) / records + 1;
}

}  // namespace

Result<Workload> Workload::from_text(std::string_view text, std::uint64_t limit) {
  Workload workload;
  Collector collector{workload.records_, limit};
  ParserOptions options;
  options.format = RecordFormat::kControl;
  options.key_fields = {"Package", "Version", "Architecture"};
  const auto parser = make_parser(options);
  if (parser->feed(text, collector)) (void)parser->finish(collector);
  for (const TourRecord& record : workload.records_)
    workload.bytes_ += record.key.size() + record.stanza.size();
  constexpr std::size_t kFewest = 100;
  if (workload.size() < kFewest) {
    return Error{
        Errc::kInvalidOption,
        fmt::format(
            "{} package stanzas with Package, Version and Architecture; a tour needs {} or more",
            workload.size(), kFewest)};
  }
  return workload;
}

Result<Workload> Workload::from_file(const std::string& path, std::uint64_t limit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "rbe"),
                                                             std::fclose};
  if (!file) return Error{Errc::kIo, fmt::format("opening '{}': {}", path, std::strerror(errno))};
  std::string text;
  std::vector<char> buffer(1 * MiB);
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    text.append(buffer.data(), got);
  if (std::ferror(file.get()) != 0)
    return Error{Errc::kIo, fmt::format("reading '{}': {}", path, std::strerror(errno))};
  auto workload = from_text(text, limit);
  if (!workload)
    return Error{workload.code(), fmt::format("'{}' holds {}", path, workload.error().detail)};
  return workload;
}

std::string Workload::text() const {
  std::string text;
  for (const TourRecord& record : records_)
    text.append(record.stanza).append("\n");
  return text;
}

void Workload::value_into(const TourRecord& record, std::uint64_t pass, std::string& value) {
  value = record.stanza;
  if (pass != 0) fmt::format_to(std::back_inserter(value), "X-Holdfast-Pass: {}\n", pass);
}

Result<Comparison> compare(const kv::Store<>& store, const Workload& workload, const Board& board) {
  Comparison result;
  const auto wrong = [&](const std::string& what) {
    ++result.wrong_total;
    if (result.wrong.size() < 10) result.wrong.push_back(what);
  };
  std::uint64_t found_records = 0;
  std::string found, expected;
  for (std::size_t writer = 0; writer < kWriters; ++writer) {
    const std::uint64_t acknowledged = board.writers[writer].acknowledged.load();
    const std::uint64_t started = board.writers[writer].started.load();
    result.acknowledged += acknowledged;
    result.in_flight += started - acknowledged;
    std::uint64_t there_below = started;  // In-flight operations must be there as a prefix.
    const std::size_t records = workload.records(writer);
    for (std::size_t index = 0; index < records; ++index) {
      const TourRecord& record = workload.record(writer, index);
      const std::uint64_t done = operations_on(index, records, acknowledged);
      const std::uint64_t handed_over = operations_on(index, records, started);
      const auto got = store.get(record.key, found);
      if (!got && got.code() != Errc::kNotFound) return got.error();
      found_records += got ? 1 : 0;
      result.records_compared += done != 0 ? 1 : 0;

      // It may hold the value of the last acknowledged pass, done - 1, or of one in flight after
      // it.
      std::uint64_t holds = 0;  // Operations on this record that took effect; 0: absent.
      for (std::uint64_t pass = handed_over;
           got && holds == 0 && pass-- > (done == 0 ? 0 : done - 1);) {
        Workload::value_into(record, pass, expected);
        if (found == expected) holds = pass + 1;
      }
      if (got && holds == 0) {
        wrong(fmt::format("record '{}' holds {} bytes that are not what was put",
                          visible(record.key), found.size()));
      } else if (holds < done) {
        wrong(fmt::format("record '{}' was acknowledged and is gone", visible(record.key)));
      }
      result.in_flight_there += holds > done ? holds - done : 0;
      if (std::max(holds, done) < handed_over) {
        there_below = std::min(there_below, std::max(holds, done) * records + index);
      }
    }
    // A later member of a group must not have overtaken an earlier one: nothing above the first
    // absent one.
    for (std::uint64_t operation = there_below + 1; operation < started; ++operation) {
      const TourRecord& record = workload.record(writer, operation);
      const auto got = store.get(record.key, found);
      Workload::value_into(record, workload.pass(writer, operation), expected);
      if (got && found == expected)
        wrong(fmt::format("record '{}' overtook one put before it", visible(record.key)));
    }
  }
  if (store.count() != found_records) {
    wrong(fmt::format("the store counts {} records, {} were put", store.count(), found_records));
  }
  return result;
}

}  // namespace holdfast::tools
