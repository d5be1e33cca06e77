#include "aggregator_server/transport/proxy_protocol.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace blink {
namespace {

using Header = absl::StatusOr<std::optional<ProxyHeader>>;

constexpr absl::string_view kText = "PROXY ";
constexpr size_t kTextBytesMax = 107;
constexpr absl::string_view kBinary("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr size_t kBinaryHead = 16;

absl::Status Malformed(const char* why) { return absl::InvalidArgumentError(why); }

bool ParsePort(absl::string_view text, uint16_t& port) {
  uint32_t number = 0;
  const bool digits = !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!digits || (text.size() > 1 && text[0] == '0') || !absl::SimpleAtoi(text, &number) || number > 65535)
    return false;
  port = static_cast<uint16_t>(number);
  return true;
}

CallerAddress FromIPv4(const in_addr& host, uint16_t port) {
  CallerAddress caller;
  auto* const four = reinterpret_cast<sockaddr_in*>(&caller.address);
  four->sin_family = AF_INET;
  four->sin_addr = host;
  four->sin_port = htons(port);
  caller.size = sizeof(sockaddr_in);
  return caller;
}

CallerAddress FromIPv6(const in6_addr& host, uint16_t port) {
  CallerAddress caller;
  auto* const six = reinterpret_cast<sockaddr_in6*>(&caller.address);
  six->sin6_family = AF_INET6;
  six->sin6_addr = host;
  six->sin6_port = htons(port);
  caller.size = sizeof(sockaddr_in6);
  return caller;
}

// PROXY TCP4 192.0.2.7 192.0.2.1 40112 7443\r\n
Header ReadText(absl::string_view bytes) {
  const size_t end = bytes.find("\r\n");
  if (end == absl::string_view::npos) {
    if (bytes.size() >= kTextBytesMax) return Malformed("the PROXY line has no end");
    return std::nullopt;
  }
  if (end + 2 > kTextBytesMax) return Malformed("the PROXY line is too long");
  ProxyHeader header{.bytes = end + 2};
  const std::vector<std::string> words = absl::StrSplit(bytes.substr(0, end), ' ');
  if (words.size() >= 2 && words[1] == "UNKNOWN") return header;
  uint16_t port = 0, to_port = 0;
  if (words.size() != 6 || !ParsePort(words[4], port) || !ParsePort(words[5], to_port)) {
    return Malformed("the PROXY line is malformed");
  }
  in_addr four{}, to_four{};
  in6_addr six{}, to_six{};
  if (words[1] == "TCP4" && ::inet_pton(AF_INET, words[2].c_str(), &four) == 1 &&
      ::inet_pton(AF_INET, words[3].c_str(), &to_four) == 1) {
    header.caller = FromIPv4(four, port);
    return header;
  }
  if (words[1] == "TCP6" && ::inet_pton(AF_INET6, words[2].c_str(), &six) == 1 &&
      ::inet_pton(AF_INET6, words[3].c_str(), &to_six) == 1) {
    header.caller = FromIPv6(six, port);
    return header;
  }
  return Malformed("the PROXY line is malformed");
}

uint16_t ReadUint16(absl::string_view bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) << 8 | static_cast<uint8_t>(bytes[at + 1]));
}

Header ReadBinary(absl::string_view bytes) {
  if (bytes.size() < kBinaryHead) return std::nullopt;
  const uint8_t version_and_command = static_cast<uint8_t>(bytes[12]);
  const uint8_t family = static_cast<uint8_t>(bytes[13]);
  const size_t length = ReadUint16(bytes, 14);
  if (version_and_command != 0x20 && version_and_command != 0x21)
    return Malformed("the PROXY header is of no known version");
  if (kBinaryHead + length > kProxyHeaderBytesMax) return Malformed("the PROXY header is too long");
  if (bytes.size() < kBinaryHead + length) return std::nullopt;
  ProxyHeader header{.bytes = kBinaryHead + length};
  if (version_and_command == 0x20) return header;  // LOCAL
  const absl::string_view addresses = bytes.substr(kBinaryHead, length);
  if (family == 0x11 && length >= 12) {
    in_addr host{};
    std::memcpy(&host, addresses.data(), sizeof(host));
    header.caller = FromIPv4(host, ReadUint16(addresses, 8));
    return header;
  }
  if (family == 0x21 && length >= 36) {
    in6_addr host{};
    std::memcpy(&host, addresses.data(), sizeof(host));
    header.caller = FromIPv6(host, ReadUint16(addresses, 32));
    return header;
  }
  return Malformed("the PROXY header is not of TCP over IPv4 or IPv6");
}

bool BeginAlike(absl::string_view bytes, absl::string_view known) {
  const size_t size = std::min(bytes.size(), known.size());
  return bytes.substr(0, size) == known.substr(0, size);
}

}  // namespace

Header ReadProxyHeader(absl::string_view bytes) {
  if (bytes.size() >= kText.size() && absl::StartsWith(bytes, kText)) return ReadText(bytes);
  if (bytes.size() >= kBinary.size() && absl::StartsWith(bytes, kBinary)) return ReadBinary(bytes);
  const bool may_come = bytes.size() < kBinary.size() && (BeginAlike(bytes, kText) || BeginAlike(bytes, kBinary));
  if (may_come) return std::nullopt;
  return Malformed("it begins with no PROXY header");
}

}  // namespace blink
