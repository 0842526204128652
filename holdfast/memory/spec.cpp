#include <holdfast/memory/spec.hpp>

#include <algorithm>
#include <charconv>

namespace holdfast {
namespace {

Error invalid_spec(std::string_view spec, std::string_view what) {
  std::string detail = "region spec \"";
  detail.append(spec).append("\": ").append(what);
  return {Errc::kInvalidOption, std::move(detail)};
}

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

Status parse_option(std::string_view key, std::string_view value, RegionSpec& spec) {
  if (key == "huge") {
    if (value == "2M") return spec.huge = HugePages::k2M, ok_status();
    if (value == "1G") return spec.huge = HugePages::k1G, ok_status();
    if (value == "off") return spec.huge = HugePages::kOff, ok_status();
    return invalid_spec(spec.text, "huge=" + std::string(value) + " is none of 2M, 1G, off");
  }
  if (key == "granularity") {
    for (const auto granularity :
         {Granularity::kNone, Granularity::kPage, Granularity::kLine, Granularity::kByte}) {
      if (value == name(granularity)) return spec.granularity = granularity, ok_status();
    }
    return invalid_spec(spec.text,
                        "granularity=" + std::string(value) + " is none of byte, line, page, none");
  }
  if (key == "nt_evicts") {
    if (value == "on") return spec.nt_evicts = true, ok_status();
    if (value == "off") return spec.nt_evicts = false, ok_status();
    return invalid_spec(spec.text, "nt_evicts=" + std::string(value) + " is neither on nor off");
  }
  return invalid_spec(
      spec.text, "unknown option " + quoted(key) + "; known are huge, granularity and nt_evicts");
}

// "0" or "0,1".
Status parse_nodes(std::string_view list, RegionSpec& spec) {
  const auto* at = list.data();
  const auto* const end = at + list.size();
  for (;;) {
    int node = -1;
    const auto [stop, error] = std::from_chars(at, end, node);
    if (error != std::errc{} || node < 0 || (stop != end && *stop != ',')) {
      return invalid_spec(spec.text,
                          "node:" + std::string(list) +
                              " needs numbers of NUMA nodes, for example node:0 or node:0,1");
    }
    spec.nodes.push_back(node);
    if (stop == end) return {};
    at = stop + 1;
  }
}

Status parse_place(std::string_view place, RegionSpec& spec) {
  if (place.empty()) {
    return invalid_spec(spec.text, "names no place; give dram, node:N or a path");
  }
  if (place.find('\0') != std::string_view::npos) {
    return invalid_spec(spec.text, "holds a NUL byte, which no path can");
  }
  if (place == "dram") return spec.kind = RegionSpec::Kind::kDram, ok_status();
  if (place.starts_with("node:")) {
    return spec.kind = RegionSpec::Kind::kNode, parse_nodes(place.substr(5), spec);
  }
  spec.kind = RegionSpec::Kind::kPath;
  spec.path = place;
  while (spec.path.size() > 1 && spec.path.back() == '/') {
    spec.path.pop_back();
    spec.trailing_slash = true;
  }
  return {};
}

}  // namespace

SpecParts parts_of(std::string_view spec) {
  const auto mark = std::min(spec.rfind('?'), spec.size());
  return {std::string(spec.substr(0, mark)), std::string(spec.substr(mark))};
}

Result<RegionSpec> RegionSpec::parse(std::string_view text) {
  RegionSpec spec;
  spec.text = text;
  const auto parts = parts_of(text);
  HF_RETURN_IF_ERROR(parse_place(parts.place, spec));
  if (parts.options.empty()) return spec;
  auto options = std::string_view(parts.options).substr(1);
  std::vector<std::string_view> given;
  while (true) {
    const auto option = options.substr(0, options.find('&'));
    const auto equals = option.find('=');
    if (equals == std::string_view::npos) {
      return invalid_spec(text, "option " + quoted(option) + " is not of the form key=value");
    }
    const auto key = option.substr(0, equals);
    HF_RETURN_IF_ERROR(parse_option(key, option.substr(equals + 1), spec));
    // Nobody could tell which of the two holds.
    if (std::find(given.begin(), given.end(), key) != given.end())
      return invalid_spec(text, std::string(key) + " is given twice");
    given.push_back(key);
    if (option.size() == options.size()) return spec;
    options.remove_prefix(option.size() + 1);
  }
}

std::string_view name(Granularity granularity) {
  switch (granularity) {
    case Granularity::kNone: return "none";
    case Granularity::kPage: return "page";
    case Granularity::kLine: return "line";
    case Granularity::kByte: return "byte";
  }
  return "unknown";
}

std::string_view name(WriteBackInstruction instruction) {
  switch (instruction) {
    case WriteBackInstruction::kNone: return "none";
    case WriteBackInstruction::kClflush: return "clflush";
    case WriteBackInstruction::kClflushopt: return "clflushopt";
    case WriteBackInstruction::kClwb: return "clwb";
  }
  return "unknown";
}

}  // namespace holdfast
