// messages.hpp: messages of Avro, each a record without its schema, by a process of Python.
//
// Cost  A message that is read alone is a request and its answer (about 60 us); of those that
//       expect() was told of, several hundred share one.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <holdfast/stream/foreign/batch.hpp>
#include <holdfast/stream/foreign/host.hpp>
#include <holdfast/stream/format.hpp>

namespace holdfast::stream::foreign {

class MessageReader final : public RowReader {
 public:
  MessageReader(std::string format, const sql::Table& table, std::vector<std::size_t> columns);
  // Errors: those of the process, which begins here.
  Status start();

  bool read(std::string_view record, sql::Row& row, std::string& wrong) override;
  std::size_t at_once() const override { return 256; }
  std::size_t expect(std::span<const std::string_view> records) override;
  Status status() const override { return status_; }

 private:
  // Messages that were read, and of these those that read() was not asked for yet.
  struct Ahead {
    Ahead(const sql::Table& table, const std::vector<std::size_t>& columns)
        : batch(table, columns) {}
    std::string request;
    std::vector<std::string_view> records;  // In the request.
    Batch batch;
    std::size_t next = 0;
  };

  bool take(Ahead& ahead, std::span<const std::string_view> records);
  std::size_t bytes_ahead() const;
  // Once more, by another process, where one has ended.
  Status ask(const std::string& request, std::string& answer);
  // The one with this record, its `next`; null: none.
  std::list<Ahead>::iterator find(std::string_view record);

  std::string format_;
  const sql::Table& table_;
  std::vector<std::size_t> columns_;
  std::unique_ptr<Host> host_;
  std::list<Ahead> ahead_;  // That of the last read() first.
  Status status_;
};

}  // namespace holdfast::stream::foreign
