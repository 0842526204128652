// script.hpp: the scripts of Python, which the library contains.
#pragma once

#include <string_view>

namespace holdfast::stream::foreign {

extern const std::string_view kBoot, kWire, kValues, kAvro, kParquet, kServe;

}  // namespace holdfast::stream::foreign
