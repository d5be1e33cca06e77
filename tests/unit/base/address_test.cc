#include "common/base/address.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& text, AddressUse use = AddressUse::kConnect) {
  const absl::StatusOr<Address> parsed = ParseAddress(text, use);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("'" + text + "' is not HOST:PORT: "));
  return std::string(parsed.status().message());
}

TEST(ParseAddress, TakesNamesAndBothKindsOfAddresses) {
  struct Case {
    const char *text, *host;
    int port;
  };
  for (const Case& expected :
       {Case{"127.0.0.1:7443", "127.0.0.1", 7443}, Case{"aggregator:1", "aggregator", 1},
        Case{"[::1]:65535", "::1", 65535}, Case{"[2001:DB8:0::7]:443", "2001:db8::7", 443},
        Case{"[fe80::1%eth0]:1", "fe80::1%eth0", 1}, Case{"a.example.org.:443", "a.example.org.", 443},
        Case{"demo_aggregator_1:7443", "demo_aggregator_1", 7443}}) {
    const absl::StatusOr<Address> parsed = ParseAddress(expected.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->host, expected.host);
    EXPECT_EQ(parsed->port, expected.port);
  }
}

TEST(ParseAddress, WritesAnAddressAsItReadsIt) {
  for (const char* text : {"127.0.0.1:7443", "[::1]:7443", "collect.example.org:1"}) {
    EXPECT_EQ(ParseAddress(text)->ToString(), text);
  }
}

TEST(ParseAddress, AListenerMayLeaveOutTheHostAndLetTheSystemChooseThePort) {
  for (const char* text : {":7443", "0.0.0.0:0", "[::]:7443", "[0::0]:1", ":0"}) {
    const absl::StatusOr<Address> parsed = ParseAddress(text, AddressUse::kListen);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(parsed->IsEveryInterface()) << text;
    EXPECT_FALSE(parsed->IsLoopback()) << text;
  }
  for (const char* text : {"127.0.0.1:0", "[::1]:1", "localhost:7443", "127.3.2.1:1", "[0:0:0:0:0:0:0:1]:1"}) {
    const absl::StatusOr<Address> parsed = ParseAddress(text, AddressUse::kListen);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(parsed->IsLoopback()) << text;
    EXPECT_FALSE(parsed->IsEveryInterface()) << text;
  }
}

TEST(ParseAddress, RefusesAClientsAddressWithoutHostOrPort) {
  EXPECT_THAT(Refusal(":7443"), HasSubstr("the host is missing"));
  for (const char* text : {"", "host", "::1", "[::1]", "2001:db8::7", "192.0.2.7"}) {
    for (const AddressUse use : {AddressUse::kConnect, AddressUse::kListen}) {
      EXPECT_THAT(Refusal(text, use), ::testing::AnyOf(HasSubstr("the port is missing"), HasSubstr("brackets")))
          << text;
    }
  }
}

TEST(ParseAddress, RefusesAPortThatIsNone) {
  for (const char* text : {"host:", "host:0", "host:65536", "host:x", "host:-1", "host:+1", "host: 1", "host:1 ",
                           "host:0x10", "host:7443.", "host:184467440737095516160", "[::1]:", "[::1]:0"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("the port must be a number from 1 to 65535")) << text;
  }
  for (const char* text : {":", ":65536", "0.0.0.0:x", "[::]:-1"}) {
    EXPECT_THAT(Refusal(text, AddressUse::kListen), HasSubstr("the port must be a number from 0 to 65535")) << text;
  }
}

TEST(ParseAddress, RefusesAnAddressThatIsNoOneMachines) {
  for (const char* text : {"255.255.255.255:1", "224.0.0.1:1", "239.255.255.255:1", "[ff02::1]:1", "[ff02::1%eth0]:1",
                           "[FF00::]:1", "[::ffff:224.0.0.1]:1", "[::ffff:255.255.255.255]:1"}) {
    for (const AddressUse use : {AddressUse::kConnect, AddressUse::kListen}) {
      EXPECT_THAT(Refusal(text, use), HasSubstr("broadcast or multicast")) << text;
    }
  }
  for (const char* text : {"223.255.255.255:1", "240.0.0.1:1", "255.255.255.254:1", "[fe80::1]:1",
                           "[::ffff:127.0.0.1]:1", "[::]:1", "224.example.org:1"}) {
    EXPECT_TRUE(ParseAddress(text, AddressUse::kListen).ok()) << text;
  }
}

TEST(ParseAddress, RefusesAHostThatIsNone) {
  for (const char* text :
       {"a b:1",       "host:1\"",    "ho\"st:1",    " host:1",       "ho\\st:1",   "a..b:1",       ".host:1",
        "-a:1",        "a-:1",        "256.0.0.1:1", "127.1:1",       "0x0:1",      "0x7f000001:1", "0x7f.1:1",
        "1.2.3.4.5:1", "host/path:1", "user@host:1", "h\xC3\xB6st:1", "\xFFhost:1", "*:7443"}) {
    for (const AddressUse use : {AddressUse::kConnect, AddressUse::kListen}) Refusal(text, use);
  }
  Refusal(std::string(64, 'a') + ":1");
  Refusal(std::string(300, 'a') + ":1");
}

TEST(ParseAddress, SaysHowAnIpv6AddressIsWritten) {
  EXPECT_THAT(Refusal("::1:7443"), HasSubstr("brackets, as in [::1]:7443"));
  EXPECT_THAT(Refusal("2001:db8::7:443", AddressUse::kListen), HasSubstr("brackets"));
  for (const char* text :
       {"[]:1", "[host]:1", "[127.0.0.1]:1", "[::1:1", "::1]:1", "[::g]:1", "[::1%]:1", "[::1%a b]:1"}) {
    Refusal(text);
  }
}

TEST(ParseAddress, RefusesOtherWaysToNameAServer) {
  EXPECT_THAT(Refusal("http://host:1"), HasSubstr("leave out"));
  EXPECT_THAT(Refusal("dns:///host:1"), HasSubstr("leave out"));
  EXPECT_THAT(Refusal("unix:/run/blink.sock", AddressUse::kListen), HasSubstr("not supported"));
  Refusal("ipv4:127.0.0.1:7443");
}

}  // namespace
}  // namespace blink
