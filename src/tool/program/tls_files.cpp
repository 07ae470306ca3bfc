#include "tool/program/tls_files.hpp"
#include "tool/program/connection_arguments.hpp"

#include <boost/asio/ssl/context.hpp>
#include <fmt/format.h>
#include <openssl/pemerr.h>
#include <openssl/x509err.h>

#include <string>

#include <string.h>
#include <unistd.h>

#include <cerrno>

namespace zklock::tool {
namespace {

namespace ssl = boost::asio::ssl;

/// A file of one of the options, and what OpenSSL says of it.
struct tls_file_use {
    const char* option;
    const std::string& file;
    const char* what; ///< it should have

    void expect_readable() const
    {
        if (::access(file.c_str(), R_OK) != 0)
            refuse(::strerror(errno));
    }
    void expect_used(const boost::system::error_code& failed) const
    {
        const auto code = static_cast<unsigned long>(failed.value());
        const int library = ERR_GET_LIB(code), reason = ERR_GET_REASON(code);
        if (library == ERR_LIB_OSSL_DECODER || (library == ERR_LIB_PEM && reason == PEM_R_NO_START_LINE) ||
            (library == ERR_LIB_X509 && reason == X509_R_NO_CERTIFICATE_OR_CRL_FOUND))
            refuse(fmt::format("no PEM text of {} can be read in it", what));
        if (failed)
            refuse(failed.message());
    }
    [[noreturn]] void refuse(const std::string& why) const
    {
        throw usage_error(fmt::format("{} {}: {}", option, file, why));
    }
};

} // namespace

void check_tls_files(const tls_options& tls)
{
    ssl::context tried(ssl::context::tls_client);
    boost::system::error_code failed;
    const tls_file_use authorities{"--tls-ca", tls.ca_file, "a certificate"};
    if (!tls.ca_file.empty()) {
        authorities.expect_readable();
        tried.load_verify_file(tls.ca_file, failed);
        authorities.expect_used(failed);
    }
    if (tls.certificate_file.empty())
        return;
    const tls_file_use certificate{"--tls-cert", tls.certificate_file, "a certificate"};
    certificate.expect_readable();
    tried.use_certificate_chain_file(tls.certificate_file, failed);
    certificate.expect_used(failed);
    const bool apart = !tls.key_file.empty();
    const tls_file_use key{apart ? "--tls-key" : "--tls-cert", apart ? tls.key_file : tls.certificate_file, "a key"};
    key.expect_readable();
    bool encrypted = false;
    const auto tell_password = [&](std::size_t, ssl::context::password_purpose) {
        encrypted = true;
        return tls.key_password;
    };
    tried.set_password_callback(tell_password, failed);
    tried.use_private_key_file(key.file, ssl::context::pem, failed);
    if (failed && encrypted && ERR_GET_LIB(static_cast<unsigned long>(failed.value())) != ERR_LIB_X509)
        key.refuse(tls.key_password.empty() ? "it is encrypted, and ZKLOCK_TLS_KEY_PASSWORD is empty"
                                            : "the password in ZKLOCK_TLS_KEY_PASSWORD does not open it");
    key.expect_used(failed);
}

} // namespace zklock::tool
