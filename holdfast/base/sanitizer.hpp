// sanitizer.hpp: what code has to know of the sanitizer it is built with.
//
// HOLDFAST_TSAN: ThreadSanitizer. It knows neither fences nor that a vector load reads whole words.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define HOLDFAST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_TSAN 1
#endif
#endif
