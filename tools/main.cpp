// The command `holdfast`. Exit codes: 0 done, 1 the work failed, 2 the request was wrong, 3 the
// result is not to be trusted.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <holdfast/modules/modules.hpp>

#include "bench_command.hpp"
#include "blocks_command.hpp"
#include "completion.hpp"
#include "console.hpp"
#include "index_command.hpp"
#include "kv_command.hpp"
#include "kv_verbs.hpp"
#include "mem_command.hpp"
#include "olap_command.hpp"
#include "ssb_command.hpp"
#include "stream_command.hpp"
#include "text_layout.hpp"
#include "tour.hpp"
#include "version.hpp"

namespace holdfast::tools {
namespace {

// The innermost subcommand that was reached, and the words that led there.
std::pair<const CLI::App*, std::string> reached(const CLI::App& root) {
  const CLI::App* app = &root;
  std::string words = root.get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().back();
    words += " " + app->get_name();
  }
  return {app, words};
}

// What `word` may have meant here.
std::string suggestion(const CLI::App& app, const std::string& word) {
  std::vector<std::string> candidates;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames())
        candidates.push_back("--" + name);
    }
  } else {
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
      candidates.push_back(verb->get_name());
    }
  }
  const std::string meant = closest(word.substr(0, word.find('=')), candidates);
  return meant.empty() ? "" : "; did you mean '" + meant + "'?";
}

// STORE stands before the verb, which CLI11 does not know when it writes the usage of a verb.
class UsageFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    constexpr std::string_view kKv = "holdfast kv ";
    if (name.starts_with(kKv) && name != "holdfast kv bench") name.insert(kKv.size(), "STORE ");
    return CLI::Formatter::make_usage(app, name);
  }
};

// Whether a verb of a store was asked to answer in JSON. What stands behind the mistake was not
// parsed, so the words are looked at. (`kv bench --json FILE` writes a document of another kind.)
bool wants_document(const std::string& reached, int argc, char** argv) {
  if (!(reached + ' ').starts_with("holdfast kv ") || reached.starts_with("holdfast kv bench"))
    return false;
  for (int i = 1; i < argc && argv[i] != std::string_view("--"); ++i) {
    if (argv[i] == std::string_view("--json")) return true;
  }
  return false;
}

int report_usage(const CLI::App& root, const CLI::ParseError& error, int argc, char** argv) {
  const auto [app, words] = reached(root);
  const std::vector<std::string> extra = app->remaining();
  const auto subcommands = app->get_subcommands([](const CLI::App*) { return true; });
  std::string message = error.what();
  if (dynamic_cast<const CLI::ConversionError*>(&error) !=
      nullptr) {  // "Could not convert: --limit = many"
    message = fmt::format("{}; a number is wanted",
                          message.substr(std::string_view{"Could not convert: "}.size()));
  }
  if (!extra.empty()) {
    message = fmt::format("'{}' is not understood here{}", extra.front(),
                          suggestion(*app, extra.front()));
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !subcommands.empty()) {
    message = "a verb is missing; there are";
    for (const CLI::App* verb : subcommands) {
      if (!verb->get_group().empty())
        message += " " + verb->get_name();  // Without a group: internal.
    }
    // `holdfast kv putt`: the one word that was given went to STORE.
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_positional() || option->count() == 0) continue;
      const std::string given = option->results().front();
      const std::string meant = suggestion(*app, given);
      if (!meant.empty())
        message += fmt::format(" ('{}' was taken as {}{})", given, option->get_name(true), meant);
    }
  }
  const std::string help = "Try: " + words + " --help";
  complain(words, message, help);
  if (wants_document(words, argc, argv))
    standard_output().write(error_document(kind_of(Errc::kInvalidOption), message, help));
  return kExitBadRequest;
}

// CLI11 wraps "-1" round where it wants an unsigned number, and takes the greatest one for what is
// above it.
std::string what_is_wrong_with_number(const std::string& given) {
  if (given.starts_with('-')) return "'" + given + "' is negative; a number from 0 is wanted";
  errno = 0;
  (void)std::strtoull(given.c_str(), nullptr, 10);
  return errno == ERANGE ? "'" + given + "' is too large; at most 18446744073709551615 is allowed"
                         : std::string{};
}

void refuse_numbers_out_of_range(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() == "UINT" || option->get_type_name() == "TIME")
      option->check(CLI::Validator(what_is_wrong_with_number, ""));
  }
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    refuse_numbers_out_of_range(*verb);
}

// `holdfast help kv put` and `holdfast version` mean `holdfast kv put --help` and `holdfast
// --version`.
std::vector<std::string> command_words(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) return words;
  if (words.front() == "version") words.front() = "--version";
  if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());  // As CLI11 wants them.
  return words;
}

int run(int argc, char** argv) {
  if (const Status same = modules::check_started_by(); !same) {
    complain("holdfast", plain(same.error()));
    return kExitFailed;
  }
  int exit_code = kExitDone;
  CLI::App root{"Holdfast keeps state durable at memory speed.", "holdfast"};
  root.formatter(std::make_shared<UsageFormatter>());
  root.require_subcommand(1);
  root.set_version_flag("-V,--version", std::string{"holdfast"});
  root.footer(
      "Examples:\n"
      "  holdfast tour                            # watch it survive being killed\n"
      "  holdfast kv ./users put ada lovelace     # a record in a durable store\n"
      "  holdfast kv ./users get ada\n"
      "  holdfast mem                             # what memory this machine has\n"
      "  holdfast kv bench --region ./here        # beside the other stores\n"
      "More: holdfast COMMAND --help\n"
      "Exit codes: 0 done, 1 the work failed, 2 the request was wrong, 3 the result is not to be "
      "trusted");
  add_tour_command(root, exit_code);
  add_kv_command(root, exit_code);
  add_mem_command(root, exit_code);
  add_stream_command(root, exit_code);
  add_olap_command(root, exit_code);
  add_ssb_command(root, exit_code);
  add_blocks_command(root, exit_code);
  add_index_command(root, exit_code);
  add_bench_command(root, exit_code);
  add_completion_command(root, exit_code);
  refuse_numbers_out_of_range(root);
  try {
    root.parse(command_words(argc, argv));
  } catch (const CLI::CallForHelp&) {
    standard_output().write(wrap(root.help(), prose_columns()));
  } catch (const CLI::CallForVersion&) {
    standard_output().write(fit_terminal(version_text()));
  } catch (const CLI::ParseError& error) {
    return report_usage(root, error, argc, argv);
  }
  return exit_code;
}

}  // namespace
}  // namespace holdfast::tools

int main(int argc, char** argv) {
  // A reader that goes away (`… | head`) is seen as EPIPE where it is written, not as our death.
  std::signal(SIGPIPE, SIG_IGN);
  holdfast::tools::occupy_standard_streams();
  try {
    const int exit_code = holdfast::tools::run(argc, argv);
    const auto written = holdfast::tools::standard_output().finish();
    // A result that did not get out is no result; a verb that failed has said why.
    if (written || exit_code != holdfast::tools::kExitDone) return exit_code;
    holdfast::tools::complain("holdfast", written.error().detail);
  } catch (const std::bad_alloc&) {
    holdfast::tools::complain("holdfast", "out of memory; what was acknowledged is in the store");
  } catch (const std::exception& error) {
    holdfast::tools::complain("holdfast", error.what());
  }
  return holdfast::tools::kExitFailed;
}
