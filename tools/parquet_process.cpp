#include "parquet_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "olap_parquet.hpp"

namespace holdfast::tools {
namespace {

constexpr int kNoPyarrow = 3, kNobodyReads = 4;  // olap_parquet.py

}  // namespace

Result<ParquetProcess> ParquetProcess::reader(const std::string& python, const std::string& path) {
  return start(python, path, {"read", path}, true);
}

Result<ParquetProcess> ParquetProcess::writer(const std::string& python, const std::string& path,
                                              const std::vector<std::string>& names,
                                              const std::vector<std::string>& types) {
  std::string all;
  for (auto type : types) {
    std::erase(type, ' ');
    std::replace(type.begin(), type.end(), ',', ';');
    all += (all.empty() ? "" : ",") + type;
  }
  HF_ASSIGN_OR_RETURN(auto process, start(python, path, {"write", path, all}, false));
  const auto header =
      nlohmann::json(names).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  HF_RETURN_IF_ERROR(process.write(header + "\n"));
  return process;
}

Result<ParquetProcess> ParquetProcess::start(const std::string& python, const std::string& path,
                                             std::vector<std::string> words, bool reads) {
  words.insert(words.begin(), {python, "-c", std::string(kOlapParquet)});
  int data[2], errors[2];
  if (::pipe2(data, O_CLOEXEC) != 0) return Error{Errc::kIo, "pipe: no more files"};
  if (::pipe2(errors, O_CLOEXEC) != 0) {
    ::close(data[0]), ::close(data[1]);
    return Error{Errc::kIo, "pipe: no more files"};
  }
  const int theirs = reads ? data[1] : data[0], ours = reads ? data[0] : data[1];
  auto process = ChildProcess::start(
      std::move(words),
      {{theirs, reads ? STDOUT_FILENO : STDIN_FILENO}, {errors[1], STDERR_FILENO}}, false);
  ::close(theirs), ::close(errors[1]);
  if (!process) {
    ::close(ours), ::close(errors[0]);
    return Error{Errc::kNotFound,
                 fmt::format("{}: starting --python {}: {}", path, python, process.error().detail)};
  }
  return ParquetProcess(python, path, *std::move(process), ours, errors[0]);
}

ParquetProcess::ParquetProcess(ParquetProcess&& other) noexcept
    : python_(std::move(other.python_)),
      path_(std::move(other.path_)),
      process_(std::move(other.process_)),
      pipe_(std::exchange(other.pipe_, -1)),
      errors_(std::exchange(other.errors_, -1)) {}

ParquetProcess::~ParquetProcess() {
  close_pipe();
  if (errors_ >= 0) ::close(errors_);
}

void ParquetProcess::close_pipe() {
  if (pipe_ >= 0) ::close(std::exchange(pipe_, -1));
}

int ParquetProcess::take_output() { return std::exchange(pipe_, -1); }

Status ParquetProcess::write(std::string_view text) {
  while (!text.empty()) {
    const auto now = ::write(pipe_, text.data(), text.size());
    if (now < 0 && errno == EINTR) continue;
    // It has ended: it says why.
    if (now <= 0)
      return finish().and_then([&]() -> Status {
        return Error{Errc::kIo, path_ + ": the process that writes it has ended"};
      });
    text.remove_prefix(static_cast<std::size_t>(now));
  }
  return {};
}

Status ParquetProcess::finish() {
  close_pipe();
  std::string said;
  char bytes[4096];
  for (;;) {
    const auto got = ::read(errors_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    said.append(bytes, static_cast<std::size_t>(got));
  }
  const int status = process_.wait();
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNobodyReads))
    return {};
  said.erase(std::find(said.begin(), said.end(), '\n'), said.end());
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoPyarrow)
    return Error{
        Errc::kNotFound,
        fmt::format("{}: the Python {} has no package pyarrow ({}), which reads and writes "
                    "Parquet. Install it and name that Python: python3 -m venv peers && "
                    "peers/bin/pip install pyarrow, then --python peers/bin/python (or "
                    "HOLDFAST_PEER_PYTHON)",
                    path_, python_, said)};
  return Error{Errc::kIo, fmt::format("{}: {}", path_, said.empty() ? "its process ended" : said)};
}

}  // namespace holdfast::tools
