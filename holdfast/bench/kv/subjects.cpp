#include <holdfast/bench/kv/subjects.hpp>

#include <holdfast/bench/durability.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::kv {
namespace {

const char* durability_on(const RegionReport& report, Promise promise) {
  switch (report.granularity) {
    case Granularity::kByte:
    case Granularity::kLine: return durability_of_stores(report);
    case Granularity::kPage: return promise == Promise::kPower ? "power" : "process";
    case Granularity::kNone: return report.file_system.empty() ? "none" : "process";
  }
  return "none";
}

}  // namespace

std::vector<SubjectKind> subject_kinds(const Context& context) {
  return {holdfast_kind(),
          holdfast_ordered_kind(),
          holdfast_typed_kind(context.shape),
          holdfast_pipeline_kind(),
          floor_kind(),
          peer_kind("rocksdb", context.shape),
          peer_kind("lmdb", context.shape),
          peer_kind("leveldb", context.shape),
          peer_kind("tbb", context.shape),
          map_kind(context.shape)};
}

SubjectKind peer_kind(const std::string& name, const Shape& shape) {
  const auto kind = modules::function<SubjectKind(const Shape&)>(name);
  return kind ? (*kind)(shape) : missing_kind(name, kind.error().detail);
}

SubjectKind missing_kind(const std::string& name, const std::string& why) {
  SubjectKind kind;
  kind.name = name;
  kind.missing = why;
  return kind;
}

results::Fields region_facts(const RegionReport& report, Promise promise) {
  results::Fields facts;
  facts.set("durability", durability_on(report, promise));
  facts.set("region", report.spec);
  facts.set("region_kind", report.kind);
  facts.set("region_file_system", report.file_system);
  facts.set("region_granularity", name(report.granularity));
  facts.set("region_granularity_source", report.granularity_source);
  facts.set("region_mapping", report.mapping);
  facts.set("region_page_bytes", report.page_bytes);
  facts.set("region_page_reason", report.page_reason);
  facts.set("region_write_back", name(report.write_back));
  facts.set("region_nt_evicts", report.nt_evicts);
  return facts;
}

}  // namespace holdfast::bench::kv
