// subjects.hpp: the stores that can be compared, and which of them this build has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/bench/kv/context.hpp>
#include <holdfast/bench/kv/helper_process.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::bench::kv {

template <class Store>
class StoreSubject;

struct SubjectKind {
  std::string name;
  std::string missing;  // Why it is not built; empty if it is.
  std::function<std::unique_ptr<Subject>(const Context&, unsigned repetition, HelperProcess*)> make;
  std::function<Status(const Context&, HelperShared&)> work_until_killed;
  std::function<Status(const Context&, HelperShared&)> grow;
};

// holdfast, holdfast-ordered, holdfast-typed, holdfast-pipeline, floor, rocksdb, lmdb, leveldb,
// tbb, map. The context tells which shape the typed ones are for.
std::vector<SubjectKind> subject_kinds(const Context& context);

SubjectKind holdfast_kind();
SubjectKind holdfast_ordered_kind();
SubjectKind holdfast_pipeline_kind();
SubjectKind holdfast_typed_kind(const Shape& shape);
SubjectKind floor_kind();
// A store whose module is loaded (modules/modules.hpp): rocksdb, lmdb, leveldb, tbb.
SubjectKind peer_kind(const std::string& name, const Shape& shape);
SubjectKind map_kind(const Shape& shape);

template <class Store>
SubjectKind kind_of(const std::string& name) {
  SubjectKind kind;
  kind.name = name;
  kind.make = [name](const Context& context, unsigned repetition,
                     HelperProcess* helper) -> std::unique_ptr<Subject> {
    return std::make_unique<StoreSubject<Store>>(context, name, repetition, helper);
  };
  kind.work_until_killed = [name](const Context& context, HelperShared& shared) {
    return StoreSubject<Store>::work_until_killed(context, name, shared);
  };
  kind.grow = [name](const Context& context, HelperShared& shared) {
    return StoreSubject<Store>::grow(context, name, shared);
  };
  return kind;
}
SubjectKind missing_kind(const std::string& name, const std::string& why);

// What a region really was, and which durability an operation on it has: region, region_kind,
// granularity, mapping, page_bytes, write_back, nt_evicts, durability.
results::Fields region_facts(const RegionReport& report, Promise promise);

}  // namespace holdfast::bench::kv
