#include "common/pki/identity.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/name.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr size_t kUriCharactersMax = 256;

// A decimal without sign or leading zeros.
absl::StatusOr<uint64_t> ParseId(absl::string_view text) {
  uint64_t id = 0;
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || (text.size() > 1 && text[0] == '0') || !absl::SimpleAtoi(text, &id)) {
    return absl::InvalidArgumentError("a node id is a decimal number of 64 bits without leading zeros");
  }
  return id;
}

absl::Status ParseRange(absl::string_view text, Identity& identity) {
  const size_t dash = text.find('-');
  if (dash == absl::string_view::npos) return absl::InvalidArgumentError("a range of nodes is written <first>-<last>");
  BLINK_ASSIGN_OR_RETURN(identity.first_node, ParseId(text.substr(0, dash)));
  BLINK_ASSIGN_OR_RETURN(identity.last_node, ParseId(text.substr(dash + 1)));
  if (identity.first_node >= identity.last_node) {
    return absl::InvalidArgumentError("a range's first node is below its last (a single node is written node/<id>)");
  }
  return absl::OkStatus();
}

// The word in an operator's URI; the role of an operator of before there were roles is to administer.
constexpr std::pair<Role, const char*> kRoleWords[] = {
    {Role::kRead, "reader"}, {Role::kCreate, "creator"}, {Role::kAdminister, "operator"}};

std::optional<Role> FindRole(absl::string_view word) {
  for (const auto& [role, its_word] : kRoleWords) {
    if (word == its_word) return role;
  }
  return std::nullopt;
}

absl::StatusOr<Identity> Parse(absl::string_view rest) {
  if (!absl::ConsumePrefix(&rest, "blink://")) return absl::InvalidArgumentError("it does not begin with blink://");
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '/');
  Identity identity;
  if (!IsName(parts[0])) return absl::InvalidArgumentError(absl::StrCat("a deployment must be ", kNameRule));
  identity.deployment = std::string(parts[0]);
  if (parts.size() == 2 && parts[1] == "aggregator") {
    identity.kind = Identity::Kind::kAggregator;
    return identity;
  }
  if (const std::optional<Role> role = parts.size() == 3 ? FindRole(parts[1]) : std::nullopt; role.has_value()) {
    if (!IsName(parts[2])) return absl::InvalidArgumentError(absl::StrCat("an operator's name must be ", kNameRule));
    identity.kind = Identity::Kind::kOperator;
    identity.name = std::string(parts[2]);
    identity.role = *role;
    return identity;
  }
  if (parts.size() == 3 && parts[1] == "node") {
    BLINK_ASSIGN_OR_RETURN(identity.first_node, ParseId(parts[2]));
    identity.last_node = identity.first_node;
    return identity;
  }
  if (parts.size() == 3 && parts[1] == "nodes") {
    BLINK_RETURN_IF_ERROR(ParseRange(parts[2], identity));
    return identity;
  }
  return absl::InvalidArgumentError(
      "after the deployment come node/<id>, nodes/<first>-<last>, operator/<name>, creator/<name>, reader/<name> or "
      "aggregator");
}

}  // namespace

const char* RoleName(Role role) {
  switch (role) {
    case Role::kRead:
      return "read";
    case Role::kCreate:
      return "create";
    case Role::kAdminister:
      break;
  }
  return "administer";
}

std::string Identity::Path() const {
  switch (kind) {
    case Kind::kAggregator:
      return "aggregator";
    case Kind::kOperator:
      return absl::StrCat(kRoleWords[static_cast<size_t>(role)].second, "/", name);
    case Kind::kNodes:
      break;
  }
  if (first_node == last_node) return absl::StrCat("node/", first_node);
  return absl::StrCat("nodes/", first_node, "-", last_node);
}

std::string Identity::ToUri() const { return absl::StrCat("blink://", deployment, "/", Path()); }

std::string Identity::DnsName() const {
  constexpr size_t kLabelCharactersMax = 63;  // RFC 1035
  const bool is_label = !deployment.empty() && deployment.size() <= kLabelCharactersMax && deployment.front() != '-' &&
                        deployment.back() != '-';
  return kind == Kind::kAggregator && is_label ? absl::StrCat(deployment, ".blink.internal") : std::string();
}

absl::StatusOr<Identity> Identity::FromUri(absl::string_view uri) {
  if (uri.size() > kUriCharactersMax) return absl::InvalidArgumentError("the identity in the certificate is too long");
  absl::StatusOr<Identity> identity = Parse(uri);
  if (!identity.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("'", uri, "' names nobody: ", identity.status().message()));
  }
  return identity;
}

}  // namespace blink
