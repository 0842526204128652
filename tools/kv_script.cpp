// script: many verbs, one open of the store. A verb of the command is one open and one close, which
// takes longer than the verb; a shell loop of them is slow.
//
// One verb per line, its words as a shell would take them: blanks separate, "…" and '…' hold
// together, \ takes the next character as it is, # begins a comment. What a line prints goes out
// before the next is read, so that a program can talk to it through two pipes.
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>

#include <holdfast/base/format.hpp>

#include "console.hpp"
#include "kv_keys.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kScriptCommand = "holdfast kv script";
constexpr const char* kVerbs =
    "put KEY VALUE, put-if-absent KEY VALUE, append KEY VALUE, get KEY, erase KEY, count, "
    "list [PREFIX], sync";

// The words of a line. Errors: kInvalidOption for a quote that does not end.
Result<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char letter = line[at];
    const bool blank = letter == ' ' || letter == '\t' || letter == '\r';
    if (letter == '\\' && quote != '\'' && at + 1 < line.size()) {
      word += line[++at];
      in_word = true;
    } else if (quote != 0) {
      if (letter == quote) {
        quote = 0;
      } else {
        word += letter;
      }
    } else if (letter == '"' || letter == '\'') {
      quote = letter;
      in_word = true;
    } else if (letter == '#' && !in_word) {
      break;
    } else if (blank) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += letter;
      in_word = true;
    }
  }
  if (quote != 0)
    return Error{Errc::kInvalidOption, fmt::format("the quote {} does not end on its line", quote)};
  if (in_word) words.push_back(std::move(word));
  return words;
}

class Script {
 public:
  explicit Script(const KvTarget& target) : target_(target) {}

  // Executes a line. Errors end the script; that a record is not there is none.
  Status line(const std::vector<std::string>& words);
  // Makes what was written durable and closes. An error is one of what was acknowledged before.
  Status finish();

  std::uint64_t missing() const { return missing_; }
  std::string summary() const {
    return fmt::format("{}, {}, {}{}", counted(written_, "record") + " written",
                       counted(read_, "record") + " read", counted(erased_, "record") + " erased",
                       survival_.words.empty() ? "" : "; what was written " + survival_.words);
  }

 private:
  struct Verb {
    std::string_view name;
    std::size_t fewest, most;  // Words behind the verb.
    bool writes;
    Status (Script::*run)(std::span<const std::string> words);
  };
  static const std::array<Verb, 8> kTable;

  Status open(bool writes, bool creates);
  Status put(std::span<const std::string> words);
  Status put_if_absent(std::span<const std::string> words);
  Status append(std::span<const std::string> words);
  Status get(std::span<const std::string> words);
  Status erase(std::span<const std::string> words);
  Status count(std::span<const std::string>);
  Status list(std::span<const std::string> words);
  Status sync(std::span<const std::string>) { return writable_ ? store_->sync() : ok_status(); }

  void outcome(std::string_view what) {
    if (target_.json) out("{{\"outcome\":\"{}\"}}\n", what);
  }
  Status miss(const std::string& key) {
    ++missing_;
    (void)report_miss(target_, key, false, false);
    return {};
  }
  void print_record(std::string_view key, std::string_view value, kv::Version version) {
    std::string text = "{";
    append_json_member(text, "key", key);
    text += ',';
    append_json_member(text, "value", value);
    out("{},\"version\":{}}}\n", text, version);
  }

  const KvTarget& target_;
  std::optional<kv::Store<>> store_;
  std::optional<Keys> keys_;  // Of store_.
  bool writable_ = false;
  std::uint64_t written_ = 0, read_ = 0, erased_ = 0, missing_ = 0;
  Survival survival_;
};

constinit const std::array<Script::Verb, 8> Script::kTable = {
    {{"put", 2, 2, true, &Script::put},
     {"put-if-absent", 2, 2, true, &Script::put_if_absent},
     {"append", 2, 2, true, &Script::append},
     {"get", 1, 1, false, &Script::get},
     {"erase", 1, 1, true, &Script::erase},
     {"count", 0, 0, false, &Script::count},
     {"list", 0, 1, false, &Script::list},
     {"sync", 0, 0, false, &Script::sync}}};

// A script that only reads shares the store with other readers; the first verb that writes opens it
// anew.
Status Script::open(bool writes, bool creates) {
  if (store_ && (writable_ || !writes)) return {};
  keys_.reset();
  if (store_) HF_RETURN_IF_ERROR(store_->close());
  store_.reset();
  auto store = writes ? open_for_writing(target_.spec,
                                         creates ? access_to_put(target_) : RegionAccess::kOpen,
                                         /*background=*/true, nullptr, target_.ordered)
                      : open_for_reading(target_);
  if (!store) return store.error();
  store_.emplace(std::move(*store));
  writable_ = writes;
  if (writes && store_->recovery().created) note("created store {}\n", target_.spec);
  if (!writes) (void)warn_of_damage(kScriptCommand, target_.spec, *store_);
  auto keys = Keys::of(*store_, target_.space, target_.ordered);
  if (!keys) return keys.error();
  keys_.emplace(std::move(*keys));
  return {};
}

