// stream_server.hpp: a web server on the loopback address, in a module of its own with cpp-httplib:
// holdfast-peers-httplib.so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::tools {

struct Answer {
  int status = 200;
  std::string type, body;
};
// To GET of `path`. Several threads call it at a time.
using Handler = std::function<Answer(std::string_view path)>;

class WebServer {
 public:
  virtual ~WebServer() = default;  // Stops it.
  virtual std::uint16_t port() const = 0;
};

// What the module offers. Listens on 127.0.0.1 alone; port 0: one that is free. A request whose
// Host is not the loopback address is refused, so that no page of the web can read it by a name of
// its own. Errors: kIo: the port is taken.
using OpenServer = Result<std::unique_ptr<WebServer>>(std::uint16_t port, Handler handler);

}  // namespace holdfast::tools
