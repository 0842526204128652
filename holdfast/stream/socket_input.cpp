#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <holdfast/memory/system.hpp>
#include <holdfast/stream/input.hpp>

namespace holdfast::stream {
namespace {

using memory_detail::FileDescriptor;

constexpr int kPatienceMs = 100;

class SocketInput final : public Input {
 public:
  SocketInput(FileDescriptor socket, std::string name)
      : socket_(std::move(socket)), name_(std::move(name)) {}

  Result<std::size_t> read(char* to, std::size_t size) override {
    pollfd wait{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, kPatienceMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return std::size_t{0};
    const ssize_t got = ready < 0 ? -1 : ::recv(socket_.get(), to, size, 0);
    if (got < 0 && errno == EINTR) return std::size_t{0};
    if (got < 0) return Error{Errc::kIo, "read " + name_ + ": " + std::strerror(errno)};
    at_end_ = got == 0;
    return static_cast<std::size_t>(got);
  }
  bool at_end() const override { return at_end_; }
  Status seek(std::uint64_t) override {
    return Error{Errc::kUnsupported, name_ + " cannot be read again"};
  }
  const std::string& name() const override { return name_; }

 private:
  FileDescriptor socket_;
  std::string name_;
  bool at_end_ = false;
};

}  // namespace

Result<std::unique_ptr<Input>> open_socket_input(const std::string& host, std::uint16_t port) {
  const auto service = std::to_string(port);
  const auto name = "tcp://" + host + ":" + service;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found); code != 0)
    return Error{Errc::kNotFound, name + ": " + ::gai_strerror(code)};
  int reason = ECONNREFUSED;
  FileDescriptor socket;
  for (const addrinfo* at = found; at != nullptr && !socket; at = at->ai_next) {
    FileDescriptor one(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (one && ::connect(one.get(), at->ai_addr, at->ai_addrlen) == 0)
      socket = std::move(one);
    else
      reason = errno;
  }
  ::freeaddrinfo(found);
  if (!socket) return Error{Errc::kIo, "connect " + name + ": " + std::strerror(reason)};
  return std::unique_ptr<Input>(std::make_unique<SocketInput>(std::move(socket), name));
}

}  // namespace holdfast::stream
