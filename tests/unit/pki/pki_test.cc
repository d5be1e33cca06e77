#include "common/pki/pki.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kUri[] = "blink://demo/node/3";

BIO* Over(const std::string& text) { return BIO_new_mem_buf(text.data(), static_cast<int>(text.size())); }

std::string TextOf(X509* x509) {
  BIO* out = BIO_new(BIO_s_mem());
  X509_print(out, x509);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string text(data, size);
  BIO_free(out);
  return text;
}

// What `openssl x509 -text` prints.
std::string TextOf(const std::string& pem) {
  BIO* in = Over(pem);
  X509* x509 = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  std::string text = TextOf(x509);
  X509_free(x509);
  return text;
}

// A request by `key` for other names, other rights and another subject, well signed.
std::string GreedyRequest(EVP_PKEY* key) {
  X509_REQ* request = X509_REQ_new();
  X509_REQ_set_pubkey(request, key);
  X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("root"), -1, -1, 0);
  STACK_OF(X509_EXTENSION)* extensions = sk_X509_EXTENSION_new_null();
  sk_X509_EXTENSION_push(extensions,
                         X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "URI:blink://demo/operator/root"));
  sk_X509_EXTENSION_push(extensions, X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"));
  X509_REQ_add_extensions(request, extensions);
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  X509_REQ_sign(request, key, EVP_sha256());
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_X509_REQ(out, request);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string pem(data, size);
  BIO_free(out);
  X509_REQ_free(request);
  return pem;
}

class Pki : public ::testing::Test {
 protected:
  const CertificateAuthority authority_ = CreateAuthority("the authority", absl::Hours(24)).value();
  const std::string key_ = GenerateKey().value();
  const std::string request_ = MakeRequest(key_, "node-3").value();
};

TEST_F(Pki, SignsARequestForTheNameItIsGiven) {
  const absl::StatusOr<std::string> certificate =
      SignRequest(authority_, request_, {.uri_san = kUri, .valid_for = absl::Hours(2)});
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  const CertificateInfo info = InspectCertificate(*certificate).value();
  EXPECT_THAT(info.uri_sans, ElementsAre(kUri));
  EXPECT_EQ(info.issuer, "CN=the authority");
  EXPECT_EQ(info.subject, "CN=node/3,O=demo");
  EXPECT_EQ(info.serial.size(), 32u);
  EXPECT_LT(info.not_before, absl::Now());
  EXPECT_LE(info.not_after, absl::Now() + absl::Hours(2));
  EXPECT_GT(info.not_after, absl::Now() + absl::Minutes(110));
  EXPECT_TRUE(CheckKeyPair(*certificate, key_).ok());
  EXPECT_TRUE(CheckIssuedBy(*certificate, authority_.certificate).ok());
}

TEST_F(Pki, GivesClientsAndServersTheirOwnUseOnly) {
  const std::string client = TextOf(SignRequest(authority_, request_, {.uri_san = kUri}).value());
  EXPECT_THAT(client, HasSubstr("TLS Web Client Authentication"));
  EXPECT_THAT(client, Not(HasSubstr("TLS Web Server Authentication")));
  EXPECT_THAT(client, HasSubstr("CA:FALSE"));
  const std::string server = TextOf(SignRequest(authority_, request_,
                                                {.uri_san = "blink://demo/aggregator",
                                                 .dns_names = {"aggregator.example.org"},
                                                 .ip_addresses = {"10.0.0.7", "::1"},
                                                 .server = true})
                                        .value());
  EXPECT_THAT(server, HasSubstr("TLS Web Server Authentication"));
  EXPECT_THAT(server, Not(HasSubstr("TLS Web Client Authentication")));
  EXPECT_THAT(server, HasSubstr("DNS:aggregator.example.org"));
  EXPECT_THAT(server, HasSubstr("IP Address:10.0.0.7"));
}

TEST_F(Pki, IgnoresEveryExtensionAndTheSubjectOfTheRequest) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  const std::string certificate = SignRequest(authority_, GreedyRequest(key), {.uri_san = kUri}).value();
  EVP_PKEY_free(key);
  EXPECT_THAT(InspectCertificate(certificate)->uri_sans, ElementsAre(kUri));
  const std::string text = TextOf(certificate);
  EXPECT_THAT(text, Not(HasSubstr("operator")));
  EXPECT_THAT(text, Not(HasSubstr("root")));
  EXPECT_THAT(text, Not(HasSubstr("CA:TRUE")));
}

