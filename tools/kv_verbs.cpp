// put, get, erase, list, count: one record, or a look at many.
#include "kv_verbs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "console.hpp"
#include "kv_keys.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kCommand = "holdfast kv";

// All of standard input. Errors: kTooLarge beyond `limit`, kIo.
Result<std::string> read_standard_input(std::uint64_t limit) {
  std::string bytes;
  std::vector<char> buffer(1 * MiB);
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Error{Errc::kIo, fmt::format("reading standard input: {}", std::strerror(errno))};
    if (got == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
    if (bytes.size() > limit) {
      return Error{
          Errc::kTooLarge,
          fmt::format("standard input has more than {} bytes, the most this can be", limit)};
    }
  }
}

Result<std::string> argument_bytes(const char* what, const std::string& text, Encoding encoding,
                                   std::uint64_t limit) {
  std::string bytes = text;
  if (text == "-") {
    // Twice the limit: hex is the longest encoding.
    HF_ASSIGN_OR_RETURN(bytes, read_standard_input(2 * limit + 2));
    if (encoding != Encoding::kText) {
      while (!bytes.empty() && (bytes.back() == '\n' || bytes.back() == '\r'))
        bytes.pop_back();
    }
  }
  auto decoded = decode(bytes, encoding);
  if (!decoded) return Error{decoded.code(), fmt::format("{}: {}", what, decoded.error().detail)};
  if (decoded->size() > limit) {
    return Error{Errc::kTooLarge, fmt::format("{} of {} bytes; allowed are up to {} bytes", what,
                                              decoded->size(), limit)};
  }
  return decoded;
}

void print_outcome(const KvTarget& target, std::string_view outcome, const Survival& survival) {
  if (target.json) {
    out("{{\"outcome\":\"{}\",\"durability\":\"{}\"}}\n", outcome, survival.level);
  } else {
    out("{}; {}\n", outcome, survival.words);
  }
}

}  // namespace

int kv_put(const KvTarget& target, const PutArguments& arguments) {
  if (arguments.key == "-" && arguments.value == "-") {
    complain(kCommand, "KEY and VALUE are both '-'; only one of them can come from standard input");
    return kExitBadRequest;
  }
  const auto key = argument_bytes("KEY", arguments.key, arguments.key_encoding, kv::kMaxKeyBytes);
  if (!key) return report_error(target, key.error());
  const auto value =
      argument_bytes("VALUE", arguments.value, arguments.value_encoding, kv::kMaxValueBytes);
  if (!value) return report_error(target, value.error());

  auto store = open_for_writing(target.spec, access_to_put(target), false);
  if (!store) return report_error(target, store.error());
  if (store->recovery().created) note("created store {}\n", target.spec);
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  std::string_view outcome = "inserted";
  if (arguments.if_absent) {
    const auto put = with_room(*store, [&] { return keys->put_if_absent(*key, *value); });
    if (!put && put.code() != Errc::kAlreadyExists) return report_error(target, put.error());
    if (!put) outcome = "exists";
  } else {
    const auto put = with_room(*store, [&] { return keys->put(*key, *value); });
    if (!put) return report_error(target, put.error());
    if (*put == kv::PutOutcome::kOverwrote) outcome = "overwrote";
    if (*put == kv::PutOutcome::kWritten) outcome = "written";
  }
  const auto survival = settle(*store);
  if (!survival) return report_error(target, survival.error());
  print_outcome(target, outcome, *survival);
  return outcome == "exists" ? kExitFailed : kExitDone;
}

namespace {

// `version` is absent for a value that no record has.
int print_value(const KvTarget& target, std::string_view key, std::string_view value,
                std::optional<kv::Version> version, Encoding encoding) {
  Output& output = standard_output();
  if (target.json) {
    std::string text = "{";
    append_json_member(text, "key", key);
    text += ',';
    append_json_member(text, "value", value);
    if (version) fmt::format_to(std::back_inserter(text), ",\"version\":{}", *version);
    output.write(text + "}\n");
  } else if (encoding != Encoding::kText) {
    output.write(encode(value, encoding));
    output.write("\n");
  } else if (!is_terminal(stdout)) {
    output.write(value);  // Byte for byte, nothing added.
  } else if (is_printable(value)) {
    output.write(value);
    if (value.empty() || value.back() != '\n') output.write("\n");
  } else {
    complain(kCommand,
             fmt::format("the value is {} bytes that are no text", with_separators(value.size())),
             "Add --hex or --base64, or send it to a file or pipe.");
    return kExitBadRequest;
  }
  if (const Status status = output.finish(); !status) return report_error(target, status.error());
  return kExitDone;
}

}  // namespace

