#include <holdfast/yaml/diagnostics.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::yaml {

void Diagnostics::add(const std::string& file, Position position, std::string message) {
  Diagnostic diagnostic{file, position, std::move(message)};
  if (std::find(all_.begin(), all_.end(), diagnostic) == all_.end())
    all_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  auto result = all_;
  std::stable_sort(result.begin(), result.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.file, a.position) < std::tie(b.file, b.position);
  });
  return result;
}

std::string Diagnostics::text(std::size_t lines_max) const {
  std::string text;
  std::size_t lines = 0;
  for (const auto& [file, position, message] : sorted()) {
    if (lines++ == lines_max) {
      text += "and " + std::to_string(all_.size() - lines_max) + " more\n";
      break;
    }
    text += file;
    if (position.line > 0)
      text += ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
    text += ": " + message + "\n";
  }
  return text;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const auto nearest = closest(word, candidates);
  if (!nearest.empty()) return "; did you mean \"" + std::string(nearest) + "\"?";
  std::string words;
  for (const auto candidate : candidates)
    words += (words.empty() ? "; there are " : ", ") + std::string(candidate);
  return words;
}

std::string in_quotes(std::string_view text) { return "\"" + escape(text, 80) + "\""; }

}  // namespace holdfast::yaml
