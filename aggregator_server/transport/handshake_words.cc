#include "aggregator_server/transport/handshake_words.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/time_text.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

std::string FormatDate(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable date";
  return TimeText(absl::FromTM(parts, absl::UTCTimeZone()));
}

std::string Now() { return TimeText(absl::Now()); }

// RFC 9113 section 3.4, RFC 9110 section 9, RFC 8446 section 5.1.
std::optional<HandshakeFailure> DescribeNoTls(const unsigned char (&first)[5]) {
  const absl::string_view text(reinterpret_cast<const char*>(first), sizeof(first));
  if (absl::StartsWith(text, "PRI ")) {
    return HandshakeFailure{
        "plaintext gRPC", "it speaks plaintext gRPC to a TLS port: is its kit or configuration marked insecure?", true};
  }
  for (const char* method : {"GET ", "HEAD", "POST", "PUT ", "OPTI", "CONN", "DELE", "PATC", "TRAC"}) {
    if (absl::StartsWith(text, method)) {
      return HandshakeFailure{
          "HTTP/1", "it sent an HTTP/1 request to a TLS port: a browser, a scraper, or a proxy that does not speak TLS",
          true};
    }
  }
  if (first[0] >= 20 && first[0] <= 24 && first[1] == 3) return std::nullopt;
  return HandshakeFailure{"no TLS", "what it sent is not TLS", true};
}

}  // namespace

std::string ReadName(X509* certificate) {
  std::string name;
  auto* const names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; names != nullptr && name.empty() && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const entry = sk_GENERAL_NAME_value(names, i);
    if (entry->type != GEN_URI) continue;
    const ASN1_STRING* const uri = entry->d.uniformResourceIdentifier;
    name.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)), std::min(ASN1_STRING_length(uri), 200));
  }
  GENERAL_NAMES_free(names);
  return name.empty() ? name : PeerText(name);
}

void NoteRefusal(X509_STORE_CTX* context, HandshakeSeen& seen) {
  const int error = X509_STORE_CTX_get_error(context);
  X509* const certificate = X509_STORE_CTX_get_current_cert(context);
  const auto note = [&seen](const char* kind, std::string text) {
    seen.refusal_kind = kind;
    seen.refusal = std::move(text);
  };
  if (certificate == nullptr) return note("certificate refused", X509_verify_cert_error_string(error));
  seen.claimed_name = ReadName(certificate);
  const std::string name = seen.claimed_name.empty() ? "without a blink:// name" : seen.claimed_name;
  const std::string which = X509_STORE_CTX_get_error_depth(context) == 0
                                ? absl::StrCat("its certificate (", name, ")")
                                : "the certificate of an authority above its own";
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return note("certificate expired",
                  absl::StrCat(which, " expired on ", FormatDate(X509_get0_notAfter(certificate)),
                               "; this machine's clock says ", Now()));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return note("certificate not yet valid",
                  absl::StrCat(which, " is not valid before ", FormatDate(X509_get0_notBefore(certificate)),
                               "; this machine's clock says ", Now()));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return note("certificate of a foreign authority",
                  absl::StrCat(which, " was not signed by the authority that this aggregator knows (--tls-ca)"));
    case X509_V_ERR_INVALID_PURPOSE:
      return note("certificate not for clients", absl::StrCat(which, " is not one for clients"));
    default:
      return note("certificate refused", absl::StrCat(which, " is refused: ", X509_verify_cert_error_string(error)));
  }
}

HandshakeFailure DescribeFailure(const HandshakeSeen& seen, bool finished) {
  if (!seen.spoke) return {"said nothing", "it connected and said nothing", false};
  if (!seen.refusal.empty()) return {seen.refusal_kind, seen.refusal, true};
  if (const auto other = DescribeNoTls(seen.first)) return *other;
  if (seen.alert_received > 0) {
    if (seen.alert_received == SSL_AD_UNKNOWN_CA) {
      return {"refused this aggregator", "it does not know the authority that signed this aggregator's certificate",
              true};
    }
    const char* const text = SSL_alert_desc_string_long(seen.alert_received);
    return {absl::StrCat("ended the handshake (", text, ")"),
            absl::StrCat("it ended the handshake, saying '", text, "': its own log tells why"), true};
  }
  constexpr int kClientHello = SSL3_MT_CLIENT_HELLO;
  if (seen.alert_sent == SSL_AD_PROTOCOL_VERSION) {
    return {"TLS too old", "it speaks no TLS that is new enough: 1.2 is the least", true};
  }
  if (seen.empty_certificate) return {"no certificate", "it sent no certificate, and one is required", true};
  if (seen.alert_sent == SSL_AD_HANDSHAKE_FAILURE && seen.last_message == kClientHello) {
    return {"no common cipher", "it and this aggregator have no cipher in common", true};
  }
  if (seen.alert_sent > 0) {
    return {absl::StrCat("refused (", SSL_alert_desc_string_long(seen.alert_sent), ")"),
            absl::StrCat("refused: ", SSL_alert_desc_string_long(seen.alert_sent)), true};
  }
  // Nodes that give up an attempt leave so, and so do nodes that refuse this aggregator: they log why.
  if (finished) return {"hung up after the handshake", "it hung up as soon as the handshake was over", false};
  if (seen.last_message == kClientHello) {
    return {"hung up when shown this aggregator's certificate",
            "it hung up or fell silent when it had been shown this aggregator's certificate", false};
  }
  return {"hung up in the handshake", "it hung up or fell silent in mid-handshake", false};
}

}  // namespace blink
