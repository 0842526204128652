// files.hpp: the rows of a file of Avro or Parquet, by a process of Python.
#pragma once

#include <memory>
#include <string>

#include <holdfast/stream/file_rows.hpp>
#include <holdfast/stream/foreign/batch.hpp>
#include <holdfast/stream/foreign/host.hpp>

namespace holdfast::stream::foreign {

// One process for the files of a table, one after the other.
class SharedHost {
 public:
  Result<char> ask(char kind, std::string_view request, std::string& answer) {
    if (host_ == nullptr || (host_->is_lost() && kind == 'O')) {
      HF_ASSIGN_OR_RETURN(host_, Host::start());
    }
    return host_->ask(kind, request, answer);
  }

 private:
  std::unique_ptr<Host> host_;
};

// Its position is a block, as the script names it (the byte of Avro's, the number of a row group),
// and how many of its rows were given. What is damaged counts as a row.
class ForeignRows final : public FileRows {
 public:
  ForeignRows(std::shared_ptr<SharedHost> host, std::string format, std::string path,
              const sql::Table& table, std::vector<std::size_t> columns);
  Status open(Position position);

  Result<bool> next(sql::Row& row, Misread& misread) override;
  Position position() const override { return {block_, given_}; }
  Status seek(Position position) override { return open(position); }
  std::string where() const override;
  std::string place() const override { return where(); }

 private:
  Error about(const Error& error) const { return Error{error.code, path_ + ": " + error.detail}; }
  Status next_batch();

  std::shared_ptr<SharedHost> host_;
  std::string format_, path_;
  const sql::Table& table_;
  std::vector<std::size_t> columns_;
  Batch batch_;
  std::uint64_t at_ = 0;     // Rows of the batch that were given.
  std::uint64_t block_ = 0;  // Of the batch.
  std::uint64_t given_ = 0;  // Rows of the block.
  std::uint64_t skip_ = 0;   // Rows of the block to leave out.
  bool ended_ = false;
  bool made_ = false;  // The last one was a row.
};

}  // namespace holdfast::stream::foreign
