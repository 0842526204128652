// histogram_print: values, one per line on standard input, through Histogram; prints what it
// reports. For histogram_cross_check.py.
#include <cstdint>
#include <cstdio>
#include <iostream>

#include <holdfast/base/histogram.hpp>

int main() {
  holdfast::Histogram histogram;
  std::uint64_t value = 0;
  while (std::cin >> value)
    histogram.record(value);
  std::printf("count %llu\nmin %llu\nmax %llu\nmean %.6f\n",
              static_cast<unsigned long long>(histogram.count()),
              static_cast<unsigned long long>(histogram.min()),
              static_cast<unsigned long long>(histogram.max()), histogram.mean());
  for (const double percent : {1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99}) {
    std::printf("%g %llu\n", percent,
                static_cast<unsigned long long>(histogram.percentile(percent)));
  }
}
