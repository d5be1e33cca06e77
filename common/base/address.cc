#include "common/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace blink {
namespace {

constexpr size_t kHostCharactersMax = 253;  // RFC 1035 section 2.3.4
constexpr size_t kLabelCharactersMax = 63;
constexpr absl::string_view kOfMany = "the host is a broadcast or multicast address, which is no one machine's";

bool IsV4(const std::string& host) {
  in_addr parsed{};
  return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1;
}

// Of broadcast (255.255.255.255) or multicast (224.0.0.0/4, ff00::/8): no one machine has it. `host` is normalized.
bool IsOfMany(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &v6) == 1) {
    if (!IN6_IS_ADDR_V4MAPPED(&v6)) return IN6_IS_ADDR_MULTICAST(&v6);
    std::memcpy(&v4, v6.s6_addr + 12, sizeof(v4));
  } else if (::inet_pton(AF_INET, host.c_str(), &v4) != 1) {
    return false;
  }
  return v4.s_addr == INADDR_BROADCAST || IN_MULTICAST(ntohl(v4.s_addr));
}

// The one spelling of an IPv6 address, with its zone ("fe80::1%eth0"); empty when `host` is none.
std::string NormalizeV6(const std::string& host) {
  const size_t percent = host.find('%');
  const std::string zone = percent == std::string::npos ? "" : host.substr(percent);
  const bool zone_is_sound = zone.size() != 1 && std::all_of(zone.begin(), zone.end(), [](unsigned char c) {
                               return absl::ascii_isalnum(c) || absl::StrContains("%.-_", std::string(1, c));
                             });
  in6_addr parsed{};
  char text[INET6_ADDRSTRLEN];
  if (!zone_is_sound || ::inet_pton(AF_INET6, host.substr(0, percent).c_str(), &parsed) != 1) return "";
  return absl::StrCat(::inet_ntop(AF_INET6, &parsed, text, sizeof(text)), zone);
}

bool IsLabel(absl::string_view label) {
  return !label.empty() && label.size() <= kLabelCharactersMax && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_';  // container names have underscores
         });
}

bool IsHostName(absl::string_view host) {
  in_addr other_spelling{};  // of an IPv4 address: "0x7f.1" is 127.0.0.1 to the system, and "0x0" every interface
  if (host.size() > kHostCharactersMax || host.find_first_not_of("0123456789.") == absl::string_view::npos ||
      ::inet_aton(std::string(host).c_str(), &other_spelling) != 0) {
    return false;
  }
  if (absl::EndsWith(host, ".")) host.remove_suffix(1);
  const std::vector<absl::string_view> labels = absl::StrSplit(host, '.');
  return std::all_of(labels.begin(), labels.end(), IsLabel);
}

bool ParsePort(absl::string_view text, uint16_t* port) {
  uint32_t value = 0;
  const bool digits = !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(text, &value) || value > 65535) return false;
  *port = static_cast<uint16_t>(value);
  return true;
}

absl::Status NotAnAddress(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not HOST:PORT: ", why));
}

}  // namespace

absl::StatusOr<Address> ParseAddress(absl::string_view text, AddressUse use) {
  if (absl::StrContains(text, "://")) return NotAnAddress(text, "leave out what stands before the host");
  if (absl::StartsWith(text, "unix:")) return NotAnAddress(text, "sockets of the file system are not supported");
  Address address;
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || absl::EndsWith(text, "]")) return NotAnAddress(text, "the port is missing");
  const std::string host(text.substr(0, colon));
  const uint16_t port_min = use == AddressUse::kListen ? 0 : 1;
  if (!ParsePort(text.substr(colon + 1), &address.port) || address.port < port_min) {
    if (!NormalizeV6(std::string(text)).empty()) return NotAnAddress(text, "the port is missing");
    return NotAnAddress(text, absl::StrCat("the port must be a number from ", port_min, " to 65535"));
  }
  if (host.empty()) {
    if (use == AddressUse::kListen) return address;
    return NotAnAddress(text, "the host is missing");
  }
  if (host.front() == '[' && host.back() == ']') {
    address.host = NormalizeV6(host.substr(1, host.size() - 2));
    if (address.host.empty()) return NotAnAddress(text, "what is in the brackets is no IPv6 address");
    if (IsOfMany(address.host)) return NotAnAddress(text, kOfMany);
    return address;
  }
  if (absl::StrContains(host, ':')) {
    return NotAnAddress(text, absl::StrCat("an IPv6 address needs brackets, as in [::1]:", address.port));
  }
  if (!IsV4(host) && !IsHostName(host)) {
    return NotAnAddress(text, "the host is neither a name nor an IP address");
  }
  if (IsOfMany(host)) return NotAnAddress(text, kOfMany);
  address.host = host;
  return address;
}

bool Address::IsLoopback() const {
  return host == "localhost" || host == "::1" || (absl::StartsWith(host, "127.") && IsV4(host));
}

bool Address::IsEveryInterface() const { return host.empty() || host == "0.0.0.0" || host == "::"; }

std::string Address::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

}  // namespace blink
