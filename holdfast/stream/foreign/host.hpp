// host.hpp: a process of Python beside this one, in which fastavro and pyarrow read and write Avro
// and Parquet.
//
// It is asked and answers, one after the other (serve.py says what). What a damaged file does to
// them it does to that process alone. When this process ends it ends too, at the latest when it has
// its answer.
//
// Which Python  HOLDFAST_PEER_PYTHON names it; else python3.
// Limits        HOLDFAST_PEER_GIB (4) of memory; HOLDFAST_PEER_SECONDS (60) of processors for an
//               answer, and ten times as many by the clock.
// Threads       One at a time.
// Errors        kNotFound: no such Python, or a package is missing: says what to install.
//               kInvalidOption: the file does not fit the table. kIo: another reason, or the
//               process has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/child_process.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/memory/system.hpp>
#include <holdfast/sql/catalog.hpp>

namespace holdfast::stream::foreign {

class Host {
 public:
  static Result<std::unique_ptr<Host>> start();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Its answer is in `answer`, and of this kind.
  Result<char> ask(char kind, std::string_view request, std::string& answer);
  // It has ended: another one is to be started.
  bool is_lost() const { return lost_; }

 private:
  Host(std::string python, std::chrono::seconds seconds, ChildProcess process,
       memory_detail::FileDescriptor link, memory_detail::FileDescriptor output)
      : python_(std::move(python)),
        seconds_(seconds),
        process_(std::move(process)),
        link_(std::move(link)),
        output_(std::move(output)) {}
  bool send(char kind, std::string_view request);
  bool receive(std::size_t size, std::string& bytes);
  bool wait_for(short event);
  Error end(std::string wrong = {});
  Error error_of(std::string_view answer) const;

  std::string python_;
  std::chrono::seconds seconds_;
  std::chrono::steady_clock::time_point until_;  // There is to be an answer.
  ChildProcess process_;
  memory_detail::FileDescriptor link_;    // A socket.
  memory_detail::FileDescriptor output_;  // What it prints.
  bool lost_ = false;
};

// The columns' names and types, as the script wants them: a text of JSON.
std::string columns_text(const std::vector<sql::Column>& columns,
                         const std::vector<std::size_t>& chosen);

}  // namespace holdfast::stream::foreign