Status Script::line(const std::vector<std::string>& words) {
  const std::span<const std::string> arguments = std::span{words}.subspan(1);
  for (const Verb& verb : kTable) {
    if (verb.name != words.front()) continue;
    if (arguments.size() < verb.fewest || arguments.size() > verb.most) {
      return Error{Errc::kInvalidOption, fmt::format("{} with {}; the verbs are {}", verb.name,
                                                     counted(arguments.size(), "word"), kVerbs)};
    }
    HF_RETURN_IF_ERROR(open(verb.writes, verb.run == &Script::put ||
                                             verb.run == &Script::put_if_absent ||
                                             verb.run == &Script::append));
    return (this->*verb.run)(arguments);
  }
  return Error{Errc::kInvalidOption,
               fmt::format("'{}' is no verb; there are {}", visible(words.front()), kVerbs)};
}

Status Script::put(std::span<const std::string> words) {
  const auto put = with_room(*store_, [&] { return keys_->put(words[0], words[1]); });
  if (!put) return put.error();
  ++written_;
  outcome(*put == kv::PutOutcome::kOverwrote  ? "overwrote"
          : *put == kv::PutOutcome::kInserted ? "inserted"
                                              : "written");
  return {};
}

Status Script::put_if_absent(std::span<const std::string> words) {
  const auto put = with_room(*store_, [&] { return keys_->put_if_absent(words[0], words[1]); });
  if (!put && put.code() != Errc::kAlreadyExists) return put.error();
  written_ += put ? 1 : 0;
  outcome(put ? "inserted" : "exists");
  return {};
}

Status Script::append(std::span<const std::string> words) {
  HF_RETURN_IF_ERROR(with_room(
      *store_, [&] { return keys_->merge(words[0], kv::MergeFunction::kAppend, words[1]); }));
  ++written_;
  outcome("appended");
  return {};
}

Status Script::get(std::span<const std::string> words) {
  const auto pinned = keys_->get_pinned(words[0]);
  if (!pinned && pinned.code() == Errc::kNotFound) return miss(words[0]);
  if (!pinned) return pinned.error();
  ++read_;
  if (target_.json) {
    print_record(words[0], pinned->value(), pinned->version());
  } else {
    standard_output().write(pinned->value());
    standard_output().write("\n");
  }
  return {};
}

Status Script::erase(std::span<const std::string> words) {
  const auto erased = with_room(*store_, [&] { return keys_->erase(words[0]); });
  if (!erased) return erased.error();
  if (!*erased) return miss(words[0]);
  ++erased_;
  outcome("erased");
  return {};
}

Status Script::count(std::span<const std::string>) {
  HF_ASSIGN_OR_RETURN(const std::uint64_t records, keys_->count());
  if (target_.json) {
    out("{{\"records\":{}}}\n", records);
  } else {
    out("{}\n", records);
  }
  return {};
}

Status Script::list(std::span<const std::string> words) {
  const std::string_view prefix = words.empty() ? std::string_view{} : words[0];
  return keys_->for_each([&](std::string_view key, std::string_view value, kv::Version version) {
    if (!key.starts_with(prefix)) return true;
    ++read_;
    if (target_.json) {
      print_record(key, value, version);
    } else {
      out("{}\t{}\n", visible(key), visible(value));
    }
    return standard_output().open();
  });
}

Status Script::finish() {
  if (!store_) return {};
  if (!writable_) return store_->close();
  auto survival = settle(*store_);
  if (!survival) return survival.error();
  survival_ = std::move(*survival);
  return {};
}

}  // namespace

int kv_script(const KvTarget& target, const ScriptArguments& arguments) {
  std::ifstream file;
  if (arguments.file != "-") {
    file.open(arguments.file);
    if (!file) return report_unreadable(target, arguments.file, errno);
  }
  std::istream& input = arguments.file == "-" ? std::cin : file;
  std::ios::sync_with_stdio(false);
  Script script(target);
  std::string text;
  int exit_code = kExitDone;
  for (std::uint64_t number = 1; std::getline(input, text); ++number) {
    const auto words = words_of(text);
    Status done = words ? ok_status() : Status(words.error());
    if (words && !words->empty()) done = script.line(*words);
    if (input.rdbuf()->in_avail() <= 0) standard_output().flush();
    if (done) continue;
    exit_code = report_error(
        target, Error{done.code(), fmt::format("line {}: {}; the lines before it were done", number,
                                               done.error().detail)});
    break;
  }
  if (const Status finished = script.finish(); !finished)
    return report_error(target, finished.error());
  note("{}\n", script.summary());
  if (exit_code == kExitDone && script.missing() != 0) exit_code = kExitFailed;
  return exit_code;
}

}  // namespace holdfast::tools
