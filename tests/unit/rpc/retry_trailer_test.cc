#include "common/rpc/retry_trailer.h"

#include <gtest/gtest.h>

namespace blink {
namespace {

TEST(ParseRetryWindow, ReadsWhatTheServerWrites) {
  const std::optional<RetryWindow> window = ParseRetryWindow("1500,86400000");
  ASSERT_TRUE(window.has_value());
  EXPECT_EQ(window->min, absl::Milliseconds(1500));
  EXPECT_EQ(window->max, absl::Hours(24));
}

TEST(ParseRetryWindow, TakesAnythingElseForNoWindow) {
  for (const char* text :
       {"", ",", "1", "1,", ",1", "2,1", "-1,5", "1,2,3", "a,b", "1,86400001", "0,4294967296", "1.5,2", "1;2"}) {
    EXPECT_FALSE(ParseRetryWindow(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace blink
