// put, get, erase, list, count: one record, or a look at many.
#include "kv_verbs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "console.hpp"

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

// Nothing runs in the background of a command that writes one record, and each leaves a block
// behind that holds no more than that record. So it tidies up itself once such blocks outweigh what
// is live.
Status tidy(kv::Store<>& store) {
  const kv::StoreStats stats = store.stats();
  if (stats.used_bytes <= 2 * stats.live_bytes + 8 * MiB) return ok_status();
  return store.reclaim();
}

// After a verb that wrote: makes it as durable as the medium allows, closes, and says what that is.
// An error here means that the acknowledged write may not survive, so it is an error of the verb.
Result<Survival> settle(kv::Store<>& store) {
  HF_RETURN_IF_ERROR(store.sync());
  const Survival survival = survival_of(store.region_report());
  // No room to tidy up in is no failure of a write that is already durable.
  if (const Status tidied = tidy(store); !tidied && tidied.code() != Errc::kNoSpace)
    return tidied.error();
  HF_RETURN_IF_ERROR(store.close());
  return survival;
}

// What `write` returns; where it finds no space, what it returns after space was reclaimed.
template <class Write>
auto with_room(kv::Store<>& store, Write&& write) {
  auto done = write();
  if (done || done.code() != Errc::kNoSpace || !store.reclaim()) return done;
  return write();
}

void print_outcome(const KvTarget& target, std::string_view outcome, const Survival& survival) {
  if (target.json) {
    fmt::print("{{\"outcome\":\"{}\",\"durability\":\"{}\"}}\n", outcome, survival.level);
  } else {
    fmt::print("{}; {}\n", outcome, survival.words);
  }
}

}  // namespace

int kv_put(const KvTarget& target, const PutArguments& arguments) {
  if (arguments.key == "-" && arguments.value == "-") {
    complain(kCommand, "KEY and VALUE are both '-'; only one of them can come from standard input");
    return kExitBadRequest;
  }
  const auto key = argument_bytes("KEY", arguments.key, arguments.key_encoding, kv::kMaxKeyBytes);
  if (!key) return report_error(kCommand, target.spec, key.error());
  const auto value =
      argument_bytes("VALUE", arguments.value, arguments.value_encoding, kv::kMaxValueBytes);
  if (!value) return report_error(kCommand, target.spec, value.error());

  auto store = open_for_writing(target.spec, RegionAccess::kOpenOrCreate, false);
  if (!store) return report_error(kCommand, target.spec, store.error());
  if (store->recovery().created) fmt::print(stderr, "created store {}\n", target.spec);
  std::string_view outcome = "inserted";
  if (arguments.if_absent) {
    const auto put = with_room(*store, [&] { return store->put_if_absent(*key, *value); });
    if (!put && put.code() != Errc::kAlreadyExists)
      return report_error(kCommand, target.spec, put.error());
    if (!put) outcome = "exists";
  } else {
    const auto put = with_room(*store, [&] { return store->put(*key, *value); });
    if (!put) return report_error(kCommand, target.spec, put.error());
    if (*put == kv::PutOutcome::kOverwrote) outcome = "overwrote";
  }
  const auto survival = settle(*store);
  if (!survival) return report_error(kCommand, target.spec, survival.error());
  print_outcome(target, outcome, *survival);
  return outcome == "exists" ? kExitFailed : kExitDone;
}

int kv_get(const KvTarget& target, const KeyArguments& arguments) {
  const auto key = argument_bytes("KEY", arguments.key, arguments.key_encoding, kv::kMaxKeyBytes);
  if (!key) return report_error(kCommand, target.spec, key.error());
  auto store = open_for_reading(target.spec);
  if (!store) return report_error(kCommand, target.spec, store.error());
  const bool damaged = warn_of_damage(kCommand, target.spec, *store);
  const auto pinned = store->get_pinned(*key);
  if (!pinned && pinned.code() == Errc::kNotFound) {
    complain(kCommand, fmt::format("no {}record '{}'", damaged ? "intact " : "", visible(*key)));
    return kExitFailed;
  }
  if (!pinned) return report_error(kCommand, target.spec, pinned.error());

  const std::string_view value = pinned->value();
  Output output{stdout, "standard output"};
  if (target.json) {
    std::string text = "{";
    append_json_member(text, "key", *key);
    text += ',';
    append_json_member(text, "value", value);
    fmt::format_to(std::back_inserter(text), ",\"version\":{}}}\n", pinned->version());
    output.write(text);
  } else if (arguments.output != Encoding::kText) {
    output.write(encode(value, arguments.output));
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
  if (const Status status = output.finish(); !status)
    return report_error(kCommand, target.spec, status.error());
  return kExitDone;
}

int kv_erase(const KvTarget& target, const KeyArguments& arguments) {
  const auto key = argument_bytes("KEY", arguments.key, arguments.key_encoding, kv::kMaxKeyBytes);
  if (!key) return report_error(kCommand, target.spec, key.error());
  auto store = open_for_writing(target.spec, RegionAccess::kOpen, false);
  if (!store) return report_error(kCommand, target.spec, store.error());
  const auto erased = with_room(*store, [&] { return store->erase(*key); });
  if (!erased) return report_error(kCommand, target.spec, erased.error());
  const auto survival = settle(*store);
  if (!survival) return report_error(kCommand, target.spec, survival.error());
  if (!*erased) {
    complain(kCommand, fmt::format("no record '{}'", visible(*key)));
    return kExitFailed;
  }
  print_outcome(target, "erased", *survival);
  return kExitDone;
}

int kv_list(const KvTarget& target, const ListArguments& arguments) {
  auto store = open_for_reading(target.spec);
  if (!store) return report_error(kCommand, target.spec, store.error());
  const bool damaged = warn_of_damage(kCommand, target.spec, *store);
  // On a terminal a record is one line; a value too wide for it is cut, which "…" shows.
  const std::size_t columns = is_terminal(stdout) ? terminal_columns() : 0;
  Output output{stdout, "standard output"};
  std::uint64_t listed = 0;
  std::string line;
  const auto shown = [&](std::string_view bytes) {
    return arguments.output == Encoding::kText ? visible(bytes) : encode(bytes, arguments.output);
  };
  const Status walked =
      store->snapshot().for_each([&](std::string_view key, std::string_view value, kv::Version) {
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
  if (!walked) return report_error(kCommand, target.spec, walked.error());
  if (!written) return report_error(kCommand, target.spec, written.error());
  return damaged ? kExitFailed : kExitDone;
}

int kv_count(const KvTarget& target) {
  auto store = open_for_reading(target.spec);
  if (!store) return report_error(kCommand, target.spec, store.error());
  const bool damaged = warn_of_damage(kCommand, target.spec, *store);
  if (target.json) {
    fmt::print("{{\"records\":{}}}\n", store->count());
  } else {
    fmt::print("{}\n", store->count());
  }
  return damaged ? kExitFailed : kExitDone;
}

}  // namespace holdfast::tools
