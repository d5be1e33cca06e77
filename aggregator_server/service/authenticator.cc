#include "aggregator_server/service/authenticator.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/rpc/credentials.h"

namespace blink {

absl::StatusOr<Identity> Authenticator::Node(const grpc::ServerContextBase& context, const std::string& deployment,
                                             uint64_t first, uint64_t last) const {
  if (!insecure_) return PeerIdentity(context);
  Identity claimed;
  claimed.kind = Identity::Kind::kNodes;
  claimed.deployment = deployment;
  claimed.first_node = first;
  claimed.last_node = last;
  return claimed;
}

absl::Status Authenticator::RequireOperator(const grpc::ServerContextBase& context,
                                            const std::string& deployment) const {
  if (!insecure_) {
    BLINK_ASSIGN_OR_RETURN(const Identity identity, PeerIdentity(context));
    if (identity.kind != Identity::Kind::kOperator || identity.deployment != deployment_) {
      return absl::PermissionDeniedError(absl::StrCat("the certificate ", identity.ToUri(),
                                                      " is not an operator's of deployment \"", deployment_, "\""));
    }
  }
  if (deployment != deployment_) {
    return absl::NotFoundError(
        absl::StrCat("this aggregator serves deployment \"", deployment_, "\", not the one that was named"));
  }
  return absl::OkStatus();
}

void LogRefusal(const grpc::ServerContextBase& context, const absl::Status& status) {
  constexpr int kPerSecondMax = 5;
  static std::atomic<int64_t> second{0};
  static std::atomic<int> logged{0};
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  if (second.exchange(now) != now) logged = 0;
  if (logged.fetch_add(1) < kPerSecondMax) spdlog::warn("refused {}: {}", context.peer(), status.ToString());
}

}  // namespace blink
