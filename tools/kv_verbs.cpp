// put, append, merge, get, erase, list, count: one record, or a look at many.
#include "kv_verbs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <tuple>
#include <type_traits>

#include <holdfast/kv/cursor.hpp>

#include "console.hpp"
#include "kv_keys.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

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

namespace {

struct Record {
  std::string key, value;
};

Result<Record> record_of(const PutArguments& arguments) {
  if (arguments.key == "-" && arguments.value == "-") {
    return Error{Errc::kInvalidOption,
                 "KEY and VALUE are both '-'; only one of them can come from standard input"};
  }
  Record record;
  HF_ASSIGN_OR_RETURN(
      record.key, argument_bytes("KEY", arguments.key, arguments.key_encoding, kv::kMaxKeyBytes));
  HF_ASSIGN_OR_RETURN(record.value, argument_bytes("VALUE", arguments.value,
                                                   arguments.value_encoding, kv::kMaxValueBytes));
  return record;
}

// Opens the store, which is made if there is none, and does `change` to its keys. Returns what the
// change says of its outcome.
template <class Change>
Result<std::string> change_keys(const KvTarget& target, Survival& survival, Change&& change) {
  HF_ASSIGN_OR_RETURN(auto store, open_for_writing(target.spec, access_to_put(target), false));
  if (store.recovery().created) note("created store {}\n", target.spec);
  HF_ASSIGN_OR_RETURN(Keys keys, Keys::of(store, target.space));
  HF_ASSIGN_OR_RETURN(std::string outcome, change(store, keys));
  HF_ASSIGN_OR_RETURN(survival, settle(store));
  return outcome;
}

template <class Number>
Result<Number> number_of(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) {
    return Error{
        Errc::kInvalidOption,
        fmt::format("NUMBER '{}'; {} is allowed", text,
                    std::is_floating_point_v<Number> ? "a number such as 0.5 or -3e6"
                    : std::is_signed_v<Number>       ? "a whole number of 64 bits"
                                                     : "a whole number of 64 bits without a sign")};
  }
  return number;
}

// The store's bytes of a number, and back to text.
template <class Number>
Result<std::string> merge_number(kv::Store<>& store, Keys& keys, const std::string& key,
                                 const MergeArguments& arguments) {
  HF_ASSIGN_OR_RETURN(Number number, number_of<Number>(arguments.number));
  const std::string_view operand(reinterpret_cast<const char*>(&number), sizeof number);
  HF_RETURN_IF_ERROR(
      with_room(store, [&] { return keys.merge(key, arguments.function, operand); }));
  HF_ASSIGN_OR_RETURN(const kv::Pinned present, keys.get_pinned(key));
  std::memcpy(&number, present.value().data(), sizeof number);
  return fmt::format("{}", number);
}

}  // namespace

int kv_append(const KvTarget& target, const PutArguments& arguments) {
  const auto record = record_of(arguments);
  if (!record) return report_error(target, record.error());
  Survival survival;
  const auto outcome =
      change_keys(target, survival, [&](kv::Store<>& store, Keys& keys) -> Result<std::string> {
        HF_RETURN_IF_ERROR(with_room(store, [&] {
          return keys.merge(record->key, kv::MergeFunction::kAppend, record->value);
        }));
        return std::string("appended");
      });
  if (!outcome) return report_error(target, outcome.error());
  print_outcome(target, *outcome, survival);
  return kExitDone;
}

int kv_merge(const KvTarget& target, const MergeArguments& arguments) {
  const auto key = argument_bytes("KEY", arguments.key, arguments.key_encoding, kv::kMaxKeyBytes);
  if (!key) return report_error(target, key.error());
  Survival survival;
  const auto outcome = change_keys(target, survival, [&](kv::Store<>& store, Keys& keys) {
    switch (arguments.function) {
      case kv::MergeFunction::kAddDouble: return merge_number<double>(store, keys, *key, arguments);
      case kv::MergeFunction::kMinUnsigned:
      case kv::MergeFunction::kMaxUnsigned:
      case kv::MergeFunction::kOr: return merge_number<std::uint64_t>(store, keys, *key, arguments);
      default: return merge_number<std::int64_t>(store, keys, *key, arguments);
    }
  });
  if (!outcome) return report_error(target, outcome.error());
  print_outcome(target, *outcome, survival);
  return kExitDone;
}

