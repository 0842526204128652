#include <holdfast/memory/persist.hpp>

#include <cstring>

namespace holdfast {

void copy_words(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void stream_lines(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

}  // namespace holdfast
