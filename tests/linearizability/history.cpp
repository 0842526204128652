#include "history.hpp"

namespace holdfast::linearizability {

const char* name(Kind kind) {
  switch (kind) {
    case Kind::kGet: return "get";
    case Kind::kGetMany: return "get_many";
    case Kind::kSnapshot: return "snapshot";
    case Kind::kRange: return "range";
    case Kind::kPut: return "put";
    case Kind::kPutIfAbsent: return "put_if_absent";
    case Kind::kCompareAndPut: return "compare_and_put";
    case Kind::kUpdate: return "update";
    case Kind::kUpdateWord: return "update_word";
    case Kind::kErase: return "erase";
    case Kind::kBatch: return "batch";
    case Kind::kPipelinedGet: return "pipelined_get";
    case Kind::kPipelinedPut: return "pipelined_put";
    case Kind::kPipelinedUpdateWord: return "pipelined_update_word";
    case Kind::kPipelinedErase: return "pipelined_erase";
    case Kind::kCount: break;
  }
  return "none";
}

void print_json_line(std::FILE* out, std::uint64_t history, std::uint32_t client,
                     const Entry& entry, std::uint64_t pending_until_ns) {
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  const auto boolean = [](bool b) { return std::string{b ? "true" : "false"}; };
  const std::uint64_t returned = entry.returned_ns.load();
  std::string line = "{\"history\":" + number(history) + ",\"client\":" + number(client) +
                     ",\"kind\":\"" + name(entry.kind) +
                     "\",\"call\":" + number(entry.called_ns.load()) +
                     ",\"return\":" + number(returned != 0 ? returned : pending_until_ns) +
                     ",\"pending\":" + boolean(returned == 0) +
                     ",\"expected\":" + number(entry.expected) + ",\"members\":[";
  for (std::uint32_t i = 0; i < entry.key_count; ++i) {
    line += std::string{i == 0 ? "" : ","} + "{\"key\":" + number(entry.keys[i]) +
            ",\"erase\":" + boolean(entry.erases[i] != 0) + ",\"id\":" + number(entry.ids[i]);
    if (returned != 0) {
      const Seen& seen = entry.seen[i];
      line += ",\"present\":" + boolean(seen.present != 0) + ",\"word\":" + number(seen.word) +
              ",\"base\":" + number(seen.base) + ",\"version\":" + number(seen.version);
    }
    line += "}";
  }
  line += "]";
  if (returned != 0) {
    line += ",\"succeeded\":" + boolean(entry.succeeded != 0) +
            ",\"overwrote\":" + boolean(entry.overwrote != 0) +
            ",\"version\":" + number(entry.version);
  }
  std::fprintf(out, "%s}\n", line.c_str());
}

}  // namespace holdfast::linearizability
