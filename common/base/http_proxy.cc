#include "common/base/http_proxy.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

bool IsUnreserved(char c) { return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

bool IsUserAndPassword(absl::string_view text) {
  const size_t colon = text.find(':');
  if (colon == 0 || colon == absl::string_view::npos) return false;
  const absl::string_view password = text.substr(colon + 1);
  return std::all_of(text.begin(), text.begin() + colon, IsUnreserved) &&
         std::all_of(password.begin(), password.end(), IsUnreserved);
}

}  // namespace

std::string HttpProxy::ToUri() const {
  return absl::StrCat("http://", credentials, credentials.empty() ? "" : "@", address.ToString());
}

absl::StatusOr<HttpProxy> ParseHttpProxy(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::StartsWithIgnoreCase(rest, "https://")) {
    return absl::InvalidArgumentError(
        "a proxy is spoken to over http://, and the TLS to the aggregator goes through it: write http://HOST:PORT");
  }
  if (absl::StartsWithIgnoreCase(rest, "http://")) rest.remove_prefix(7);
  absl::ConsumeSuffix(&rest, "/");
  HttpProxy proxy;
  if (const size_t at = rest.rfind('@'); at != absl::string_view::npos) {
    proxy.credentials = std::string(rest.substr(0, at));
    rest.remove_prefix(at + 1);
    if (!IsUserAndPassword(proxy.credentials)) {
      return absl::InvalidArgumentError(
          "before the @ of a proxy come USER:PASSWORD, of letters, digits and -._~ (another character is written as "
          "nothing that all programs read alike: ask for another password)");
    }
  }
  const absl::StatusOr<Address> address = ParseAddress(rest);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a proxy is http://HOST:PORT or http://USER:PASSWORD@HOST:PORT: ", address.status().message()));
  }
  proxy.address = *address;
  return proxy;
}

}  // namespace blink
