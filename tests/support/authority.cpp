#include "support/authority.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <stdexcept>

namespace zklock::test {

namespace {

using bridge::owned_bio;
using bridge::owned_certificate;
using bridge::owned_key;

void must(bool done)
{
    if (!done)
        throw std::runtime_error("OpenSSL: " + bridge::first_error());
}

owned_key make_key(const std::string& type)
{
    owned_key key(type == "RSA" ? EVP_RSA_gen(2048) : EVP_EC_gen(type.c_str()));
    must(key != nullptr);
    return key;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    must(made && X509_add_ext(certificate, made, -1) == 1);
    X509_EXTENSION_free(made);
}

/// Of a subject, not signed yet.
owned_certificate make_certificate(const certificate_request& r, EVP_PKEY* key)
{
    static std::atomic<long> serial{1};
    owned_certificate made(X509_new());
    must(made != nullptr);
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), r.from);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), r.until);
    X509_set_pubkey(made.get(), key);
    const auto* const name = reinterpret_cast<const unsigned char*>(r.common_name.c_str());
    must(X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8, name, -1, -1, 0) == 1);
    return made;
}

void sign(X509* certificate, X509* issuer, EVP_PKEY* key)
{
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
    must(X509_sign(certificate, key, EVP_sha256()) != 0);
}

template <class Write> std::string text(Write write)
{
    const owned_bio to(BIO_new(BIO_s_mem()));
    must(to && write(to.get()) == 1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(to.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

std::string text_of(X509* certificate)
{
    return text([&](BIO* to) { return PEM_write_bio_X509(to, certificate); });
}

constexpr int ten_years = 10 * 365 * 24 * 3'600;

certificate_request authority_request(const std::string& name)
{
    certificate_request r;
    r.common_name = name;
    r.from = -ten_years;
    r.until = ten_years;
    return r;
}

} // namespace

std::string encrypted(const std::string& key, const std::string& password)
{
    const owned_bio from(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
    const owned_key plain(PEM_read_bio_PrivateKey(from.get(), nullptr, nullptr, nullptr));
    must(plain != nullptr);
    return text([&](BIO* to) {
        return PEM_write_bio_PKCS8PrivateKey(to, plain.get(), EVP_aes_256_cbc(), password.data(),
                                             static_cast<int>(password.size()), nullptr, nullptr);
    });
}

authority::authority(const std::string& name)
    : key_(make_key("P-256")), certificate_(make_certificate(authority_request(name), key_.get()))
{
    extend(certificate_.get(), certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    sign(certificate_.get(), certificate_.get(), key_.get());
    text_ = text_of(certificate_.get());
}

authority authority::between(const std::string& name) const
{
    authority made;
    made.key_ = make_key("P-256");
    made.certificate_ = make_certificate(authority_request(name), made.key_.get());
    extend(made.certificate_.get(), certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    sign(made.certificate_.get(), certificate_.get(), key_.get());
    made.text_ = text_of(made.certificate_.get());
    return made;
}

identity authority::issue(const certificate_request& r) const
{
    const owned_key key = make_key(r.key_type);
    const owned_certificate made = make_certificate(r, key.get());
    std::string names;
    for (const std::string& each : r.names)
        names += (names.empty() ? "" : ",") + each;
    if (!names.empty())
        extend(made.get(), certificate_.get(), NID_subject_alt_name, names);
    sign(made.get(), certificate_.get(), key_.get());
    return {text_of(made.get()), text([&](BIO* to) {
                return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
            })};
}

} // namespace zklock::test
