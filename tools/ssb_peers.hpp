// ssb_peers.hpp: ssb_peers.py, as it is, in the command.
#pragma once

#include <string_view>

namespace holdfast::tools {

extern const std::string_view kSsbPeers;

}  // namespace holdfast::tools
