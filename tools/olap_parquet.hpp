// olap_parquet.hpp: the script olap_parquet.py, which the command contains.
#pragma once

#include <string_view>

namespace holdfast::tools {

extern const std::string_view kOlapParquet;

}  // namespace holdfast::tools
