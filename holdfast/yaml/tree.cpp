#include <holdfast/yaml/tree.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <holdfast/base/format.hpp>

namespace holdfast::yaml {
namespace {

Position position_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<unsigned>(mark.line) + 1, static_cast<unsigned>(mark.column) + 1};
}

// Thrown through the library to end a parse that would grow beyond its bounds; caught below.
struct Stop {
  Position position;
  std::string message;
};

// Builds the tree from the events of the library: it has a tree of its own, but that one copies
// aliases when it is walked and forgets the places of keys.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, Diagnostics& diagnostics)
      : file_(file), diagnostics_(diagnostics) {}

  Pointer root() const { return root_ ? root_ : std::make_shared<Node>(); }
  // Of the innermost list or map that has not ended yet; line 0: there is none.
  Position innermost_open() const {
    return levels_.empty() ? Position() : levels_.back().node->position;
  }
  // Where the last text begins.
  const YAML::Mark& last_scalar() const { return last_scalar_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    place(made(Node::Kind::kNull, mark, anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = made(Node::Kind::kScalar, mark, anchor);
    node->text = value;
    last_scalar_ = mark;
    place(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || is_open(found->second)) {
      throw Stop{position_of(mark), "an alias must name an anchor that is complete before it"};
    }
    place(found->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(made(Node::Kind::kList, mark, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(made(Node::Kind::kMap, mark, anchor));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    std::shared_ptr<Node> node;
    bool has_key = false;  // Of a map: the next event is a value.
    std::string key = {};
    Position key_position = {};
    bool key_counts = true;  // False for a duplicate or one that is no text: its value is dropped.
    std::set<std::string> keys = {};
  };

  std::shared_ptr<Node> made(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    const auto position = position_of(mark);
    if (++nodes_ > kNodesMax)
      throw Stop{position, "more than " + std::to_string(kNodesMax) + " values in one file"};
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->position = position;
    if (anchor != 0) anchors_[anchor] = node;
    return node;
  }

  bool is_open(const Pointer& node) const {
    for (const auto& level : levels_) {
      if (level.node == node) return true;
    }
    return false;
  }

  void open(std::shared_ptr<Node> node) {
    if (levels_.size() >= kDepthMax)
      throw Stop{node->position, "nested deeper than " + std::to_string(kDepthMax) + " levels"};
    levels_.push_back({.node = std::move(node)});
  }

  void close() {
    auto node = std::move(levels_.back().node);
    levels_.pop_back();
    place(std::move(node));
  }

  void place(Pointer node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    auto& level = levels_.back();
    if (level.node->kind == Node::Kind::kList) {
      level.node->items.push_back(std::move(node));
    } else if (!level.has_key) {
      take_key(level, *node);
    } else {
      if (level.key_counts)
        level.node->entries.push_back({level.key, level.key_position, std::move(node)});
      level.has_key = false;
    }
  }

  void take_key(Level& level, const Node& key) {
    level.has_key = true;
    level.key = key.text;
    level.key_position = key.position;
    level.key_counts = false;
    if (key.kind != Node::Kind::kScalar) {
      diagnostics_.add(file_, key.position,
                       "a key must be a text, this is " + std::string(name(key.kind)));
    } else if (!level.keys.insert(key.text).second) {
      const auto* first = level.node->find(key.text);
      diagnostics_.add(file_, key.position,
                       in_quotes(key.text) + " is there twice, first in line " +
                           std::to_string(first == nullptr ? 0 : first->key_position.line) +
                           "; remove one of them");
    } else {
      level.key_counts = true;
    }
    level.node->incomplete = level.node->incomplete || !level.key_counts;
  }

  const std::string& file_;
  Diagnostics& diagnostics_;
  Pointer root_;
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, Pointer> anchors_;
  std::size_t nodes_ = 0;
  YAML::Mark last_scalar_ = YAML::Mark::null_mark();
};

// The library takes the end of a file for the quote that is missing: `x: "abc` and all lines after
// it are then one text. Only the last text of a file can be such a one.
bool ends_within_quotes(const std::string& text, const YAML::Mark& last_scalar) {
  if (last_scalar.is_null()) return false;
  // The library does not count a byte order mark.
  auto at = static_cast<std::size_t>(last_scalar.pos) +
            (text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return false;
  const auto quote = text[at];
  while (++at < text.size()) {
    if (text[at] == '\\' && quote == '"')
      ++at;
    else if (text[at] == quote && quote == '\'' && at + 1 < text.size() && text[at + 1] == quote)
      ++at;
    else if (text[at] == quote)
      return false;
  }
  return true;
}

// What people do that makes the library say it. Empty where nothing is known.
std::string_view cause_of(std::string_view message) {
  struct Cause {
    std::string_view message, cause;
  };
  static constexpr Cause kCauses[] = {
      {"end of map not found", "; a line is indented unlike those it belongs to"},
      {"end of sequence not found", "; a line is indented unlike those it belongs to"},
      {"illegal map value", "; a text with \": \" in it needs quotes, and a key its indentation"},
      {"illegal block entry", "; a list with - cannot begin here"}};
  for (const auto& known : kCauses) {
    if (known.message == message) return known.cause;
  }
  return {};
}

// The first line up to `last` that is indented with a tab, from 1; 0: none.
unsigned line_with_tab(const std::string& text, unsigned last) {
  std::istringstream lines(text);
  std::string line;
  for (unsigned number = 1; number <= last && std::getline(lines, line); ++number) {
    const auto first = line.find_first_not_of(' ');
    if (first != std::string::npos && line[first] == '\t') return number;
  }
  return 0;
}

// The longest line up to `last`.
std::size_t longest_line(const std::string& text, unsigned last) {
  std::istringstream lines(text);
  std::string line;
  std::size_t longest = 0;
  for (unsigned number = 1; number <= last && std::getline(lines, line); ++number)
    longest = std::max(longest, line.size());
  return longest;
}

// `open`: where the innermost list or map begins that was not closed.
Diagnostic explain(const std::string& text, const std::string& file, const YAML::Exception& error,
                   Position open) {
  const auto position = position_of(error.mark);
  if (const auto line = line_with_tab(text, position.line); line > 0)
    return {file, {line, 1}, "is indented with a tab; YAML wants spaces"};
  if (error.msg == "end of map flow not found" && open.line > 0)
    return {file, open, "is not YAML: a { is not closed"};
  if (error.msg == "end of sequence flow not found" && open.line > 0)
    return {file, open, "is not YAML: a [ is not closed"};
  constexpr std::size_t kKeyBytesMax = 1024;  // Of YAML.
  if (error.msg == "illegal map value" && longest_line(text, position.line) > kKeyBytesMax)
    return {file, position, "is not YAML: a key is longer than the 1024 letters that YAML allows"};
  return {file, position, "is not YAML: " + error.msg + std::string(cause_of(error.msg))};
}

}  // namespace

const Entry* Node::find(std::string_view key) const {
  for (const auto& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::string_view name(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kScalar: return "a text";
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "a map";
  }
  return "unknown";
}

Pointer parse(const std::string& text, const std::string& file, Diagnostics& diagnostics) {
  TreeBuilder builder(file, diagnostics);
  if (text.size() > kBytesMax) {
    diagnostics.add(file, {},
                    "holds more than " + format_bytes(kBytesMax) + ": this is no workload file");
    return builder.root();
  }
  if (!is_valid_utf8(text)) {
    diagnostics.add(file, {}, "is not UTF-8 text");
    return builder.root();
  }
  if (const auto nul = text.find('\0'); nul != std::string::npos) {
    const auto line = static_cast<unsigned>(
                          std::count(text.begin(), text.begin() + static_cast<long>(nul), '\n')) +
                      1;
    diagnostics.add(file, {line, 1}, "has a byte of value 0 in it: this is no text file");
    return builder.root();
  }
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      if (ends_within_quotes(text, builder.last_scalar())) {
        diagnostics.add(file, position_of(builder.last_scalar()),
                        "a text begins with a quote and is not closed by one");
        return std::make_shared<Node>();
      }
      TreeBuilder second(file, diagnostics);
      if (parser.HandleNextDocument(second)) {
        diagnostics.add(
            file, second.root()->position,
            "a second document; put all benchmarks of a file into one (remove the ---)");
      }
    }
  } catch (const Stop& stop) {
    diagnostics.add(file, stop.position, stop.message);
  } catch (const YAML::Exception& error) {
    const auto explained = explain(text, file, error, builder.innermost_open());
    diagnostics.add(explained.file, explained.position, explained.message);
  } catch (const std::exception& error) {
    // The library lets some of the standard's own through (numbers in escapes and tags).
    diagnostics.add(file, {}, std::string("is not YAML: ") + error.what());
  }
  return builder.root();
}

}  // namespace holdfast::yaml
