// bench_price_command.hpp: `holdfast bench price PRICES [SYSTEM=RESULT…]`: what performance costs.
#pragma once

#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/results/price.hpp>

namespace CLI {
class App;
}

namespace holdfast::tools {

void add_bench_price_command(CLI::App& bench, int& exit_code);

// The table of the prices in the file and the results, "SYSTEM=PATH" or, where there is one system,
// "PATH". Errors: as the files', and kInvalidOption.
Result<results::PriceTable> read_price_table(const std::string& prices,
                                             const std::vector<std::string>& results);

}  // namespace holdfast::tools
