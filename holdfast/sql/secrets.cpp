#include "secrets.hpp"

#include <algorithm>
#include <array>

namespace holdfast::sql {

bool is_secret(std::string_view option) {
  constexpr std::array<std::string_view, 6> kWords = {"password", "secret",  "token",
                                                      "jaas",     "ssl.key", "keystore.key"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return option.find(word) != std::string_view::npos;
  });
}

// 'name' = 'value', in turn; a value ends at "', '" or "')".
std::string without_secrets(std::string_view plan_text) {
  constexpr std::string_view kIs = "' = '";
  std::string text;
  for (;;) {
    const auto is = plan_text.find(kIs);
    if (is == std::string_view::npos) break;
    const auto value = is + kIs.size();
    const auto begin = plan_text.substr(0, is).rfind('\'');
    const auto end = std::min(plan_text.find("', '", value), plan_text.find("')", value));
    text += plan_text.substr(0, value);
    plan_text.remove_prefix(value);
    if (begin == std::string_view::npos || end == std::string_view::npos) continue;
    const auto name = std::string_view(text).substr(text.size() - (value - begin - 1));
    if (!is_secret(name.substr(0, name.size() - kIs.size()))) continue;
    text += kSecret;
    plan_text.remove_prefix(end - value);
  }
  return text + std::string(plan_text);
}

}  // namespace holdfast::sql
