// A proxy that a program goes through because it has no other way out: HTTP's method CONNECT, which passes TLS on
// unseen. Only a configuration or a flag names one; the environment never does.
//
//   http://proxy.example.org:3128   http://user:password@192.0.2.7:3128   [2001:db8::7]:3128
#ifndef BLINK_COMMON_BASE_HTTP_PROXY_H_
#define BLINK_COMMON_BASE_HTTP_PROXY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/address.h"

namespace blink {

struct HttpProxy {
  Address address;
  std::string credentials;  // "user:password"; empty: none. Never in a message

  std::string ToUri() const;  // with the credentials
};

// INVALID_ARGUMENT, without the credentials. They may have letters, digits and -._~ alone, since programs read other
// characters of a URI in different ways.
absl::StatusOr<HttpProxy> ParseHttpProxy(absl::string_view text);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_HTTP_PROXY_H_
