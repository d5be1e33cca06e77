#include "tools/provision/files.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "common/base/private_file.h"
#include "common/base/status_macros.h"
#include "common/pki/pki.h"
#include "nlohmann/json.hpp"
#include "node_client/policy_file.h"
#include "tools/new_folder.h"

namespace blink::provision_internal {
namespace {

constexpr uint64_t kEnrolmentBytesMax = uint64_t{4} << 30;

std::string KitJson(const Enrolment& enrolment, const Identity& nodes) {
  const nlohmann::ordered_json kit = {{"format", 1},
                                      {"deployment", enrolment.deployment()},
                                      {"nodes", {{"first", nodes.first_node}, {"last", nodes.last_node}}},
                                      {"node_count", enrolment.node_count()},
                                      {"roster_version", enrolment.roster_version()},
                                      {"aggregator", enrolment.aggregator},
                                      {"insecure", enrolment.insecure}};
  return kit.dump(2) + "\n";
}

std::string AggregatorConf(const Enrolment& enrolment, const std::string& listen) {
  std::string text = absl::StrCat("# blink-aggregator --config aggregator.conf; relative paths start at this folder\n",
                                  "deployment=\"", enrolment.deployment(), "\"\nroster=\"roster.json\"\nlisten=\"",
                                  listen, "\"\ndata=\"data\"\nattributes=\"attributes\"\n");
  absl::StrAppend(&text, enrolment.insecure
                             ? "insecure=true\n"
                             : "tls-certificate=\"tls/server.crt\"\ntls-key=\"tls/server.key\"\ntls-ca=\"tls/ca.crt\"\n"
                               "revocations=\"tls/revoked.crl.pem\"\n");
  return text;
}

std::string OperatorConf(const Enrolment& enrolment) {
  std::string text =
      absl::StrCat("# blink round ... --config operator.conf; relative paths start at this folder\n", "aggregator=\"",
                   enrolment.aggregator, "\"\ndeployment=\"", enrolment.deployment(), "\"\n");
  absl::StrAppend(&text,
                  enrolment.insecure
                      ? "insecure=true\n"
                      : "tls-certificate=\"tls/client.crt\"\ntls-key=\"tls/client.key\"\ntls-ca=\"tls/ca.crt\"\n");
  return text;
}

absl::Status CopyRevocationList(const std::string& out, const std::string& target) {
  const absl::StatusOr<std::string> list = ReadFile(out + "/revoked.crl.pem", kEnrolmentBytesMax);
  if (absl::IsNotFound(list.status())) {
    return absl::NotFoundError(
        absl::StrCat(list.status().message(), ": make one (blink provision crl --out ", out, ")"));
  }
  BLINK_RETURN_IF_ERROR(list.status());
  return WriteNew(target, *list);
}

}  // namespace

absl::StatusOr<Enrolment> LoadEnrolment(const std::string& out) {
  const std::string path = out + "/enrolment.json";
  absl::StatusOr<std::string> text = ReadFile(path, kEnrolmentBytesMax);
  if (absl::IsNotFound(text.status())) {
    return Reworded(text.status(),
                    absl::StrCat(text.status().message(), ": make an authority first (blink provision init)"));
  }
  BLINK_RETURN_IF_ERROR(text.status());
  absl::StatusOr<Enrolment> enrolment = Enrolment::FromJson(*text);
  if (!enrolment.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", enrolment.status().message()));
  return enrolment;
}

absl::StatusOr<CertificateAuthority> LoadAuthority(const std::string& out) {
  CertificateAuthority authority;
  BLINK_ASSIGN_OR_RETURN(authority.certificate, ReadFile(out + "/ca/ca.crt", kPemBytesMax));
  BLINK_ASSIGN_OR_RETURN(authority.key, ReadFile(out + "/ca/ca.key", kPemBytesMax));
  WarnOfOpenKey(out + "/ca/ca.key");
  return authority;
}

absl::Status SaveEnrolment(const std::string& out, const Enrolment& enrolment) {
  return WriteFileAtomically(out + "/enrolment.json", enrolment.ToJson());
}

absl::StatusOr<std::string> SignNextList(const CertificateAuthority& authority, Enrolment& enrolment,
                                         absl::Duration valid_for) {
  const absl::Time now = absl::Now();
  ++enrolment.crl_number;
  return SignRevocationList(authority, {.number = enrolment.crl_number,
                                        .this_update = now,
                                        .next_update = now + valid_for,
                                        .revoked = enrolment.revoked()});
}

std::string PolicyJson(const Enrolment& enrolment) {
  nlohmann::ordered_json json = {{"format", 1}, {"deployments", {enrolment.deployment()}}};
  json.update(PolicyMembers(enrolment.policy));
  return json.dump(2) + "\n";
}

Place FindPlace(const std::string& out, const Enrolled& entry) {
  switch (entry.identity.kind) {
    case Identity::Kind::kAggregator:
      return {out + "/aggregator", "server"};
    case Identity::Kind::kOperator:
      return {out + (entry.name == "operator" ? "/operator" : "/operators/" + entry.name), "client"};
    case Identity::Kind::kNodes:
      break;
  }
  return {absl::StrCat(out, "/kits/", entry.name), "client"};
}

absl::Status WritePlace(const std::string& out, const Enrolment& enrolment, const Enrolled& entry,
                        const std::string& ca, const std::string& listen) {
  const Place place = FindPlace(out, entry);
  BLINK_RETURN_IF_ERROR(MakeFolder(std::filesystem::path(place.folder).parent_path().string()));
  BLINK_RETURN_IF_ERROR(MakeFolder(place.folder));
  if (!enrolment.insecure) {
    BLINK_RETURN_IF_ERROR(MakeFolder(place.folder + "/tls"));
    BLINK_RETURN_IF_ERROR(WriteNew(place.folder + "/tls/ca.crt", ca));
  }
  switch (entry.identity.kind) {
    case Identity::Kind::kAggregator:
      BLINK_RETURN_IF_ERROR(MakeFolder(place.folder + "/data"));
      BLINK_RETURN_IF_ERROR(WriteNew(place.folder + "/roster.json", enrolment.roster().ToJson()));
      if (!enrolment.insecure) BLINK_RETURN_IF_ERROR(CopyRevocationList(out, place.folder + "/tls/revoked.crl.pem"));
      return WriteNew(place.folder + "/aggregator.conf", AggregatorConf(enrolment, listen));
    case Identity::Kind::kOperator:
      return WriteNew(place.folder + "/operator.conf", OperatorConf(enrolment));
    case Identity::Kind::kNodes:
      break;
  }
  BLINK_RETURN_IF_ERROR(WriteNew(place.folder + "/policy.json", PolicyJson(enrolment)));
  return WriteNew(place.folder + "/kit.json", KitJson(enrolment, entry.identity));
}

}  // namespace blink::provision_internal
