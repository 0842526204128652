#include <holdfast/bench/index/mix.hpp>

#include <charconv>
#include <utility>

namespace holdfast::bench::index {

Result<Mix> Mix::parse(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return Error{Errc::kInvalidOption,
                 "--mix '" + std::string(text) + "': " + std::string(what) +
                     "; find, update and insert have a whole number of "
                     "percent each, together 100: find:70,update:20,insert:10"};
  };
  Mix mix;
  unsigned sum = 0;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    const auto part = rest.substr(0, comma);
    const auto colon = part.find(':');
    const auto name = part.substr(0, colon);
    unsigned* const share = name == "find"     ? &mix.find
                            : name == "update" ? &mix.update
                            : name == "insert" ? &mix.insert
                                               : nullptr;
    if (share == nullptr) return wrong("'" + std::string(name) + "' is no operation");
    if (*share != 0) return wrong("'" + std::string(name) + "' is given twice");
    const auto number = colon == part.npos ? std::string_view{} : part.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), *share);
    if (error != std::errc() || end != number.data() + number.size() || *share < 1 || *share > 100)
      return wrong("'" + std::string(part) + "' has no share of 1 to 100");
    sum += *share;
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (sum != 100) return wrong("the shares are " + std::to_string(sum) + " together");
  return mix;
}

std::string Mix::name() const {
  std::string name;
  for (const auto& [operation, share] :
       {std::pair{"find", find}, {"update", update}, {"insert", insert}}) {
    if (share != 0)
      name += (name.empty() ? "" : "_") + std::string(operation) + "_" + std::to_string(share);
  }
  return name;
}

}  // namespace holdfast::bench::index
