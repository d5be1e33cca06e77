#include "aggregator_server/transport/authenticator.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include "absl/strings/str_cat.h"
#include "aggregator_server/transport/caller_names.h"
#include "aggregator_server/transport/refusal_log.h"
#include "common/base/status_macros.h"
#include "common/rpc/credentials.h"

namespace blink {
namespace {

// UNAUTHENTICATED: there is none.
absl::StatusOr<std::string> GetCertificate(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer != nullptr) {
    const std::vector<grpc::string_ref> found = peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    if (found.size() == 1) return std::string(found[0].data(), found[0].size());
  }
  return absl::UnauthenticatedError("a client certificate is required, and this connection has none");
}

absl::Status CheckIsOperator(const Identity& identity, const std::string& deployment) {
  if (identity.kind == Identity::Kind::kOperator && identity.deployment == deployment) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the certificate ", identity.ToUri(), " is not an operator's of deployment \"", deployment, "\""));
}

}  // namespace

absl::StatusOr<Identity> Authenticator::IdentifyNode(const grpc::ServerContextBase& context,
                                                     const std::string& deployment, uint64_t first,
                                                     uint64_t last) const {
  if (!insecure_) {
    BLINK_ASSIGN_OR_RETURN(const std::string certificate, GetCertificate(context));
    BLINK_RETURN_IF_ERROR(guard_.Check(certificate));
    return PeerIdentity(context);
  }
  Identity claimed;
  claimed.kind = Identity::Kind::kNodes;
  claimed.deployment = deployment;
  claimed.first_node = first;
  claimed.last_node = last;
  return claimed;
}

absl::StatusOr<Identity> Authenticator::RequireOperator(const grpc::ServerContextBase& context,
                                                        const std::string& deployment, Role needed) const {
  Identity identity{.kind = Identity::Kind::kOperator, .deployment = deployment_, .name = "anybody"};
  if (!insecure_) {
    BLINK_ASSIGN_OR_RETURN(const std::string certificate, GetCertificate(context));
    BLINK_RETURN_IF_ERROR(guard_.Check(certificate));
    BLINK_ASSIGN_OR_RETURN(identity, PeerIdentity(context));
    BLINK_RETURN_IF_ERROR(CheckIsOperator(identity, deployment_));
  }
  if (deployment != deployment_) {
    return absl::NotFoundError(
        absl::StrCat("this aggregator serves deployment \"", deployment_, "\", not the one that was named"));
  }
  if (identity.role >= needed) return identity;
  return absl::PermissionDeniedError(absl::StrCat("the certificate ", identity.ToUri(), " has the role to ",
                                                  RoleName(identity.role), ", and this takes the role to ",
                                                  RoleName(needed)));
}

std::string Authenticator::Describe(const grpc::ServerContextBase& context) const {
  if (insecure_) return "operator/anybody";
  const absl::StatusOr<Identity> identity = PeerIdentity(context);
  if (!identity.ok()) return "?";
  return identity->deployment == deployment_ ? identity->Path() : identity->ToUri();
}

absl::StatusOr<uint64_t> Authenticator::OpenStream(const grpc::ServerContextBase& context,
                                                   CertificateGuard::Cut cut) const {
  if (insecure_) return 0;
  BLINK_ASSIGN_OR_RETURN(const std::string certificate, GetCertificate(context));
  return guard_.OpenStream(certificate, PeerOf(context), std::move(cut));
}

absl::StatusOr<Identity> Authenticator::IdentifyOperator(const std::string& certificate) const {
  if (insecure_) return Identity{.kind = Identity::Kind::kOperator, .deployment = deployment_, .name = "anybody"};
  if (certificate.empty()) return absl::UnauthenticatedError("a client certificate is required");
  BLINK_RETURN_IF_ERROR(guard_.Check(certificate));
  BLINK_ASSIGN_OR_RETURN(const CertificateInfo info, InspectCertificate(certificate));
  if (info.uri_sans.size() != 1) {
    return absl::UnauthenticatedError(
        absl::StrCat("the client certificate must carry exactly one URI as subject alternative name; it carries ",
                     info.uri_sans.size()));
  }
  const absl::StatusOr<Identity> identity = Identity::FromUri(info.uri_sans.front());
  if (!identity.ok()) return absl::UnauthenticatedError(identity.status().message());
  BLINK_RETURN_IF_ERROR(CheckIsOperator(*identity, deployment_));
  return *identity;
}

absl::StatusOr<uint64_t> Authenticator::OpenStream(const std::string& certificate, const std::string& who,
                                                   CertificateGuard::Cut cut) const {
  if (insecure_) return 0;
  return guard_.OpenStream(certificate, who, std::move(cut));
}

void LogRefusal(const grpc::ServerContextBase& context, const absl::Status& status) {
  Refusals().Report(PeerOf(context), status);
}

}  // namespace blink
