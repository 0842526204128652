#include "stream_shell.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "console.hpp"

namespace holdfast::tools {
namespace {

// Takes whole statements off a text: up to a `;` that is in no quotes and no comment.
class Statements {
 public:
  void add(std::string_view line) {
    text_ += line;
    text_ += '\n';
  }
  // False: none is whole.
  bool next(std::string& statement) {
    char quote = 0;
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const char c = text_[at];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '`' || c == '"') {
        quote = c;
      } else if (c == '-' && text_.compare(at, 2, "--") == 0) {
        at = std::min(text_.find('\n', at), text_.size() - 1);
      } else if (c == ';') {
        statement = text_.substr(0, at);
        text_.erase(0, at + 1);
        return true;
      }
    }
    return false;
  }
  bool begun() const { return text_.find_first_not_of(" \t\n") != std::string::npos; }
  void forget() { text_.clear(); }

 private:
  std::string text_;
};

constexpr std::string_view kHelp =
    "A statement ends with ; and may have several lines. CREATE TABLE and SET are remembered;\n"
    "SELECT shows its rows until the input ends, or until Ctrl-C; INSERT INTO runs as long.\n"
    "help; shows this, tables; what was created, quit; or Ctrl-D ends.\n";

class Shell {
 public:
  Shell(const stream::ScriptOptions& options, std::atomic<bool>& stop)
      : options_(options), stop_(stop), terminal_(::isatty(STDIN_FILENO) == 1) {}

  int run() {
    if (terminal_) note("{}", kHelp);
    std::string line, statement;
    while (!ended_ && read_line(line)) {
      statements_.add(line);
      while (!ended_ && statements_.next(statement))
        execute(statement);
    }
    if (!ended_ && statements_.begun()) fail("a statement has no ; at its end");
    return terminal_ ? kExitDone : exit_code_;
  }

 private:
  bool read_line(std::string& line) {
    if (terminal_) note("{}", statements_.begun() ? "     > " : "stream> ");
    if (std::getline(std::cin, line)) return true;
    // Ctrl-C at the prompt: what was typed is forgotten.
    if (!stop_.exchange(false)) return false;
    std::cin.clear();
    ::clearerr(stdin);
    statements_.forget();
    note("\n");
    line.clear();
    return true;
  }

  void fail(const std::string& why) {
    complain("holdfast stream", why);
    exit_code_ = kExitFailed;
  }

  void execute(std::string statement) {
    const auto begin = statement.find_first_not_of(" \t\n");
    if (begin == std::string::npos) return;
    statement.erase(0, begin);
    while (statement.find_last_of(" \t\n") == statement.size() - 1)
      statement.pop_back();
    if (statement == "quit" || statement == "exit") {
      ended_ = true;
    } else if (statement == "help") {
      note("{}", kHelp);
    } else if (statement == "tables") {
      out("{}", remembered_);
      standard_output().flush();
    } else {
      execute_sql(statement + ";\n");
    }
  }

  void execute_sql(const std::string& statement) {
    const auto script = stream::Script::prepare(remembered_ + statement);
    if (!script) {
      complain("holdfast stream", plain(script.error()));
      exit_code_ = kExitBadRequest;
      return;
    }
    if (script->plans().empty()) {
      remembered_ += statement;
      return;
    }
    stop_.store(false);
    const Status status = script->run(options_, stop_);
    standard_output().flush();
    stop_.store(false);
    if (!status) fail(plain(status.error()));
  }

  stream::ScriptOptions options_;
  std::atomic<bool>& stop_;
  const bool terminal_;
  Statements statements_;
  std::string remembered_;  // Tables and settings.
  bool ended_ = false;
  int exit_code_ = kExitDone;
};

}  // namespace

int run_shell(const stream::ScriptOptions& options, std::atomic<bool>& stop) {
  return Shell(options, stop).run();
}

}  // namespace holdfast::tools
