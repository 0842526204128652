// peer_process.hpp: another engine, in a process of its own, that is asked one thing after the
// other and takes its times itself.
//
// A process of Python runs peer_main.py and, behind it, a script that knows the engines; another
// program talks as that does. It is asked by one line of text, and answers by one line of JSON.
// Between two questions it waits.
//
// Threads  One at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/child_process.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::bench {

extern const std::string_view kPeerMain;  // peer_main.py, as it is.

class PeerProcess {
 public:
  struct Start {
    std::string name;                // "duckdb": the first word that the script is given.
    std::string python;              // A path, or a name that is looked up in PATH.
    std::string_view script;         // What comes behind peer_main.py.
    std::vector<std::string> words;  // The words behind the name.
    std::string install;             // What pip has to install for it: "duckdb pyarrow".
  };
  struct Answer {
    double seconds = 0;
    std::vector<std::vector<std::string>> rows;
  };

  // Returns when the process has greeted. Errors: kNotFound (no such Python, or a package is not
  // there: says how to install it), kIo (it ended, was silent for an hour, or says why it failed).
  static Result<std::unique_ptr<PeerProcess>> start(const Start& how);
  // The same of any program, with its words.
  static Result<std::unique_ptr<PeerProcess>> start_program(const std::string& name,
                                                            std::vector<std::string> command);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& configuration() const { return configuration_; }
  // Its seconds lie within those that passed here. Errors: kIo, with what it said; where that is no
  // answer, or none came, or we are interrupted, it is killed, and each later question fails alike.
  Result<Answer> ask(const std::string& question);

 private:
  PeerProcess(const std::string& name, ChildProcess process, int socket)
      : name_(name), process_(std::move(process)), socket_(socket) {}
  // `before`: what an error of the start begins with.
  static Result<std::unique_ptr<PeerProcess>> launch(const std::string& name,
                                                     std::vector<std::string> command,
                                                     const std::string& before);
  Status greet(const Start& how);
  Status send_line(const std::string& line);
  Result<std::string> receive_line();
  Error failed(const std::string& what) const;
  Error lost(const std::string& why);

  const std::string name_;
  ChildProcess process_;
  const int socket_;
  std::string received_, version_, configuration_;
  std::string lost_;  // Why it is asked no more.
};

}  // namespace holdfast::bench
