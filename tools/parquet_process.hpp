// parquet_process.hpp: Parquet files by pyarrow, in a Python process that turns them into CSV and
// back, through a pipe.
//
// Errors  kNotFound: no such Python, or it has no pyarrow: says how to install it. kIo: what the
//         process said.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/child_process.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::tools {

class ParquetProcess {
 public:
  static Result<ParquetProcess> reader(const std::string& python, const std::string& path);
  // Of these columns, with types as SQL names them.
  static Result<ParquetProcess> writer(const std::string& python, const std::string& path,
                                       const std::vector<std::string>& names,
                                       const std::vector<std::string>& types);
  ParquetProcess(ParquetProcess&& other) noexcept;
  ParquetProcess& operator=(ParquetProcess&&) = delete;
  ~ParquetProcess();

  // Of a reader: where the CSV comes from. The caller closes it.
  int take_output();
  // Of a writer: rows as CSV.
  Status write(std::string_view text);
  // Waits for the end; of a reader, whose output somebody closes before it ends or after. Errors: of
  // the process; that nobody read all of its output is none.
  Status finish();

 private:
  ParquetProcess(std::string python, std::string path, ChildProcess process, int pipe, int errors)
      : python_(std::move(python)),
        path_(std::move(path)),
        process_(std::move(process)),
        pipe_(pipe),
        errors_(errors) {}
  static Result<ParquetProcess> start(const std::string& python, const std::string& path,
                                      std::vector<std::string> words, bool reads);
  void close_pipe();

  std::string python_, path_;
  ChildProcess process_;
  int pipe_, errors_;
};

}  // namespace holdfast::tools
