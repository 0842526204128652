// graph_source.hpp: the tables of a plan as one source, whose position is that of all of them.
//
// Threads  One at a time.   Errors  Those of the sources.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream::graph {

class GraphSource : public Source {
 public:
  struct Part {
    std::unique_ptr<Source> source;
    bool looked_up = false;  // It is read from its beginning by each run.
  };

  // Opens the tables that `plan` scans, in the order of its nodes.
  static Result<std::unique_ptr<GraphSource>> open(const sql::Plan& plan);
  explicit GraphSource(std::vector<Part> parts) : parts_(std::move(parts)) {}

  Source& part(std::size_t number) { return *parts_[number].source; }
  // Rows are taken of the parts.
  Result<bool> next(sql::Row&) override { return false; }
  std::string position() const override;
  Status seek(std::string_view position) override;
  Status checkpointed() override;
  std::string place() const override;
  std::uint64_t malformed() const override;
  std::vector<std::string> malformed_samples() const override;

 private:
  std::vector<Part> parts_;
};

}  // namespace holdfast::stream::graph