int kv_put(const KvTarget& target, const PutArguments& arguments) {
  const auto record = record_of(arguments);
  if (!record) return report_error(target, record.error());
  const auto& [key, value] = *record;

  auto store = open_for_writing(target.spec, access_to_put(target), false);
  if (!store) return report_error(target, store.error());
  if (store->recovery().created) note("created store {}\n", target.spec);
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  std::string_view outcome = "inserted";
  if (arguments.if_absent) {
    const auto put = with_room(*store, [&] { return keys->put_if_absent(key, value); });
    if (!put && put.code() != Errc::kAlreadyExists) return report_error(target, put.error());
    if (!put) outcome = "exists";
  } else {
    const auto put = with_room(*store, [&] { return keys->put(key, value); });
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
    complain(kKvCommand,
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
  auto store = open_for_reading(target, &typed);
  if (!store) return report_error(target, store.error());
  const bool damaged = warn_of_damage(kKvCommand, target.spec, *store);
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
  bool typed = false;
  auto store = open_for_writing(target.spec, RegionAccess::kOpen, false, &typed);
  if (!store) return report_error(target, store.error());
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  const auto erased = with_room(*store, [&] { return keys->erase(*key); });
  if (!erased) return report_error(target, erased.error());
  const auto survival = settle(*store);
  if (!survival) return report_error(target, survival.error());
  if (!*erased && !arguments.if_exists) return report_miss(target, *key, false, typed);
  print_outcome(target, *erased ? "erased" : "absent", *survival);
  return kExitDone;
}

namespace {

// Prints records, one per line.
class RecordLines {
 public:
  // On a terminal a record is one line; a value too wide for it is cut, which "…" shows.
  RecordLines(const KvTarget& target, const ListArguments& arguments, bool typed)
      : json_(target.json),
        arguments_(arguments),
        encoding_(typed && arguments.output == Encoding::kText ? Encoding::kHex : arguments.output),
        columns_(is_terminal(stdout) ? terminal_columns() : 0) {}

  // False: that was the last one.
  bool print(std::string_view key, std::string_view value) {
    line_.clear();
    if (json_)
      compose_json(key, value);
    else
      compose_text(key, value);
    line_ += '\n';
    standard_output().write(line_);
    ++printed_;
    return standard_output().open() && (arguments_.limit == 0 || printed_ < arguments_.limit);
  }

 private:
  std::string shown(std::string_view bytes) const {
    return encoding_ == Encoding::kText ? visible(bytes) : encode(bytes, encoding_);
  }
  void compose_json(std::string_view key, std::string_view value) {
    line_ += '{';
    append_json_member(line_, "key", key);
    if (!arguments_.keys_only) {
      line_ += ',';
      append_json_member(line_, "value", value);
    }
    line_ += '}';
  }
  void compose_text(std::string_view key, std::string_view value) {
    line_ += shown(key);
    if (arguments_.keys_only) return;
    line_ += '\t';
    const std::size_t room = columns_ > line_.size() + 10 ? columns_ - line_.size() - 10 : 10;
    const bool cut = columns_ != 0 && value.size() > room;
    line_ += shown(cut ? value.substr(0, room) : value);
    if (cut) line_ += "…";
  }

  const bool json_;
  const ListArguments& arguments_;
  const Encoding encoding_;
  const std::size_t columns_;
  std::uint64_t printed_ = 0;
  std::string line_;
};

struct KeyRange {
  std::string from, prefix;       // Empty: no bound.
  std::optional<std::string> to;  // Absent: no bound. No key is below the empty one.
};

// From `from` on and below `to`, or from the end down.
Status scan(kv::Cursor& cursor, const KeyRange& range, bool reverse, RecordLines& lines) {
  const std::string& prefix = range.prefix;
  if (reverse) {
    if (cursor.last(prefix) && range.to && cursor.key() >= *range.to) cursor.seek_below(*range.to);
  } else if (range.from > prefix) {
    cursor.seek(range.from);
  } else {
    cursor.first(prefix);
  }
  for (; cursor && cursor.key().starts_with(prefix); reverse ? cursor.prev() : cursor.next()) {
    if (reverse ? cursor.key() < range.from : range.to && cursor.key() >= *range.to) break;
    if (!lines.print(cursor.key(), cursor.value())) break;
  }
  return cursor.status();
}

}  // namespace

int kv_list(const KvTarget& target, const ListArguments& arguments) {
  const auto prefix = option_bytes("--prefix", arguments.prefix, arguments.key_encoding);
  if (!prefix) return report_error(target, prefix.error());
  bool typed = false;
  auto store = open_for_reading(target, &typed);
  if (!store) return report_error(target, store.error());
  const bool damaged = warn_of_damage(kKvCommand, target.spec, *store);
  auto keys = Keys::of(*store, target.space, target.ordered);
  if (!keys) return report_error(target, keys.error());
  RecordLines lines(target, arguments, typed);
  const Status walked =
      keys->for_each([&](std::string_view key, std::string_view value, kv::Version) {
        return !key.starts_with(*prefix) || lines.print(key, value);
      });
  const Status written = standard_output().finish();
  if (!walked) return report_error(target, walked.error());
  if (!written) return report_error(target, written.error());
  return damaged ? kExitFailed : kExitDone;
}

int kv_scan(const KvTarget& target, const ScanArguments& arguments) {
  KeyRange range;
  for (const auto& [name, text, bytes] :
       {std::tuple{"--from", &arguments.from, &range.from},
        std::tuple{"--prefix", &arguments.prefix, &range.prefix}}) {
    auto decoded = option_bytes(name, *text, arguments.key_encoding);
    if (!decoded) return report_error(target, decoded.error());
    *bytes = std::move(*decoded);
  }
  if (arguments.to) {
    auto decoded = option_bytes("--to", *arguments.to, arguments.key_encoding);
    if (!decoded) return report_error(target, decoded.error());
    range.to = std::move(*decoded);
  }
  if (range.to && range.from >= *range.to) {
    return refuse(
        target,
        fmt::format("no key lies between --from '{}' and --to '{}'", visible(range.from),
                    visible(*range.to)),
        range.to->empty()
            ? "No key is below the empty one. Leave --to out for all keys to the last."
            : "--from has to be below --to; --reverse turns the order round, not the bounds.");
  }
  bool typed = false;
  auto store = open_for_reading(target, &typed, /*order=*/true);
  if (!store) return report_error(target, store.error());
  const bool damaged = warn_of_damage(kKvCommand, target.spec, *store);
  const auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  if (const auto count = keys->count())
    note("put {} in order for this scan\n", counted(*count, "key"));
  auto cursor = keys->cursor();
  if (!cursor) return report_error(target, cursor.error());
  RecordLines lines(target, arguments, typed);
  const Status walked = scan(*cursor, range, arguments.reverse, lines);
  const Status written = standard_output().finish();
  if (!walked) return report_error(target, walked.error());
  if (!written) return report_error(target, written.error());
  return damaged ? kExitFailed : kExitDone;
}

int kv_count(const KvTarget& target) {
  bool typed = false;
  auto store = open_for_reading(target, &typed);
  if (!store) return report_error(target, store.error());
  const bool damaged = warn_of_damage(kKvCommand, target.spec, *store);
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  const auto records = keys->count();
  if (!records) return report_error(target, records.error());
  if (target.json) {
    out("{{\"records\":{}}}\n", *records);
  } else {
    out("{}\n", *records);
  }
  return damaged ? kExitFailed : kExitDone;
}

}  // namespace holdfast::tools
