// Under which sanitizer a test runs. GCC and clang say it in different ways.
#ifndef BLINK_TESTS_TESTING_SANITIZERS_H_
#define BLINK_TESTS_TESTING_SANITIZERS_H_

#ifndef __has_feature
#define __has_feature(name) 0
#endif

namespace blink {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#endif

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#endif

}  // namespace blink

#endif  // BLINK_TESTS_TESTING_SANITIZERS_H_
