#include "common/pki/server_certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "common/pki/identity.h"
#include "common/pki/openssl_pem.h"
#include "common/pki/pki.h"

namespace blink {
namespace {

using pki_internal::BioPtr;
using pki_internal::CertificatePtr;
using pki_internal::Deleter;

using StorePtr = std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>>;
using ContextPtr = std::unique_ptr<X509_STORE_CTX, Deleter<X509_STORE_CTX_free>>;

constexpr int kTlsSecurityLevel = 1;  // as of OpenSSL's clients: no key below 80 bits, no SHA-1 below it

std::vector<CertificatePtr> ReadAll(const std::string& pem) {
  std::vector<CertificatePtr> all;
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) all.emplace_back(next);
  ERR_clear_error();
  return all;
}

absl::Status Refuse(absl::string_view why) { return absl::FailedPreconditionError(why); }

absl::Status DescribeVerdict(int verdict, X509* which, absl::Time now) {
  std::string dates;
  const bool about_dates = verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID;
  const absl::StatusOr<std::string> pem = pki_internal::CertificateToPem(which);
  const absl::StatusOr<CertificateInfo> info = pem.ok() ? InspectCertificate(*pem) : pem.status();
  if (about_dates && info.ok()) {
    dates = absl::StrCat(" (valid from ", TimeText(info->not_before), " to ", TimeText(info->not_after),
                         "; this machine's clock says ", TimeText(now), ")");
  }
  const bool purpose = verdict == X509_V_ERR_INVALID_PURPOSE;
  return Refuse(absl::StrCat("does not verify against our CA: ", X509_verify_cert_error_string(verdict),
                             purpose ? " (it is not one for servers)" : "", dates));
}

}  // namespace

absl::Status CheckServerNames(const std::vector<std::string>& uris, const std::string& deployment) {
  const std::string expected = Identity{.kind = Identity::Kind::kAggregator, .deployment = deployment}.ToUri();
  if (uris.size() == 1 && uris[0] == expected) return absl::OkStatus();
  if (uris.empty()) return Refuse(absl::StrCat("carries no URI as subject alternative name, not ", expected));
  return Refuse(absl::StrCat("is ", absl::StrJoin(uris, " and "), ", not ", expected));
}

absl::Status CheckServerCertificate(const std::string& chain, const std::string& ca, const std::string& deployment,
                                    absl::Time now) {
  BLINK_ASSIGN_OR_RETURN(const CertificateInfo info, InspectCertificate(chain));
  const std::vector<CertificatePtr> own = ReadAll(chain);
  const StorePtr store(X509_STORE_new());
  for (const CertificatePtr& authority : ReadAll(ca)) X509_STORE_add_cert(store.get(), authority.get());
  STACK_OF(X509)* const between = sk_X509_new_null();
  for (size_t i = 1; i < own.size(); ++i) sk_X509_push(between, own[i].get());
  const ContextPtr context(X509_STORE_CTX_new());
  bool verified = X509_STORE_CTX_init(context.get(), store.get(), own[0].get(), between) == 1;
  if (verified) {
    X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set_time(parameters, absl::ToTimeT(now));
    X509_VERIFY_PARAM_set_auth_level(parameters, kTlsSecurityLevel);
    X509_STORE_CTX_set_default(context.get(), "ssl_server");
    verified = X509_verify_cert(context.get()) == 1;
  }
  absl::Status status;
  if (!verified) {
    X509* const which = X509_STORE_CTX_get_current_cert(context.get());
    status = DescribeVerdict(X509_STORE_CTX_get_error(context.get()), which != nullptr ? which : own[0].get(), now);
  }
  sk_X509_free(between);
  ERR_clear_error();
  return status.ok() ? CheckServerNames(info.uri_sans, deployment) : status;
}

}  // namespace blink
