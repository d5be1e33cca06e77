#include "common/rpc/rehearsal.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// gRPC 1.51's own (ssl_utils.cc, ssl_transport_security.cc).
constexpr char kCiphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-RSA-AES256-GCM-SHA384";
constexpr char kServerGroups[] = "P-256";
constexpr int kStepsMax = 20;  // a handshake takes three or four

using ContextPtr = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using EndPtr = std::unique_ptr<SSL, decltype(&SSL_free)>;
using CertificatePtr = std::unique_ptr<X509, decltype(&X509_free)>;

absl::Status Refuse() {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = error != 0 ? ERR_reason_error_string(error) : nullptr;
  ERR_clear_error();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot be used for TLS: ", reason != nullptr ? reason : "the handshake fails"));
}

std::vector<CertificatePtr> ReadAll(const std::string& pem) {
  std::vector<CertificatePtr> all;
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                          BIO_free_all);
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) all.emplace_back(next, X509_free);
  ERR_clear_error();
  return all;
}

// An end of TLS 1.2 or later, as both gRPC's and ours are.
ContextPtr MakeContext(const SSL_METHOD* method) {
  ContextPtr context(SSL_CTX_new(method), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context.get(), kCiphers);
  return context;
}

absl::Status ShowCertificate(SSL_CTX* server, const std::string& chain, const std::string& key) {
  const std::vector<CertificatePtr> certificates = ReadAll(chain);
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())),
                                                          BIO_free_all);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> own(
      PEM_read_bio_PrivateKey(
          bio.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr),
      EVP_PKEY_free);
  SSL_CTX_set1_groups_list(server, kServerGroups);
  if (certificates.empty() || own == nullptr || SSL_CTX_use_certificate(server, certificates[0].get()) != 1 ||
      SSL_CTX_use_PrivateKey(server, own.get()) != 1) {
    return Refuse();
  }
  for (size_t i = 1; i < certificates.size(); ++i) SSL_CTX_add1_chain_cert(server, certificates[i].get());
  return absl::OkStatus();
}

}  // namespace

absl::Status RehearseHandshake(const std::string& chain, const std::string& key, const std::string& ca) {
  ERR_clear_error();
  const ContextPtr server_context = MakeContext(TLS_server_method());
  const ContextPtr client_context = MakeContext(TLS_client_method());
  BLINK_RETURN_IF_ERROR(ShowCertificate(server_context.get(), chain, key));
  for (const CertificatePtr& authority : ReadAll(ca)) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(client_context.get()), authority.get());
  }
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(client_context.get()), X509_V_FLAG_NO_CHECK_TIME);
  SSL_CTX_set_verify(client_context.get(), SSL_VERIFY_PEER, nullptr);
  const EndPtr server(SSL_new(server_context.get()), SSL_free);
  const EndPtr client(SSL_new(client_context.get()), SSL_free);
  BIO *ours = nullptr, *theirs = nullptr;
  if (server == nullptr || client == nullptr || BIO_new_bio_pair(&ours, 0, &theirs, 0) != 1) return Refuse();
  SSL_set_bio(server.get(), ours, ours);
  SSL_set_bio(client.get(), theirs, theirs);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  for (int step = 0; step < kStepsMax; ++step) {
    for (SSL* const end : {client.get(), server.get()}) {
      const int result = SSL_do_handshake(end);
      const int error = SSL_get_error(end, result);
      if (result != 1 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return Refuse();
    }
    if (SSL_is_init_finished(client.get()) && SSL_is_init_finished(server.get())) return absl::OkStatus();
  }
  return Refuse();
}

}  // namespace blink
