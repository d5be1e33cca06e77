#include "common/pki/revocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class Revocation : public ::testing::Test {
 protected:
  RevocationListOptions Options(uint64_t number, std::vector<RevokedCertificate> revoked = {}) const {
    return {
        .number = number, .this_update = now_, .next_update = now_ + absl::Hours(24), .revoked = std::move(revoked)};
  }
  std::string Sign(const RevocationListOptions& options) const {
    return SignRevocationList(authority_, options).value();
  }
  absl::Status Refusal(const std::string& pem) const {
    return RevocationList::Parse(pem, authority_.certificate).status();
  }
  // The list of `pem` after OpenSSL has changed and signed it anew.
  std::string Resigned(const std::string& pem, const std::function<void(X509_CRL*)>& change) const {
    BIO* in = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    X509_CRL* list = PEM_read_bio_X509_CRL(in, nullptr, nullptr, nullptr);
    BIO* key_in = BIO_new_mem_buf(authority_.key.data(), static_cast<int>(authority_.key.size()));
    EVP_PKEY* key = PEM_read_bio_PrivateKey(key_in, nullptr, nullptr, nullptr);
    change(list);
    X509_CRL_sign(list, key, EVP_sha256());
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509_CRL(out, list);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out, &data);
    std::string changed(data, size);
    for (BIO* bio : {in, key_in, out}) BIO_free(bio);
    X509_CRL_free(list);
    EVP_PKEY_free(key);
    return changed;
  }

  const CertificateAuthority authority_ = CreateAuthority("the authority", absl::Hours(48)).value();
  const absl::Time now_ = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()));
};

TEST_F(Revocation, AListComesBackAsItWasSigned) {
  const absl::StatusOr<RevocationList> list = RevocationList::Parse(
      Sign(Options(7, {{"4a0b", now_, "key-compromise"}, {"7f", now_ - absl::Hours(1), "unspecified"}})),
      authority_.certificate);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->number(), 7u);
  EXPECT_EQ(list->this_update(), now_);
  EXPECT_EQ(list->next_update(), now_ + absl::Hours(24));
  EXPECT_EQ(list->size(), 2u);
  ASSERT_NE(list->Find("4a0b"), nullptr);
  EXPECT_EQ(list->Find("4a0b")->reason, "key-compromise");
  EXPECT_EQ(list->Find("7f")->when, now_ - absl::Hours(1));
  EXPECT_EQ(list->Find("7f")->reason, "unspecified");
  EXPECT_EQ(list->Find("80"), nullptr);
}

TEST_F(Revocation, AnEmptyListIsAList) {
  const absl::StatusOr<RevocationList> list = RevocationList::Parse(Sign(Options(1)), authority_.certificate);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->size(), 0u);
}

TEST_F(Revocation, FindsTheSerialNumberOfACertificateThatOpenSslRevokes) {
  const std::string certificate =
      SignRequest(authority_, MakeRequest(GenerateKey().value(), "x").value(), {.uri_san = "blink://demo/node/3"})
          .value();
  const std::string pem = Sign(Options(2, {{InspectCertificate(certificate)->serial, now_, "superseded"}}));
  BIO* crl_in = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  BIO* x509_in = BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size()));
  X509_CRL* list = PEM_read_bio_X509_CRL(crl_in, nullptr, nullptr, nullptr);
  X509* x509 = PEM_read_bio_X509(x509_in, nullptr, nullptr, nullptr);
  X509_REVOKED* entry = nullptr;
  EXPECT_EQ(X509_CRL_get0_by_cert(list, &entry, x509), 1);
  EXPECT_EQ(X509_CRL_get_version(list), X509_CRL_VERSION_2);
  X509_CRL_free(list);
  X509_free(x509);
  BIO_free(crl_in);
  BIO_free(x509_in);
}

TEST_F(Revocation, RefusesAListOfAnotherAuthority) {
  const CertificateAuthority other = CreateAuthority("another", absl::Hours(1)).value();
  const CertificateAuthority namesake = CreateAuthority("the authority", absl::Hours(1)).value();
  for (const CertificateAuthority& signer : {other, namesake}) {
    const absl::Status refused = Refusal(SignRevocationList(signer, Options(1)).value());
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("not signed by this certificate authority"));
  }
}

TEST_F(Revocation, RefusesWhatIsNoSingleList) {
  const std::string good = Sign(Options(1));
  std::string damaged = good;
  damaged[damaged.size() / 2] = damaged[damaged.size() / 2] == 'A' ? 'B' : 'A';
  for (const std::string& text : {std::string(), std::string("garbage"), authority_.certificate,
                                  good.substr(0, good.size() / 2), damaged, good + good}) {
    EXPECT_FALSE(Refusal(text).ok()) << text;
  }
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST_F(Revocation, RefusesAListWithoutANumber) {
  const std::string pem = Resigned(Sign(Options(1)), [](X509_CRL* list) {
    X509_EXTENSION_free(X509_CRL_delete_ext(list, X509_CRL_get_ext_by_NID(list, NID_crl_number, -1)));
  });
  EXPECT_THAT(std::string(Refusal(pem).message()), HasSubstr("crlNumber"));
}

TEST_F(Revocation, RefusesADeltaList) {
  const std::string pem = Resigned(Sign(Options(2)), [](X509_CRL* list) {
    ASN1_INTEGER* base = ASN1_INTEGER_new();
    ASN1_INTEGER_set(base, 1);
    X509_CRL_add1_ext_i2d(list, NID_delta_crl, base, /*crit=*/1, 0);
    ASN1_INTEGER_free(base);
  });
  EXPECT_THAT(std::string(Refusal(pem).message()), HasSubstr("delta"));
}

TEST_F(Revocation, RefusesToSignNonsense) {
  EXPECT_FALSE(SignRevocationList(authority_, Options(0)).ok());
  EXPECT_FALSE(SignRevocationList(authority_, Options(1, {{"xyz", now_, "superseded"}})).ok());
  EXPECT_FALSE(SignRevocationList(authority_, Options(1, {{"", now_, "superseded"}})).ok());
  EXPECT_FALSE(SignRevocationList(authority_, Options(1, {{"-1", now_, "superseded"}})).ok());
  EXPECT_FALSE(SignRevocationList(authority_, Options(1, {{"1", now_, "superseded"}, {"1", now_, "superseded"}})).ok());
  const absl::Status reason = SignRevocationList(authority_, Options(1, {{"1", now_, "whim"}})).status();
  EXPECT_THAT(std::string(reason.message()), HasSubstr("cessation-of-operation"));
  RevocationListOptions never = Options(1);
  never.next_update = never.this_update;
  EXPECT_FALSE(SignRevocationList(authority_, never).ok());
}

TEST_F(Revocation, ARequestAndItsCertificateHaveTheSameKeyDigestAndOthersAnother) {
  const std::string request = MakeRequest(GenerateKey().value(), "x").value();
  const std::string certificate = SignRequest(authority_, request, {.uri_san = "blink://demo/node/3"}).value();
  EXPECT_EQ(KeyDigestOfRequest(request).value(), InspectCertificate(certificate)->key_digest);
  EXPECT_EQ(KeyDigestOfRequest(request)->size(), 64u);
  EXPECT_NE(KeyDigestOfRequest(MakeRequest(GenerateKey().value(), "x").value()).value(),
            KeyDigestOfRequest(request).value());
  EXPECT_FALSE(KeyDigestOfRequest("garbage").ok());
}

}  // namespace
}  // namespace blink