int kv_get(const KvTarget& target, const KeyArguments& arguments) {
  const auto key = argument_bytes("KEY", arguments.key, arguments.key_encoding, kv::kMaxKeyBytes);
  if (!key) return report_error(target, key.error());
  bool typed = false;
  auto store = open_for_reading(target.spec, &typed);
  if (!store) return report_error(target, store.error());
  const bool damaged = warn_of_damage(kCommand, target.spec, *store);
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  const auto pinned = keys->get_pinned(*key);
  if (!pinned && pinned.code() == Errc::kNotFound) {
    if (!arguments.default_value) return report_miss(target, *key, damaged, typed);
    return print_value(target, *key, *arguments.default_value, std::nullopt, arguments.output);
  }
  if (!pinned) return report_error(target, pinned.error());

  // Types of a program are no text.
  const bool as_hex = typed && arguments.output == Encoding::kText && !target.json;
  return print_value(target, *key, pinned->value(), pinned->version(),
                     as_hex ? Encoding::kHex : arguments.output);
}

int kv_erase(const KvTarget& target, const KeyArguments& arguments) {
  const auto key = argument_bytes("KEY", arguments.key, arguments.key_encoding, kv::kMaxKeyBytes);
  if (!key) return report_error(target, key.error());
  auto store = open_for_writing(target.spec, RegionAccess::kOpen, false);
  if (!store) return report_error(target, store.error());
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  const auto erased = with_room(*store, [&] { return keys->erase(*key); });
  if (!erased) return report_error(target, erased.error());
  const auto survival = settle(*store);
  if (!survival) return report_error(target, survival.error());
  if (!*erased && !arguments.if_exists) return report_miss(target, *key, false, false);
  print_outcome(target, *erased ? "erased" : "absent", *survival);
  return kExitDone;
}

int kv_list(const KvTarget& target, const ListArguments& arguments) {
  bool typed = false;
  auto store = open_for_reading(target.spec, &typed);
  if (!store) return report_error(target, store.error());
  const bool damaged = warn_of_damage(kCommand, target.spec, *store);
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  // On a terminal a record is one line; a value too wide for it is cut, which "…" shows.
  const std::size_t columns = is_terminal(stdout) ? terminal_columns() : 0;
  Output& output = standard_output();
  std::uint64_t listed = 0;
  std::string line;
  const Encoding encoding =
      typed && arguments.output == Encoding::kText ? Encoding::kHex : arguments.output;
  const auto shown = [&](std::string_view bytes) {
    return encoding == Encoding::kText ? visible(bytes) : encode(bytes, encoding);
  };
  const Status walked =
      keys->for_each([&](std::string_view key, std::string_view value, kv::Version) {
        if (!key.starts_with(arguments.prefix)) return true;
        line.clear();
        if (target.json) {
          line += '{';
          append_json_member(line, "key", key);
          if (!arguments.keys_only) {
            line += ',';
            append_json_member(line, "value", value);
          }
          line += '}';
        } else {
          line += shown(key);
          if (!arguments.keys_only) {
            line += '\t';
            const std::size_t room = columns > line.size() + 10 ? columns - line.size() - 10 : 10;
            const bool cut = columns != 0 && value.size() > room;
            line += shown(cut ? value.substr(0, room) : value);
            if (cut) line += "…";
          }
        }
        line += '\n';
        output.write(line);
        ++listed;
        return output.open() && (arguments.limit == 0 || listed < arguments.limit);
      });
  const Status written = output.finish();
  if (!walked) return report_error(target, walked.error());
  if (!written) return report_error(target, written.error());
  return damaged ? kExitFailed : kExitDone;
}

int kv_count(const KvTarget& target) {
  bool typed = false;
  auto store = open_for_reading(target.spec, &typed);
  if (!store) return report_error(target, store.error());
  const bool damaged = warn_of_damage(kCommand, target.spec, *store);
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  if (target.json) {
    out("{{\"records\":{}}}\n", keys->count());
  } else {
    out("{}\n", keys->count());
  }
  return damaged ? kExitFailed : kExitDone;
}

}  // namespace holdfast::tools
