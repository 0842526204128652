#include "stream_server.hpp"

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include <holdfast/base/condition.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::tools {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

bool is_loopback(std::string host) {
  if (const auto colon = host.rfind(':'); colon != std::string::npos) host.resize(colon);
  return host == kLoopback || host == "localhost";
}

// Threads for visitors. No more than kMost are let in at once: each has a file descriptor, and those
// of the process are the query's, too.
class Visits final : public httplib::TaskQueue {
  using Answer = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));  // As of its version.

 public:
  Answer enqueue(std::function<void()> visit) override {
    {
      const Lock lock(mutex_);
      while (count_ >= kMost)
        left_.wait(mutex_);
      ++count_;
    }
    return crew_.enqueue([this, visit = std::move(visit)] {
      visit();
      const Lock lock(mutex_);
      --count_;
      left_.notify_one();
    });
  }
  void shutdown() override { crew_.shutdown(); }

 private:
  static constexpr int kMost = 16, kThreads = 8;

  KernelMutex mutex_;
  Condition left_;
  int count_ HF_GUARDED_BY(mutex_) = 0;
  httplib::ThreadPool crew_{kThreads};  // The last: it uses the others.
};

// Ends what visitors of this port of 127.0.0.1 still say: one that is slow would hold up the end.
void end_visits(std::uint16_t port) {
  std::error_code code;
  for (std::filesystem::directory_iterator at("/proc/self/fd", code), end; !code && at != end;
       at.increment(code)) {
    const int fd = std::atoi(at->path().filename().c_str());
    sockaddr_in name{};
    socklen_t size = sizeof name;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0 &&
        name.sin_family == AF_INET && ntohs(name.sin_port) == port &&
        ntohl(name.sin_addr.s_addr) == INADDR_LOOPBACK)
      ::shutdown(fd, SHUT_RDWR);
  }
}

class HttpServer final : public WebServer {
 public:
  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {
    server_.new_task_queue = [] { return new Visits; };  // The server deletes it.
    // A connection is for one answer, and is not waited for: others may want its thread.
    server_.set_keep_alive_max_count(1);
    server_.set_keep_alive_timeout(1);
    server_.set_read_timeout(2);
    // Before a body is read: nobody sends us one, so none fills the memory.
    server_.set_pre_routing_handler(
        [](const httplib::Request& request, httplib::Response& response) {
          using Answer = httplib::Server::HandlerResponse;
          if (request.method == "GET" || request.method == "HEAD") return Answer::Unhandled;
          response.status = 405;
          response.set_header("Allow", "GET, HEAD");
          return Answer::Handled;
        });
    // Not SO_REUSEPORT, by which two programs would share a port and its visitors.
    server_.set_socket_options([](int socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.Get(".*", [this](const httplib::Request& request, httplib::Response& response) {
      if (!is_loopback(request.get_header_value("Host"))) {
        response.status = 403;
        return;
      }
      const auto answer = handler_(request.path);
      response.status = answer.status;
      response.set_header("Cache-Control", "no-store");
      response.set_header(
          "Content-Security-Policy",
          "default-src 'self' 'unsafe-inline'; img-src data:; frame-ancestors 'none'");
      response.set_content(answer.body, answer.type);
    });
  }
  ~HttpServer() override {
    server_.stop();
    while (thread_.joinable() && !ended_.load()) {
      end_visits(port_);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (thread_.joinable()) thread_.join();
  }

  Status listen(std::uint16_t port) {
    if (port == 0) {
      const int chosen = server_.bind_to_any_port(kLoopback);
      if (chosen < 0) return Error{Errc::kIo, "no port is free on 127.0.0.1"};
      port_ = static_cast<std::uint16_t>(chosen);
    } else if (server_.bind_to_port(kLoopback, port)) {
      port_ = port;
    } else {
      return Error{Errc::kIo, "port " + std::to_string(port) + " of 127.0.0.1 is taken"};
    }
    thread_ = std::thread([this] {
      server_.listen_after_bind();
      ended_.store(true);
    });
    // A stop() that came before it runs would be lost.
    while (!server_.is_running())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }
  std::uint16_t port() const override { return port_; }

 private:
  Handler handler_;
  httplib::Server server_;
  std::uint16_t port_ = 0;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

Result<std::unique_ptr<WebServer>> open_server(std::uint16_t port, Handler handler) {
  auto server = std::make_unique<HttpServer>(std::move(handler));
  HF_RETURN_IF_ERROR(server->listen(port));
  return std::unique_ptr<WebServer>(std::move(server));
}

const modules::Offer offer{"httplib", open_server};

}  // namespace
}  // namespace holdfast::tools
