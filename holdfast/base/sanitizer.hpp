// sanitizer.hpp: what code and tests have to know of the sanitizer they are built with.
//
// HF_TSAN       ThreadSanitizer. It knows neither fences nor that a vector load reads whole words.
// HF_SANITIZED  That, or AddressSanitizer: slower, and with shadow memory of its own.
#pragma once

#if defined(__has_feature)  // clang
#if __has_feature(thread_sanitizer)
#define HF_TSAN 1
#endif
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HF_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)  // g++
#define HF_TSAN 1
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HF_SANITIZED 1
#endif
