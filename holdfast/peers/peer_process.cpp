#include <holdfast/peers/peer_process.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include <nlohmann/json.hpp>

#include <holdfast/bench/engine/interruption.hpp>

namespace holdfast::bench {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::hours kPatience{1};
constexpr int kLookMs = 200;  // Between two looks at whether we are interrupted.

// A member that is a text, or nothing.
std::string text_of(const json& message, const char* name) {
  const auto found = message.find(name);
  return found != message.end() && found->is_string() ? found->get<std::string>() : "";
}

// Whether `rows` is a list of lists of texts; these to `answer`.
bool take_rows(const json& rows, PeerProcess::Answer& answer) {
  if (!rows.is_array()) return false;
  for (const auto& row : rows) {
    if (!row.is_array()) return false;
    auto& to = answer.rows.emplace_back();
    for (const auto& field : row) {
      if (!field.is_string()) return false;
      to.push_back(field.get<std::string>());
    }
  }
  return true;
}

}  // namespace

Error PeerProcess::failed(const std::string& what) const {
  return {Errc::kIo, name_ + ": " + what};
}

// What it says from now on would be taken for the answer to another question.
Error PeerProcess::lost(const std::string& why) {
  process_.kill();
  lost_ = why;
  return failed(why);
}

Result<std::unique_ptr<PeerProcess>> PeerProcess::launch(const std::string& name,
                                                         std::vector<std::string> command,
                                                         const std::string& before) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return Error{Errc::kIo, name + ": no socket to talk to it: " + std::strerror(errno)};
  auto process = ChildProcess::start(
      std::move(command), {{sockets[1], STDIN_FILENO}, {sockets[1], STDOUT_FILENO}}, false);
  ::close(sockets[1]);
  if (!process) {
    ::close(sockets[0]);
    return Error{Errc::kNotFound, name + ": " + before + ": " + process.error().detail};
  }
  return std::unique_ptr<PeerProcess>(new PeerProcess(name, *std::move(process), sockets[0]));
}

Result<std::unique_ptr<PeerProcess>> PeerProcess::start(const Start& how) {
  std::vector<std::string> words = {how.python, "-c",
                                    std::string(kPeerMain) + std::string(how.script), how.name};
  words.insert(words.end(), how.words.begin(), how.words.end());
  HF_ASSIGN_OR_RETURN(auto peer,
                      launch(how.name, std::move(words), "starting --python " + how.python));
  HF_RETURN_IF_ERROR(peer->greet(how));
  return peer;
}

Result<std::unique_ptr<PeerProcess>> PeerProcess::start_program(const std::string& name,
                                                                std::vector<std::string> command) {
  const auto program = command.front();
  HF_ASSIGN_OR_RETURN(auto peer, launch(name, std::move(command), "starting " + program));
  HF_RETURN_IF_ERROR(peer->greet({}));
  return peer;
}

PeerProcess::~PeerProcess() { ::close(socket_); }

Status PeerProcess::greet(const Start& how) {
  HF_ASSIGN_OR_RETURN(const auto line, receive_line());
  const auto message = json::parse(line, nullptr, false);
  if (!message.is_object()) return lost("it began with no JSON: " + line.substr(0, 200));
  if (const auto package = text_of(message, "missing"); !package.empty())
    return Error{Errc::kNotFound,
                 name_ + ": the Python " + how.python + " has no package " + package + " (" +
                     text_of(message, "error") +
                     "). Install it and name that Python: python3 -m venv peers && "
                     "peers/bin/pip install " +
                     how.install + ", then --python peers/bin/python (or HOLDFAST_PEER_PYTHON)"};
  if (const auto error = text_of(message, "error"); !error.empty()) return failed(error);
  version_ = text_of(message, "version");
  configuration_ = text_of(message, "configuration");
  if (version_.empty() || configuration_.empty())
    return lost("it began without a version or a configuration: " + line.substr(0, 200));
  return {};
}

Status PeerProcess::send_line(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const auto now = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return lost("its process has ended");
    sent += static_cast<std::size_t>(now);
  }
  return {};
}

Result<std::string> PeerProcess::receive_line() {
  const auto until = Clock::now() + kPatience;
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      auto line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (interrupted()) return lost("interrupted");
    if (Clock::now() >= until) return lost("no answer within an hour");
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, kLookMs) <= 0) continue;
    char bytes[65536];
    const auto got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return lost("its process ended without an answer");
    received_.append(bytes, static_cast<std::size_t>(got));
  }
}

Result<PeerProcess::Answer> PeerProcess::ask(const std::string& question) {
  if (!lost_.empty()) return failed(lost_);
  const auto begun = Clock::now();
  HF_RETURN_IF_ERROR(send_line(question));
  HF_ASSIGN_OR_RETURN(const auto line, receive_line());
  const double most = std::chrono::duration<double>(Clock::now() - begun).count();
  if (!received_.empty()) return lost(question + ": more than one answer");
  const auto message = json::parse(line, nullptr, false);
  if (!message.is_object()) return lost(question + ": no JSON: " + line.substr(0, 200));
  if (const auto error = text_of(message, "error"); !error.empty())
    return failed(question + ": " + error);
  Answer answer;
  const auto seconds = message.find("seconds"), rows = message.find("rows");
  if (seconds == message.end() || !seconds->is_number() || rows == message.end() ||
      !take_rows(*rows, answer))
    return lost(question + ": an answer without seconds or rows");
  answer.seconds = seconds->get<double>();
  if (!(answer.seconds >= 0 && answer.seconds <= most))
    return lost(question + ": it says that it took " + seconds->dump() + " s; it was " +
                std::to_string(most) + " s until the answer came");
  return answer;
}

}  // namespace holdfast::bench
