#include "graph_source.hpp"

#include <holdfast/stream/bytes.hpp>

namespace holdfast::stream::graph {

Result<std::unique_ptr<GraphSource>> GraphSource::open(const sql::Plan& plan) {
  std::vector<Part> parts;
  for (const auto& node : plan.nodes) {
    const auto* scan = std::get_if<sql::Scan>(&node.what);
    if (scan == nullptr) continue;
    HF_ASSIGN_OR_RETURN(auto source, open_source(*scan->table));
    parts.push_back({std::move(source), scan->looked_up});
  }
  return std::make_unique<GraphSource>(std::move(parts));
}

std::string GraphSource::position() const {
  ByteWriter bytes;
  for (const auto& part : parts_)
    bytes.text(part.looked_up ? "" : part.source->position());
  return bytes.take();
}

Status GraphSource::seek(std::string_view position) {
  ByteReader bytes(position);
  for (auto& part : parts_) {
    const auto own = bytes.text();
    if (!bytes.ok()) return Error{Errc::kCorrupt, "the checkpoint lacks the place in a table"};
    if (!part.looked_up) HF_RETURN_IF_ERROR(part.source->seek(own));
  }
  return {};
}

Status GraphSource::checkpointed() {
  for (auto& part : parts_) {
    if (!part.looked_up) HF_RETURN_IF_ERROR(part.source->checkpointed());
  }
  return {};
}

std::string GraphSource::place() const {
  std::string text;
  for (const auto& part : parts_)
    text += (text.empty() ? "" : "; ") + part.source->place();
  return text;
}

std::uint64_t GraphSource::malformed() const {
  std::uint64_t count = 0;
  for (const auto& part : parts_)
    count += part.source->malformed();
  return count;
}

std::vector<std::string> GraphSource::malformed_samples() const {
  std::vector<std::string> all;
  for (const auto& part : parts_) {
    for (auto& sample : part.source->malformed_samples())
      all.push_back(std::move(sample));
  }
  return all;
}

}  // namespace holdfast::stream::graph
