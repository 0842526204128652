#include "host.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <holdfast/sql/json_tree.hpp>
#include <holdfast/stream/foreign/script.hpp>

extern char** environ;

namespace holdfast::stream::foreign {
namespace {

using memory_detail::FileDescriptor;

constexpr std::size_t kHeadBytes = 9;
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

}  // namespace

Result<std::unique_ptr<Host>> Host::start() {
  const auto python = python_of_user();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return memory_detail::system_error("socketpair", python, errno);
  FileDescriptor ours(ends[0]), theirs(ends[1]);
  std::vector<std::string> words{python, "-c", std::string(kBoot)};
  for (const auto& [name, text] : kModules)
    words.insert(words.end(), {name, std::string(*text)});
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, theirs.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // Its own group: what a terminal sends is for this process, which ends the other one.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t defaults, none;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGPROF})
    sigaddset(&defaults, number);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t id = -1;
  const int code =
      ::posix_spawnp(&id, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (code != 0) return Error{Errc::kNotFound, to_install(python, std::strerror(code))};
  return std::unique_ptr<Host>(new Host(python, id, std::move(ours)));
}

Host::~Host() {
  link_ = FileDescriptor();
  if (id_ < 0) return;
  ::kill(id_, SIGKILL);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
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
    const auto put = ::sendmsg(link_.get(), &message, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
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
    const auto got = ::recv(link_.get(), bytes.data() + at, bytes.size() - at, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

Result<char> Host::ask(char kind, std::string_view request, std::string& answer) {
  if (lost_) return Error{Errc::kIo, "the process of Python has ended"};
  std::string head;
  if (!send(kind, request) || !receive(kHeadBytes, head)) return end();
  std::uint64_t size = 0;
  std::memcpy(&size, head.data() + 1, sizeof size);
  if (size > kMaxAnswerBytes || !receive(size, answer)) return end();
  if (head[0] == 'E') return error_of(answer);
  return head[0];
}

// It has gone without a word: a package, its limits, or someone has ended it.
Error Host::end() {
  lost_ = true;
  link_ = FileDescriptor();
  ::kill(id_, SIGKILL);
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  std::string how = "ended with " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) how = "was ended by signal " + std::to_string(WTERMSIG(status));
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    how = "was ended: it had no answer within HOLDFAST_PEER_SECONDS (60) of processors";
  return Error{Errc::kIo, "the process of Python (" + python_ + ") " + how};
}

Error Host::error_of(std::string_view answer) const {
  const auto json = sql::parse_json(answer);
  const auto* const kind = json ? json->member("kind") : nullptr;
  const auto* const text = json ? json->member("text") : nullptr;
  if (kind == nullptr || text == nullptr)
    return Error{Errc::kIo, "the process of Python gave no answer"};
  if (kind->text == "missing") return Error{Errc::kNotFound, to_install(python_, text->text)};
  return Error{kind->text == "fit" ? Errc::kInvalidOption : Errc::kIo, text->text};
}

namespace {

void append_type(const sql::Type& type, std::string& text) {
  text += '[';
  const auto full = sql::name_of(type);
  sql::append_json_text(full.substr(0, full.find_first_of("(<")), text);
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
    // Of texts the length is no matter of the file.
    append_type(columns[i].type, text);
    text += ']';
  }
  return text + "]";
}

}  // namespace holdfast::stream::foreign
