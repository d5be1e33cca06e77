#include "common/base/http_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HttpProxy, ReadsHostPortAndCredentials) {
  EXPECT_EQ(ParseHttpProxy("http://proxy.example.org:3128")->ToUri(), "http://proxy.example.org:3128");
  EXPECT_EQ(ParseHttpProxy("HTTP://proxy:3128/")->ToUri(), "http://proxy:3128");
  EXPECT_EQ(ParseHttpProxy("proxy:3128")->ToUri(), "http://proxy:3128");
  EXPECT_EQ(ParseHttpProxy("[2001:db8::7]:3128")->ToUri(), "http://[2001:db8::7]:3128");
  const auto proxy = ParseHttpProxy("http://ann:s3.cret_~-@192.0.2.7:3128");
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  EXPECT_EQ(proxy->credentials, "ann:s3.cret_~-");
  EXPECT_EQ(proxy->address.host, "192.0.2.7");
  EXPECT_EQ(proxy->ToUri(), "http://ann:s3.cret_~-@192.0.2.7:3128");
}

TEST(HttpProxy, RefusesEverythingElseWithoutRepeatingAPassword) {
  for (const char* wrong :
       {"", "http://", "proxy", "proxy:", "proxy:0", "proxy:70000", "https://ann:s3cret@proxy:1", "socks5://proxy:1",
        "http://ann@proxy:1", "http://:s3cret@proxy:1", "http://ann:s3cret%40@proxy:1", "http://ann:s3:cret@proxy:1",
        "http://ann:s3cret\r\nX: y@proxy:1", "http://ann:s3cret@proxy", "http://proxy:1/path", "http://proxy:1?x"}) {
    const auto proxy = ParseHttpProxy(wrong);
    EXPECT_EQ(proxy.status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(proxy.status().message()), Not(HasSubstr("s3cret"))) << wrong;
  }
}

}  // namespace
}  // namespace blink
