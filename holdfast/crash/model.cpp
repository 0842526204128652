#include <holdfast/crash/model.hpp>

#include <string>
#include <string_view>

#include <holdfast/crash/medium.hpp>

namespace holdfast::crash {

std::string to_string(const std::source_location& site) {
  std::string_view file = site.file_name();
  if (file.starts_with(HF_SOURCE_DIR)) {
    file.remove_prefix(std::string_view(HF_SOURCE_DIR).size());
  }
  while (
      file.starts_with("../")) {  // The compiler was given paths relative to its build directory.
    file.remove_prefix(3);
  }
  if (file.starts_with("./")) file.remove_prefix(2);
  return std::string(file) + ":" + std::to_string(site.line());
}

std::span<const Model> all_models() {
  static constexpr Model models[] = {kLine, kLineStreaming, kByte, kPage};
  return models;
}

std::string name(const Model& model) {
  switch (model.granularity) {
    case Granularity::kLine: return model.nt_evicts ? "line_streaming" : "line";
    case Granularity::kByte: return "byte";
    case Granularity::kPage: return "page";
    case Granularity::kNone: break;
  }
  return "none";
}

std::string name(PointKind kind) {
  switch (kind) {
    case PointKind::kFence: return "before the fence";
    case PointKind::kSync: return "before the sync";
    case PointKind::kBeforeResize: return "before grow or shrink";
    case PointKind::kAfterResize: return "after grow or shrink";
    case PointKind::kStore: return "after a store";
    case PointKind::kAcknowledge: return "after the acknowledgement";
    case PointKind::kRecovered: return "after the recovery";
    case PointKind::kEnd: return "after the workload";
  }
  return "unknown";
}

StepCounts StepCounts::operator-(const StepCounts& earlier) const {
  return {fences - earlier.fences,
          lines_written_back - earlier.lines_written_back,
          lines_streamed - earlier.lines_streamed,
          syncs - earlier.syncs,
          redundant_fences - earlier.redundant_fences,
          redundant_write_backs - earlier.redundant_write_backs,
          redundant_syncs - earlier.redundant_syncs};
}

StepCounts& StepCounts::operator+=(const StepCounts& other) {
  fences += other.fences;
  lines_written_back += other.lines_written_back;
  lines_streamed += other.lines_streamed;
  syncs += other.syncs;
  redundant_fences += other.redundant_fences;
  redundant_write_backs += other.redundant_write_backs;
  redundant_syncs += other.redundant_syncs;
  return *this;
}

}  // namespace holdfast::crash
