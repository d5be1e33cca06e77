#include "common/rpc/credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/http_proxy.h"
#include "common/base/limits.h"
#include "common/base/private_file.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "common/pki/pki.h"
#include "common/pki/server_certificate.h"

namespace blink {
namespace {

namespace tls = grpc::experimental;

absl::Status CheckDates(const std::string& path, const CertificateInfo& info, absl::Time now) {
  if (now > info.not_after) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": the certificate expired on ", TimeText(info.not_after),
                                                      ": have a new one signed by the authority"));
  }
  if (now < info.not_before) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": the certificate is not valid before ",
                                                      TimeText(info.not_before), ", and this machine's clock says ",
                                                      TimeText(now), ": set the clock"));
  }
  return absl::OkStatus();
}

// Accepts the one server whose certificate, already verified against the CA, names this deployment's aggregator.
class AggregatorVerifier : public tls::ExternalCertificateVerifier {
 public:
  explicit AggregatorVerifier(std::string deployment) : deployment_(std::move(deployment)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    std::vector<std::string> uris;
    for (const grpc::string_ref& uri : request->uri_names()) uris.emplace_back(uri.data(), uri.size());
    const absl::Status names = CheckServerNames(uris, deployment_);
    if (!names.ok()) {
      *sync_status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                                  absl::StrCat("the certificate of the server ", names.message()));
    }
    return true;  // decided here and now
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string deployment_;
};

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files) {
  BLINK_ASSIGN_OR_RETURN(const std::string certificate, ReadFile(files.certificate, kPemBytesMax));
  BLINK_ASSIGN_OR_RETURN(const std::string key, ReadFile(files.key, kPemBytesMax));
  BLINK_ASSIGN_OR_RETURN(const std::string ca, ReadFile(files.ca, kPemBytesMax));
  const absl::Time now = absl::Now();
  const absl::StatusOr<CertificateInfo> info = InspectCertificate(certificate);
  if (!info.ok()) return InFile(files.certificate, info.status());
  const absl::StatusOr<CertificateInfo> ca_info = InspectCertificate(ca);
  if (!ca_info.ok()) return InFile(files.ca, ca_info.status());
  BLINK_RETURN_IF_ERROR(InFile(files.key, CheckKeyPair(certificate, key)));
  BLINK_RETURN_IF_ERROR(CheckDates(files.certificate, *info, now));
  return CheckDates(files.ca, *ca_info, now);
}

std::vector<std::string> RemindOfExpiry(const TlsFiles& files, ExpiryReminder& reminder, absl::Time now) {
  std::vector<std::string> lines;
  const auto remind = [&](const std::string& path, const char* what, const char* remedy) {
    const absl::StatusOr<std::string> text = ReadFile(path, kPemBytesMax);
    const absl::StatusOr<CertificateInfo> info = text.ok() ? InspectCertificate(*text) : text.status();
    if (!info.ok()) return;
    const std::string line = reminder.Remind(absl::StrCat(what, " ", path), info->not_after, now, remedy);
    if (!line.empty()) lines.push_back(line);
  };
  remind(files.certificate, "the certificate",
         "make a new key and have it signed (blink provision sign) before the aggregator refuses this one");
  remind(files.ca, "the authority's certificate", "ask the authority for its next one");
  return lines;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeClientCredentials(const TlsFiles& files,
                                                                                const std::string& deployment) {
  BLINK_RETURN_IF_ERROR(CheckTlsFiles(files));
  WarnOfOpenKey(files.key);
  const Identity aggregator = {.kind = Identity::Kind::kAggregator, .deployment = deployment};
  BLINK_RETURN_IF_ERROR(Identity::FromUri(aggregator.ToUri()).status());
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.ca, files.refresh_seconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_check_call_host(false);
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<AggregatorVerifier>(deployment));
  return tls::TlsCredentials(options);
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           std::shared_ptr<grpc::ChannelCredentials> credentials,
                                           const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  // the environment's is nobody's business here
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, options.proxy.empty() ? 0 : 1);
  if (!options.proxy.empty()) arguments.SetString(GRPC_ARG_HTTP_PROXY, options.proxy);
  if (const std::string name = ServerName(options.deployment); !name.empty()) {
    arguments.SetSslTargetNameOverride(name);
  }
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);  // nor is what DNS says about calls
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);                     // retries are the caller's, with its window
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);          // a new channel really connects anew
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, options.keepalive_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options.keepalive_timeout_ms);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // a watch may be silent for hours
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 250);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);  // time allowed to one attempt, handshake included
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 10'000);
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);  // or the 2 MiB of a message could unpack to 2 GiB
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  // gRPC would take a host that is called "unix" or "dns" for the name of a scheme, and a zone of IPv6 ("%10") for an
  // escape.
  const std::string target =
      absl::StartsWith(address, "[") ? absl::StrReplaceAll(address, {{"%", "%25"}}) : absl::StrCat("dns:///", address);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

std::string ServerName(const std::string& deployment) {
  return Identity{.kind = Identity::Kind::kAggregator, .deployment = deployment}.DnsName();
}

void AllowKeepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepaliveMs / 2);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
}

absl::Status PrepareProxy(const std::string& proxy, bool insecure) {
  if (proxy.empty()) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(ParseHttpProxy(proxy).status());
  if (insecure) return absl::FailedPreconditionError("a proxy is for TLS: without TLS there is loopback alone");
  for (const char* name : {"no_grpc_proxy", "no_proxy", "NO_PROXY"}) ::unsetenv(name);
  return absl::OkStatus();
}

absl::Status RequireLoopback(const std::string& address) {
  BLINK_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address, AddressUse::kListen));
  if (parsed.IsLoopback()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--insecure is for loopback only (127.0.0.1, [::1] or localhost), not for ", address,
                   ": give certificates instead (blink provision makes them)"));
}

absl::StatusOr<Identity> PeerIdentity(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) {
    return absl::UnauthenticatedError("a client certificate is required, and this connection has none");
  }
  const std::vector<grpc::string_ref> uris = peer->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME);
  if (uris.size() != 1) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the client certificate must carry exactly one URI as subject alternative name; it carries ", uris.size()));
  }
  absl::StatusOr<Identity> identity = Identity::FromUri(absl::string_view(uris[0].data(), uris[0].size()));
  if (!identity.ok()) return absl::UnauthenticatedError(identity.status().message());
  return identity;
}

}  // namespace blink
