// nexmark_events.hpp: the events of NEXMark's queries in memory, as records, and what a query
// answers.
//
// The events are those of the connector `nexmark` (stream/nexmark_source.cpp), ten a millisecond of
// their time, made beforehand. All subjects read the same bytes: texts are in one place, records
// point to them.
//
// Threads  Events are read by any number of threads; sources and answers one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/record.hpp>
#include <holdfast/stream/script.hpp>
#include <holdfast/stream/sink.hpp>

namespace holdfast::bench::stream {

inline constexpr unsigned kNexmarkQueries = 23;  // q0 to q22.

// In the layout of the tables (holdfast/stream/record.hpp).
using RecordText = holdfast::stream::RecordText;
struct Person {
  std::uint64_t nulls;
  std::int64_t id;
  RecordText name, email, card, city, state;
  std::int64_t time;
  alignas(16) RecordText extra;
};
struct Auction {
  std::uint64_t nulls;
  std::int64_t id;
  RecordText item, description;
  std::int64_t initial_bid, reserve, time, expires, seller, category;
  RecordText extra;
};
struct Bid {
  std::uint64_t nulls;
  std::int64_t auction, bidder, price;
  RecordText channel, url;
  std::int64_t time;
  alignas(16) RecordText extra;
};

// What is left of the rows that came and went, in any order: how many, and the sum of each column;
// of a text its bytes are counted, NULL is 0.
struct Answer {
  std::int64_t rows = 0;
  std::vector<std::uint64_t> sums;

  template <class... Values>
  void add(const Values&... values) {
    change(1, values...);
  }
  // `sign`: 1, or -1 for a row that is taken back.
  template <class... Values>
  void change(std::int64_t sign, const Values&... values) {
    rows += sign;
    if (sums.empty()) sums.resize(sizeof...(values));
    std::size_t column = 0;
    ((sums[column++] += static_cast<std::uint64_t>(sign) * number_of(values)), ...);
  }
  bool operator==(const Answer&) const = default;
  std::string text() const;

  static std::uint64_t number_of(const RecordText& text) { return text.bytes; }
  template <class T>
  static std::uint64_t number_of(const T& value) {
    return static_cast<std::uint64_t>(value);
  }
};

// One of the tables, with the records of it.
struct EventTable {
  std::string name;
  holdfast::stream::RecordLayout layout;
  std::vector<std::byte> records;

  std::size_t rows() const { return records.size() / layout.bytes; }
  template <class Event>
  std::span<const Event> as() const {
    return {reinterpret_cast<const Event*>(records.data()), rows()};
  }
};

class NexmarkEvents {
 public:
  // `events` of all three tables together. Errors: kInvalidOption, kUnsupported.
  static Result<std::unique_ptr<NexmarkEvents>> make(std::uint64_t events, std::uint64_t seed);

  const EventTable& persons() const { return tables_[0]; }
  const EventTable& auctions() const { return tables_[1]; }
  const EventTable& bids() const { return tables_[2]; }
  // By the table's name.
  const EventTable& table(const std::string& name) const;

 private:
  Status fill(EventTable& table, const holdfast::sql::Plan& plan);
  std::string_view keep(std::string_view text);

  std::vector<EventTable> tables_;
  std::deque<std::vector<char>> texts_;
};

// "nexmark-q5": 5; none: it is no such name.
std::optional<unsigned> nexmark_number(std::string_view query);
// The tables and the query, as in workloads/stream/nexmark.
std::string nexmark_sql(unsigned number, std::uint64_t events, std::uint64_t seed);

// The rows of one table, without a copy.
class MemorySource final : public holdfast::stream::RecordSource {
 public:
  static constexpr std::size_t kBlock = 1024;  // Records.

  // Both outlive it.
  MemorySource(const EventTable& events, const sql::Table& table)
      : events_(events), table_(table) {}

  Result<std::span<const std::byte>> next_records() override;
  void give_back(std::size_t records) override { at_ -= records; }
  Result<bool> next(sql::Row& row) override;
  std::string position() const override;
  Status seek(std::string_view position) override;
  std::string place() const override { return "event " + std::to_string(at_); }

 private:
  const EventTable& events_;
  const sql::Table& table_;
  std::size_t at_ = 0;
};

// Adds rows up.
class SummingSink final : public holdfast::stream::RecordSink {
 public:
  SummingSink(const std::vector<sql::Column>& columns, Answer& answer)
      : columns_(columns),
        layout_(holdfast::stream::RecordLayout::of(columns).value()),
        answer_(answer) {
    answer_.sums.resize(columns.size());
  }
  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row& row) override {
    return write_change(holdfast::stream::RowKind::kInsert, row);
  }
  bool takes_changes() const override { return true; }
  Status write_change(holdfast::stream::RowKind kind, const sql::Row& row) override;
  Status write_records(std::span<const holdfast::stream::RowKind> kinds,
                       std::span<const std::byte> records) override;
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }

 private:
  const std::vector<sql::Column>& columns_;
  const holdfast::stream::RecordLayout layout_;
  Answer& answer_;
};

}  // namespace holdfast::bench::stream
