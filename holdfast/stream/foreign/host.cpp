#include "host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/json_tree.hpp>
#include <holdfast/stream/foreign/script.hpp>

namespace holdfast::stream::foreign {
namespace {

using memory_detail::FileDescriptor;
using Clock = std::chrono::steady_clock;

constexpr int kTheirLink = 3;  // serve.py
constexpr std::size_t kHeadBytes = 9;
// An answer may take so many times its limit of processors by the clock.
constexpr int kPatience = 10;
constexpr std::uint64_t kMaxAnswerBytes = std::uint64_t{4} << 30;

// The last one is run, and imports the others.
constexpr std::pair<const char*, const std::string_view*> kModules[] = {{"wire", &kWire},
                                                                        {"values", &kValues},
                                                                        {"avro", &kAvro},
                                                                        {"parquet", &kParquet},
                                                                        {"serve", &kServe}};

std::string python_of_user() {
  const char* const named = std::getenv("HOLDFAST_PEER_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

std::string to_install(const std::string& python, std::string_view why) {
  return "Avro and Parquet are read and written by packages of Python, which " + python +
         " lacks (" + std::string(why) +
         "): python3 -m venv peers && peers/bin/pip install pyarrow fastavro cramjam, then name "
         "that Python: HOLDFAST_PEER_PYTHON=peers/bin/python";
}

// Of the environment, which the script reads, too.
Result<std::uint64_t> limit_of(const char* name, std::uint64_t otherwise, std::uint64_t most) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  const std::string_view given(text);
  std::uint64_t value = 0;
  const auto read = std::from_chars(given.data(), given.data() + given.size(), value);
  if (read.ec == std::errc() && read.ptr == given.data() + given.size() && value >= 1 &&
      value <= most)
    return value;
  return Error{Errc::kInvalidOption, std::string(name) + " is '" + escape(given, 40) +
                                         "', a whole number from 1 to " + std::to_string(most) +
                                         " is wanted"};
}

// What it printed last.
std::string last_line(const FileDescriptor& output) {
  constexpr off_t kMost = 4096;
  const auto end = ::lseek(output.get(), 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(end, 0, kMost)), '\0');
  const auto got =
      ::pread(output.get(), text.data(), text.size(), end - static_cast<off_t>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Result<std::unique_ptr<Host>> Host::start() {
  const auto python = python_of_user();
  HF_RETURN_IF_ERROR(limit_of("HOLDFAST_PEER_GIB", 4, 1024));
  HF_ASSIGN_OR_RETURN(const auto seconds, limit_of("HOLDFAST_PEER_SECONDS", 60, 86'400));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return memory_detail::system_error("socketpair", python, errno);
  const FileDescriptor theirs(ends[1]), nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  FileDescriptor ours(ends[0]), output(::memfd_create("holdfast-python", MFD_CLOEXEC));
  if (!output || !nothing) return memory_detail::system_error("memfd_create", python, errno);
  std::vector<std::string> words{python, "-c", std::string(kBoot)};
  for (const auto& [name, text] : kModules)
    words.insert(words.end(), {name, std::string(*text)});
  // What a terminal sends is for this process, which ends the other one.
  auto process = ChildProcess::start(std::move(words),
                                     {{theirs.get(), kTheirLink},
                                      {nothing.get(), STDIN_FILENO},
                                      {output.get(), STDOUT_FILENO},
                                      {output.get(), STDERR_FILENO}},
                                     true);
  if (!process) return Error{Errc::kNotFound, to_install(python, process.error().detail)};
  return std::unique_ptr<Host>(new Host(python, std::chrono::seconds(seconds), *std::move(process),
                                        std::move(ours), std::move(output)));
}

// In one piece, so that the other process wakes once.
bool Host::send(char kind, std::string_view request) {
  char head[kHeadBytes] = {kind};
  const std::uint64_t size = request.size();
  std::memcpy(head + 1, &size, sizeof size);
  iovec pieces[] = {{head, sizeof head}, {const_cast<char*>(request.data()), request.size()}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  while (pieces[0].iov_len + pieces[1].iov_len > 0) {
    if (!wait_for(POLLOUT)) return false;
    const auto put = ::sendmsg(link_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (put <= 0) return false;
    auto sent = static_cast<std::size_t>(put);
    for (auto& piece : pieces) {
      const auto of_piece = std::min(sent, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + of_piece;
      piece.iov_len -= of_piece;
      sent -= of_piece;
    }
  }
  return true;
}

// Takes memory as bytes come, not as many as were announced.
bool Host::receive(std::size_t size, std::string& bytes) {
  constexpr std::size_t kStep = 1 << 20;
  bytes.clear();
  for (std::size_t at = 0; at < size;) {
    if (at == bytes.size()) bytes.resize(std::min(size, at + std::max(at, kStep)));
    if (!wait_for(POLLIN)) return false;
    const auto got = ::recv(link_.get(), bytes.data() + at, bytes.size() - at, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

bool Host::wait_for(short event) {
  pollfd link{link_.get(), event, 0};
  for (;;) {
    // Rounded up: given up a moment before `until_`, end() would wait for the process, not end it.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()).count();
    if (left <= 0) return false;
    const int any = ::poll(&link, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (any > 0) return true;
    if (any < 0 && errno != EINTR) return false;
  }
}

Result<char> Host::ask(char kind, std::string_view request, std::string& answer) {
  if (lost_) return Error{Errc::kIo, "the process of Python has ended"};
  until_ = Clock::now() + kPatience * seconds_;
  std::string head;
  if (!send(kind, request) || !receive(kHeadBytes, head)) return end();
  std::uint64_t size = 0;
  std::memcpy(&size, head.data() + 1, sizeof size);
  if (size > kMaxAnswerBytes) return end("its answer is none");
  if (!receive(size, answer)) return end();
  if (head[0] == 'E') return error_of(answer);
  return head[0];
}

// It has gone without a word: a package, its limits, or someone has ended it. Or it is ended here,
// since it was `wrong`.
Error Host::end(std::string wrong) {
  lost_ = true;
  link_ = FileDescriptor();
  if (Clock::now() >= until_)
    wrong = "it gave no answer within " + std::to_string((kPatience * seconds_).count()) +
            " seconds (ten times HOLDFAST_PEER_SECONDS)";
  if (!wrong.empty()) process_.kill();
  const int status = process_.wait();
  std::string how = "ended with " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) how = "was ended by signal " + std::to_string(WTERMSIG(status));
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    how = "was ended: it had no answer within HOLDFAST_PEER_SECONDS (" +
          std::to_string(seconds_.count()) + ") of processors";
  if (!wrong.empty()) how = "was ended: " + wrong;
  if (const auto said = last_line(output_); !said.empty()) how += ": " + escape(said, 200);
  return Error{Errc::kIo, "the process of Python (" + python_ + ") " + how};
}

Error Host::error_of(std::string_view answer) const {
  const auto json = sql::parse_json(answer);
  const auto* const kind = json ? json->member("kind") : nullptr;
  const auto* const text = json ? json->member("text") : nullptr;
  if (kind == nullptr || text == nullptr)
    return Error{Errc::kIo, "the process of Python gave no answer"};
  const auto said = escape(text->text, 400);  // Names and reasons of a file.
  if (kind->text == "missing") return Error{Errc::kNotFound, to_install(python_, said)};
  return Error{kind->text == "fit" ? Errc::kInvalidOption : Errc::kIo, said};
}

namespace {

void append_type(const sql::Type& type, std::string& text) {
  text += '[';
  // An instant is milliseconds in UTC, whatever zone shows it.
  const auto full = sql::name_of(type.zone == nullptr ? type : sql::kTimestampType);
  // Of texts the length is no matter of the file.
  sql::append_json_text(
      type.kind == sql::Kind::kString ? "STRING" : full.substr(0, full.find_first_of("(<")), text);
  if (type.kind == sql::Kind::kDecimal)
    text += "," + std::to_string(type.precision) + "," + std::to_string(type.scale);
  if (type.kind == sql::Kind::kArray || type.kind == sql::Kind::kMap) {
    for (const auto& field : type.nested->fields)
      text += ',', append_type(field.type, text);
  }
  if (type.kind == sql::Kind::kRow) {
    text += ",[";
    for (const auto& field : type.nested->fields) {
      text += text.ends_with('[') ? "[" : ",[";
      sql::append_json_text(field.name, text);
      text += ',';
      append_type(field.type, text);
      text += ']';
    }
    text += ']';
  }
  text += ']';
}

}  // namespace

std::string columns_text(const std::vector<sql::Column>& columns,
                         const std::vector<std::size_t>& chosen) {
  std::string text = "[";
  for (const auto i : chosen) {
    text += text.size() == 1 ? "[" : ",[";
    sql::append_json_text(columns[i].name, text);
    text += ',';
    append_type(columns[i].type, text);
    text += ']';
  }
  return text + "]";
}

}  // namespace holdfast::stream::foreign
