#include "stream_server.hpp"

#include <httplib.h>

#include <chrono>
#include <thread>
#include <utility>

#include <holdfast/bench/peers.hpp>

namespace holdfast::tools {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

bool is_loopback(std::string host) {
  if (const auto colon = host.rfind(':'); colon != std::string::npos) host.resize(colon);
  return host == kLoopback || host == "localhost";
}

class HttpServer final : public WebServer {
 public:
  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {
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
    thread_ = std::thread([this] { server_.listen_after_bind(); });
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
  std::thread thread_;
};

Result<std::unique_ptr<WebServer>> open_server(std::uint16_t port, Handler handler) {
  auto server = std::make_unique<HttpServer>(std::move(handler));
  HF_RETURN_IF_ERROR(server->listen(port));
  return std::unique_ptr<WebServer>(std::move(server));
}

const bench::PeerOffer offer{"httplib", open_server};

}  // namespace
}  // namespace holdfast::tools
