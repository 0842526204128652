#include <holdfast/olap/bad_lines.hpp>

#include <utility>

namespace holdfast::olap {

void BadLines::add(std::uint64_t number, std::string what) {
  ++count_;
  if (first_.size() < kShown) first_.push_back({number, std::move(what)});
}

void BadLines::add(const BadLines& piece, std::uint64_t lines_before) {
  count_ += piece.count_;
  for (const auto& line : piece.first_) {
    if (first_.size() < kShown) first_.push_back({lines_before + line.number, line.what});
  }
}

Status BadLines::status(const std::string& path) const {
  if (count_ == 0) return {};
  std::string text = std::to_string(count_) + (count_ == 1 ? " bad line in " : " bad lines in ") +
                     path + "; nothing was loaded";
  for (const auto& line : first_)
    text += "\n" + path + ":" + std::to_string(line.number) + ": " + line.what;
  if (count_ > first_.size()) text += "\n… and " + std::to_string(count_ - first_.size()) + " more";
  return Error{Errc::kCorrupt, std::move(text)};
}

}  // namespace holdfast::olap
