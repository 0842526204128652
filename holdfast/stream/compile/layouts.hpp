// layouts.hpp: the records that a compiled query reads and writes.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/record.hpp>

namespace holdfast::stream::compile {

// Errors: kUnsupported: it has more than RecordLayout::kColumnsMax columns.
Result<RecordLayout> layout_of(const sql::Table& table);
// The layout of the rows for the sink.
Result<RecordLayout> layout_of_result(const sql::Plan& plan);

}  // namespace holdfast::stream::compile
