// The address of an aggregator, as every program, configuration file and kit reads it.
//
//   collect.example.org:7443   192.0.2.7:7443   [2001:db8::7]:7443
//
// An address to listen on may also have no host (":7443" is every interface) and port 0 (the system chooses).
#ifndef BLINK_COMMON_BASE_ADDRESS_H_
#define BLINK_COMMON_BASE_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

enum class AddressUse { kConnect, kListen };

struct Address {
  std::string host;  // without brackets; empty: every interface
  uint16_t port = 0;

  bool IsLoopback() const;        // localhost, or an address that only this machine has
  bool IsEveryInterface() const;  // also 0.0.0.0 and ::
  std::string ToString() const;   // with brackets around IPv6
};

// Returns INVALID_ARGUMENT, with `text` and what is wrong with it.
absl::StatusOr<Address> ParseAddress(absl::string_view text, AddressUse use = AddressUse::kConnect);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_ADDRESS_H_
