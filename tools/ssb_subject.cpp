#include "ssb_subject.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ssb_peers.hpp"

extern char** environ;

namespace holdfast::tools {

using nlohmann::json;

namespace {

constexpr int kPatienceMs = 3'600'000;

// A member that is a text, or nothing.
std::string text_of(const json& message, const char* name) {
  const auto found = message.find(name);
  return found != message.end() && found->is_string() ? found->get<std::string>() : "";
}

// Whether `rows` is a list of lists of texts; these to `table`.
bool take_rows(const json& rows, olap::ResultTable& table) {
  if (!rows.is_array()) return false;
  for (const auto& row : rows) {
    if (!row.is_array()) return false;
    auto& to = table.rows.emplace_back();
    for (const auto& field : row) {
      if (!field.is_string()) return false;
      to.push_back(field.get<std::string>());
    }
  }
  return true;
}

int spawn(const std::vector<std::string>& words, int socket, pid_t& id) {
  std::vector<char*> arguments;
  for (const auto& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, socket, STDOUT_FILENO);
  const int code = ::posix_spawnp(&id, arguments[0], &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  return code;
}

}  // namespace

Error SsbPeer::failed(const std::string& what) const { return {Errc::kIo, name() + ": " + what}; }

Result<std::unique_ptr<SsbSubject>> SsbPeer::start(const std::string& name, const Start& how) {
  std::error_code made;
  std::filesystem::create_directories(how.scratch, made);
  int sockets[2];
  if (made || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return Error{Errc::kIo, name + ": no place or no socket to talk to it"};
  pid_t id = -1;
  const int code = spawn({how.python, "-c", std::string(kSsbPeers), name, how.tables,
                          std::to_string(how.threads), how.order, how.scratch},
                         sockets[1], id);
  ::close(sockets[1]);
  if (code != 0) {
    ::close(sockets[0]);
    return Error{Errc::kNotFound, fmt::format("{}: starting --python {}: {}", name, how.python,
                                              std::strerror(code))};
  }
  std::unique_ptr<SsbPeer> peer(new SsbPeer(name, id, sockets[0]));
  HF_RETURN_IF_ERROR(peer->greet(how));
  return std::unique_ptr<SsbSubject>(std::move(peer));
}

SsbPeer::~SsbPeer() {
  ::close(socket_);
  ::kill(id_, SIGKILL);
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
}

Status SsbPeer::greet(const Start& how) {
  HF_ASSIGN_OR_RETURN(const auto line, receive_line());
  const auto message = json::parse(line, nullptr, false);
  if (!message.is_object()) return failed("it began with no JSON: " + line.substr(0, 200));
  if (const auto package = text_of(message, "missing"); !package.empty())
    return Error{
        Errc::kNotFound,
        fmt::format(
            "{0}: the Python {1} has no package {2} ({3}). Install it and name that Python: "
            "python3 -m venv peers && peers/bin/pip install {4}, then --python "
            "peers/bin/python (or HOLDFAST_PEER_PYTHON)",
            name(), how.python, package, text_of(message, "error"),
            name() == "datafusion" ? "datafusion pyarrow" : name())};
  if (const auto error = text_of(message, "error"); !error.empty()) return failed(error);
  version_ = text_of(message, "version");
  configuration_ = text_of(message, "configuration");
  return {};
}

Status SsbPeer::send_line(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const auto now = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return failed("it has ended");
    sent += static_cast<std::size_t>(now);
  }
  return {};
}

Result<std::string> SsbPeer::receive_line() {
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      auto line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    pollfd ready{socket_, POLLIN, 0};
    const int any = ::poll(&ready, 1, kPatienceMs);
    if (any < 0 && errno == EINTR) continue;
    if (any == 0) return failed("no answer within an hour");
    char bytes[65536];
    const auto got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failed("its process ended without an answer");
    received_.append(bytes, static_cast<std::size_t>(got));
  }
}

Result<SsbSubject::Asked> SsbPeer::ask(const olap::StarQuery& query) {
  HF_RETURN_IF_ERROR(send_line(query.name));
  HF_ASSIGN_OR_RETURN(const auto line, receive_line());
  const auto message = json::parse(line, nullptr, false);
  if (!message.is_object()) return failed(query.name + ": no JSON: " + line.substr(0, 200));
  if (const auto error = text_of(message, "error"); !error.empty())
    return failed(query.name + ": " + error);
  Asked asked;
  const auto seconds = message.find("seconds"), rows = message.find("rows");
  if (seconds == message.end() || !seconds->is_number() || rows == message.end() ||
      !take_rows(*rows, asked.table))
    return failed(query.name + ": an answer without seconds or rows");
  asked.seconds = seconds->get<double>();
  return asked;
}

Result<std::unique_ptr<SsbSubject>> SsbRowBaseline::load(const SsbArguments& arguments,
                                                         olap::Team& team) {
  SsbArguments rows = arguments;
  rows.layout = "row";
  rows.region.clear();
  HF_ASSIGN_OR_RETURN(auto star, open_star(rows, team.nodes()));
  HF_ASSIGN_OR_RETURN(auto engine, SsbEngine::create(*star.store, VectorWidth::kPortable,
                                                     arguments.index, team.nodes()));
  return std::unique_ptr<SsbSubject>(new SsbRowBaseline(std::move(star), std::move(engine), team));
}

Result<SsbSubject::Asked> SsbRowBaseline::ask(const olap::StarQuery& query) {
  const auto begin = std::chrono::steady_clock::now();
  HF_ASSIGN_OR_RETURN(auto answer, engine_.answer(query, team_));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return Asked{took.count(), std::move(answer.table)};
}

}  // namespace holdfast::tools
