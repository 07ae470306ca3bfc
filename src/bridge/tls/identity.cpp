#include "bridge/tls/identity.hpp"

#include <openssl/pem.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace zklock::bridge {

namespace {

/// Answers OpenSSL's question for the key's password.
struct password {
    const std::string& text;
    bool asked = false;

    static int give(char* buffer, int size, int, void* self) noexcept
    {
        password& own = *static_cast<password*>(self);
        own.asked = true;
        if (own.text.empty() || own.text.size() > static_cast<std::size_t>(size))
            return -1;
        std::ranges::copy(own.text, buffer);
        return static_cast<int>(own.text.size());
    }
};

/// The first is the client's, the others are on the way to its authority.
bool use_certificates(SSL_CTX& context, std::string_view text)
{
    const owned_bio from = over(text);
    if (!from)
        return false;
    const owned_certificate own(PEM_read_bio_X509_AUX(from.get(), nullptr, &refuse_to_ask, nullptr));
    if (!own || SSL_CTX_use_certificate(&context, own.get()) != 1)
        return false;
    for (;;) {
        owned_certificate next(PEM_read_bio_X509(from.get(), nullptr, &refuse_to_ask, nullptr));
        if (!next)
            return no_more_pem();
        if (SSL_CTX_add0_chain_cert(&context, next.get()) != 1)
            return false;
        static_cast<void>(next.release());
    }
}

/// Tells where the key is: in the certificate's file, if there is no other one for it.
const std::string& key_path(const tls_options& options)
{
    return options.key_file.empty() ? options.certificate_file : options.key_file;
}

owned_key read_key(std::string_view text, const tls_options& options, std::string& why)
{
    const std::string& path = key_path(options);
    const owned_bio from = over(text);
    password secret{options.key_password};
    owned_key key(from ? PEM_read_bio_PrivateKey(from.get(), nullptr, &password::give, &secret) : nullptr);
    if (key)
        return key;
    if (secret.asked && options.key_password.empty())
        why = "the key in " + path + " is encrypted, and tls.key_password is empty";
    else if (secret.asked)
        why = "the key in " + path + " cannot be decrypted with tls.key_password: " + first_error();
    else
        why = (options.key_file.empty() ? "tls.key_file is empty, and " : "") +
              ("no key in the form of PEM can be read from " + path) + ": " + first_error();
    return key;
}

} // namespace

int refuse_to_ask(char*, int, int, void*) noexcept
{
    return -1;
}

bool no_more_pem() noexcept
{
    const unsigned long code = ERR_peek_last_error();
    const bool ended = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
    if (ended)
        ERR_clear_error();
    return ended;
}

bool load_identity(SSL_CTX& context, const tls_options& options, std::vector<tls_file>& read, std::string& why)
{
    if (options.certificate_file.empty())
        return true;
    const auto certificate = read.emplace_back(options.certificate_file).read(why);
    if (!certificate) {
        why.insert(0, "tls.certificate_file: ");
        return false;
    }
    if (!use_certificates(context, certificate->text())) {
        why = "tls.certificate_file: no certificate in " + options.certificate_file +
              " that can be used: " + first_error();
        return false;
    }
    const bool apart = !options.key_file.empty();
    const std::string& path = key_path(options);
    const auto key_file = apart ? read.emplace_back(path).read(why) : std::optional<secret>(std::in_place);
    if (!key_file) {
        why.insert(0, "tls.key_file: ");
        return false;
    }
    const owned_key key = read_key(apart ? key_file->text() : certificate->text(), options, why);
    if (!key)
        return false;
    if (X509_check_private_key(SSL_CTX_get0_certificate(&context), key.get()) != 1) {
        why = "the key in " + path + " is not that of the certificate in " + options.certificate_file;
        return false;
    }
    if (SSL_CTX_use_PrivateKey(&context, key.get()) != 1) {
        why = "the key in " + path + " cannot be used: " + first_error();
        return false;
    }
    return true;
}

} // namespace zklock::bridge
