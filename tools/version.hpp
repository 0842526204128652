// version.hpp: what `holdfast --version` says. Apart from main.cpp, since each commit changes it.
#pragma once

#include <string>

namespace holdfast::tools {

// Version, revision, compiler, and what of the peers is there: what a report of a fault must say.
std::string version_text();

}  // namespace holdfast::tools
