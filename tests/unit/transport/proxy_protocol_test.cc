#include "aggregator_server/transport/proxy_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "aggregator_server/transport/handshake_log.h"

namespace blink {
namespace {

std::string CallerOf(const std::string& bytes) {
  const auto header = ReadProxyHeader(bytes);
  if (!header.ok()) return "refused";
  if (!header->has_value()) return "more";
  if (!(*header)->caller.has_value()) return "the balancer";
  return PeerAddress::Of((*header)->caller->address, (*header)->caller->size).peer;
}

std::string Binary(char command, char family, const std::string& addresses) {
  std::string bytes("\r\n\r\n\0\r\nQUIT\n", 12);
  bytes += command;
  bytes += family;
  bytes += static_cast<char>(addresses.size() >> 8);
  bytes += static_cast<char>(addresses.size() & 0xff);
  return bytes + addresses;
}

const std::string kFour("\xc0\x00\x02\x07\xc0\x00\x02\x01\x9c\xb0\x1d\x13", 12);
const std::string kSix = std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') + "\x07" + std::string(16, '\x01') +
                         std::string("\x9c\xb0\x1d\x13", 4);

TEST(ProxyProtocol, ReadsTheCallerOfBothVersions) {
  EXPECT_EQ(CallerOf("PROXY TCP4 192.0.2.7 192.0.2.1 40112 7443\r\n\x16\x03\x01"), "192.0.2.7:40112");
  EXPECT_EQ(CallerOf("PROXY TCP6 2001:db8::7 2001:db8::1 40112 7443\r\n"), "[2001:db8::7]:40112");
  EXPECT_EQ(CallerOf(Binary('\x21', '\x11', kFour) + "\x16\x03\x01"), "192.0.2.7:40112");
  EXPECT_EQ(CallerOf(Binary('\x21', '\x21', kSix)), "[2001:db8::7]:40112");
  EXPECT_EQ(CallerOf(Binary('\x21', '\x11', kFour + std::string(100, 'x'))), "192.0.2.7:40112") << "additions";
  EXPECT_EQ(ReadProxyHeader("PROXY TCP4 192.0.2.7 192.0.2.1 40112 7443\r\nrest")->value().bytes, 43u);
  EXPECT_EQ(ReadProxyHeader(Binary('\x21', '\x11', kFour) + "rest")->value().bytes, 28u);
}

TEST(ProxyProtocol, ABalancerThatCallsItselfIsTheCaller) {
  EXPECT_EQ(CallerOf("PROXY UNKNOWN\r\n"), "the balancer");
  EXPECT_EQ(CallerOf("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"), "the balancer");
  EXPECT_EQ(CallerOf(Binary('\x20', '\0', "")), "the balancer");
}

TEST(ProxyProtocol, WaitsForTheRestHoweverItIsCut) {
  for (const std::string& whole : {std::string("PROXY TCP4 192.0.2.7 192.0.2.1 40112 7443\r\n"),
                                   Binary('\x21', '\x11', kFour), Binary('\x21', '\x21', kSix)}) {
    for (size_t size = 0; size < whole.size(); ++size) EXPECT_EQ(CallerOf(whole.substr(0, size)), "more") << size;
  }
}

TEST(ProxyProtocol, RefusesWhatIsMalformed) {
  for (const std::string& wrong : {std::string("\x16\x03\x01\x02\x00"),
                                   std::string("GET / HTTP/1.1\r\n"),
                                   std::string("PROXX"),
                                   std::string("PROXY \r\n"),
                                   std::string("PROXY TCP4\r\n"),
                                   std::string("PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n"),
                                   std::string("PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n"),
                                   std::string("PROXY TCP4 1.2.3.4 1.2.3.4 1 70000\r\n"),
                                   std::string("PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n"),
                                   std::string("PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n"),
                                   std::string("PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n"),
                                   std::string("PROXY TCP4 ::1 ::1 1 2\r\n"),
                                   std::string("PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n"),
                                   "PROXY UNKNOWN " + std::string(200, 'x'),
                                   "PROXY " + std::string(101, 'x'),
                                   Binary('\x11', '\x11', kFour),
                                   Binary('\x22', '\x11', kFour),
                                   Binary('\x21', '\x12', kFour),
                                   Binary('\x21', '\x31', std::string(216, 'x')),
                                   Binary('\x21', '\x11', "short"),
                                   Binary('\x21', '\x21', kFour),
                                   Binary('\x21', '\x11', std::string(521, 'x'))}) {
    EXPECT_EQ(CallerOf(wrong), "refused") << wrong;
  }
}

}  // namespace
}  // namespace blink
