// Proxies that the environment names and blink does not use.
#ifndef BLINK_COMMON_BASE_IGNORED_PROXY_H_
#define BLINK_COMMON_BASE_IGNORED_PROXY_H_

#include <cstdlib>
#include <string>

namespace blink {

// "https_proxy is set, and is not used: ...", or "" when no such variable is set. Its value may hold a password.
inline std::string DescribeIgnoredProxy() {
  for (const char* name :
       {"grpc_proxy", "https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return std::string(name) + " is set, and is not used: where a proxy is the only way out, give --proxy";
  }
  return "";
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_IGNORED_PROXY_H_
