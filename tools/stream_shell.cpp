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
//
// Costs  O(bytes) for all lines of a statement together.
class Statements {
 public:
  void add(std::string_view line) {
    text_.erase(0, begin_);
    at_ -= std::exchange(begin_, 0);
    text_ += line;
    text_ += '\n';
  }
  // False: none is whole.
  bool next(std::string& statement) {
    for (; at_ < text_.size(); ++at_) {
      if (within_ != kNothing) {
        skip();
      } else if (text_[at_] == ';') {
        statement = text_.substr(begin_, at_ - begin_);
        begin_ = ++at_;
        begun_ = false;
        return true;
      } else {
        look();
      }
    }
    return false;
  }
  // Something but spaces and whole comments.
  bool begun() const { return begun_ || within_ == kComment; }
  void forget() { *this = {}; }

 private:
  static constexpr char kNothing = 0, kLineComment = '-', kComment = '*';  // Others: a quote.

  // In a comment or in quotes: whether they end here.
  void skip() {
    const char c = text_[at_];
    const bool ends = within_ == kLineComment ? c == '\n'
                      : within_ == kComment   ? text_.compare(at_, 2, "*/") == 0
                                              : c == within_;
    if (!ends) return;
    if (within_ == kComment) ++at_;
    within_ = kNothing;
  }
  // Outside of them: whether they begin here.
  void look() {
    const char c = text_[at_];
    if (text_.compare(at_, 2, "--") == 0) {
      within_ = kLineComment;
    } else if (text_.compare(at_, 2, "/*") == 0) {
      within_ = kComment;
      ++at_;
    } else {
      if (c == '\'' || c == '`' || c == '"') within_ = c;
      begun_ = begun_ || (c != ' ' && c != '\t' && c != '\n' && c != '\r');
    }
  }

  std::string text_;
  std::size_t begin_ = 0, at_ = 0;  // Of the statement; of what was not looked at yet.
  char within_ = kNothing;
  bool begun_ = false;
};

constexpr std::string_view kHelp =
    "A statement ends with ; and may have several lines. CREATE, DROP and SET are remembered;\n"
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
    stop_.store(false);  // Here, not where a query begins: Ctrl-C may come before that.
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
    auto script = stream::Script::prepare(remembered_ + statement);
    if (!script) {
      complain("holdfast stream", plain(script.error()));
      exit_code_ = kExitBadRequest;
      return;
    }
    if (script->plans().empty()) {
      remembered_ += statement;
      return;
    }
    const Status status = script->run(options_, stop_);
    standard_output().flush();
    stop_.store(false);
    if (!status) fail(plain(status.error()));
  }

  stream::ScriptOptions options_;
  std::atomic<bool>& stop_;
  const bool terminal_;
  Statements statements_;
  std::string remembered_;  // What was created, dropped and set.
  bool ended_ = false;
  int exit_code_ = kExitDone;
};

}  // namespace

int run_shell(const stream::ScriptOptions& options, std::atomic<bool>& stop) {
  return Shell(options, stop).run();
}

}  // namespace holdfast::tools
