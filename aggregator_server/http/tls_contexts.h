// The TLS of an HTTP server: its certificate now, and a client certificate from everybody.
#ifndef BLINK_AGGREGATOR_SERVER_HTTP_TLS_CONTEXTS_H_
#define BLINK_AGGREGATOR_SERVER_HTTP_TLS_CONTEXTS_H_

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/pki/tls_texts.h"

namespace blink {

// TLS 1.3 alone. A client whose certificate no authority in `ca` has signed, or that has none, does not get through the
// handshake. No session is resumed, so that each connection proves its identity anew.
absl::StatusOr<std::shared_ptr<boost::asio::ssl::context>> MakeTlsContext(const TlsTexts& texts);

// PEM of the certificate that the client of this connection has shown; empty: none.
std::string PeerCertificate(SSL* connection);

class TlsContexts {
 public:
  // Returns the texts that are in use now. The same pointer means the same texts.
  using Texts = std::function<std::shared_ptr<const TlsTexts>()>;

  explicit TlsContexts(Texts texts) : texts_(std::move(texts)) {}

  // For the next handshake. Not from two threads at a time. The errors of MakeTlsContext: what was in use before is
  // not used any more.
  absl::StatusOr<std::shared_ptr<boost::asio::ssl::context>> Get();

 private:
  const Texts texts_;
  std::shared_ptr<const TlsTexts> made_from_;
  std::shared_ptr<boost::asio::ssl::context> made_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_HTTP_TLS_CONTEXTS_H_