TEST_F(Pki, AUriWithCommasIsOneNameAndNotMore) {
  const std::string uri = "blink://demo/node/3,URI:blink://demo/operator/root";
  EXPECT_THAT(InspectCertificate(SignRequest(authority_, request_, {.uri_san = uri}).value())->uri_sans,
              ElementsAre(uri));
}

TEST_F(Pki, RefusesATamperedRequest) {
  BIO* in = Over(request_);
  X509_REQ* request = PEM_read_bio_X509_REQ(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  EVP_PKEY* stranger = EVP_EC_gen("P-256");
  X509_REQ_set_pubkey(request, stranger);  // another key under the old signature
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_X509_REQ(out, request);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  const absl::Status status = SignRequest(authority_, std::string(data, size), {.uri_san = kUri}).status();
  BIO_free(out);
  EVP_PKEY_free(stranger);
  X509_REQ_free(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not signed by its own key"));
}

TEST_F(Pki, RefusesAWeakKey) {
  EVP_PKEY* key = EVP_RSA_gen(1024);
  const absl::Status status = SignRequest(authority_, GreedyRequest(key), {.uri_san = kUri}).status();
  EVP_PKEY_free(key);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("too weak"));
}

TEST_F(Pki, RefusesWhatIsNoRequest) {
  for (const std::string& text :
       {std::string(), std::string("garbage"), key_, authority_.certificate, request_.substr(0, request_.size() / 2)}) {
    EXPECT_EQ(SignRequest(authority_, text, {.uri_san = kUri}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(Pki, RefusesOptionsWithoutNameOrTime) {
  EXPECT_EQ(SignRequest(authority_, request_, {}).status().code(), absl::StatusCode::kInvalidArgument);
  for (const absl::Duration span : {absl::ZeroDuration(), -absl::Hours(1)}) {
    EXPECT_EQ(SignRequest(authority_, request_, {.uri_san = kUri, .valid_for = span}).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(CreateAuthority("x", span).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(Pki, RefusesMalformedHostNamesAndAddresses) {
  for (const char* dns : {"", "a b", "a,DNS:b", ".a", "-a", "a/b"}) {
    EXPECT_EQ(SignRequest(authority_, request_, {.uri_san = kUri, .dns_names = {dns}}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << dns;
  }
  for (const char* ip : {"", "1.2.3", "1.2.3.4.5", "host", "1.2.3.4/8", ":::"}) {
    EXPECT_EQ(SignRequest(authority_, request_, {.uri_san = kUri, .ip_addresses = {ip}}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << ip;
  }
}

TEST_F(Pki, EverySerialNumberAndKeyIsNew) {
  const std::string first = SignRequest(authority_, request_, {.uri_san = kUri}).value();
  const std::string second = SignRequest(authority_, request_, {.uri_san = kUri}).value();
  EXPECT_NE(InspectCertificate(first)->serial, InspectCertificate(second)->serial);
  EXPECT_NE(GenerateKey().value(), key_);
}

TEST_F(Pki, TellsAForeignKeyAndAForeignAuthority) {
  const std::string certificate = SignRequest(authority_, request_, {.uri_san = kUri}).value();
  EXPECT_EQ(CheckKeyPair(certificate, GenerateKey().value()).code(), absl::StatusCode::kFailedPrecondition);
  const CertificateAuthority namesake = CreateAuthority("the authority", absl::Hours(24)).value();
  EXPECT_EQ(CheckIssuedBy(certificate, namesake.certificate).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Pki, RefusesGarbageAndNeverAsksForAPassword) {
  EXPECT_EQ(InspectCertificate("garbage").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckKeyPair(authority_.certificate, "garbage").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeRequest("garbage", "x").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeRequest(key_, "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeRequest(key_, std::string(65, 'x')).status().code(), absl::StatusCode::kInvalidArgument);
  BIO* in = Over(key_);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  BIO* out = BIO_new(BIO_s_mem());
  char password[] = "secret";
  PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_256_cbc(), password, 6, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  EXPECT_EQ(MakeRequest(std::string(data, size), "x").status().code(), absl::StatusCode::kInvalidArgument);
  BIO_free(out);
  EVP_PKEY_free(key);
}

}  // namespace
}  // namespace blink
