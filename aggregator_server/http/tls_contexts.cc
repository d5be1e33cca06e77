#include "aggregator_server/http/tls_contexts.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <boost/asio/buffer.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

absl::StatusOr<std::shared_ptr<ssl::context>> MakeTlsContext(const TlsTexts& texts) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  error_code error;
  const auto use = [&](const char* what, auto act) {
    if (!error && act()) error = error_code(1, boost::asio::error::get_misc_category());
    return error ? absl::FailedPreconditionError(absl::StrCat("the web page cannot use ", what, ": ", error.message()))
                 : absl::OkStatus();
  };
  BLINK_RETURN_IF_ERROR(use("TLS 1.3", [&] { return SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION) != 1; }));
  BLINK_RETURN_IF_ERROR(use("the certificate", [&] {
    context->use_certificate_chain(boost::asio::buffer(texts.certificate), error);
    return false;
  }));
  BLINK_RETURN_IF_ERROR(use("the key", [&] {
    context->use_private_key(boost::asio::buffer(texts.key), ssl::context::pem, error);
    return false;
  }));
  BLINK_RETURN_IF_ERROR(use("the authority's certificate", [&] {
    context->add_certificate_authority(boost::asio::buffer(texts.ca), error);
    return false;
  }));
  // Its name tells a browser which of its certificates to offer.
  BLINK_RETURN_IF_ERROR(use("the authority's certificate", [&] {
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(
        BIO_new_mem_buf(texts.ca.data(), static_cast<int>(texts.ca.size())), BIO_free_all);
    const std::unique_ptr<X509, decltype(&X509_free)> authority(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr),
                                                                X509_free);
    return authority == nullptr || SSL_CTX_add_client_CA(native, authority.get()) != 1;
  }));
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(native, 0);
  if (error) return absl::InternalError(absl::StrCat("cannot ask for client certificates: ", error.message()));
  return context;
}

std::string PeerCertificate(SSL* connection) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(connection), X509_free);
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
  if (certificate == nullptr || bio == nullptr || PEM_write_bio_X509(bio.get(), certificate.get()) != 1) return "";
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

absl::StatusOr<std::shared_ptr<ssl::context>> TlsContexts::Get() {
  const std::shared_ptr<const TlsTexts> now = texts_();
  if (now == nullptr) return absl::UnavailableError("there is no certificate yet");
  if (now != made_from_) {
    made_from_ = nullptr;
    BLINK_ASSIGN_OR_RETURN(made_, MakeTlsContext(*now));
    made_from_ = now;
  }
  return made_;
}

}  // namespace blink
