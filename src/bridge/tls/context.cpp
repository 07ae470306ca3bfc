#include "bridge/tls/context.hpp"
#include "bridge/tls/authorities.hpp"
#include "bridge/tls/identity.hpp"
#include "bridge/tls/openssl.hpp"

#include <boost/asio/ssl/context.hpp>

#include <algorithm>

namespace zklock::bridge {

namespace {

bool nothing_changed(const tls_context& before)
{
    return std::ranges::all_of(before.made_of(), [](const tls_file& each) { return each.unchanged(); });
}

/// A context that lets nobody in yet.
owned_context make_context(std::string& why)
{
    owned_context made(SSL_CTX_new(TLS_client_method()));
    if (!made) {
        why = "OpenSSL makes no context: " + first_error();
        return made;
    }
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_default_passwd_cb(made.get(), &refuse_to_ask);
    return made;
}

} // namespace

tls_context::tls_context(const std::shared_ptr<boost::asio::ssl::context>& of_user)
    : native_(of_user, of_user->native_handle()), is_of_user_(true)
{
}

bool verifies_servers(boost::asio::ssl::context& of_user)
{
    const SSL_CTX* const native = of_user.native_handle(); // none if it was moved from
    return native && (SSL_CTX_get_verify_mode(native) & SSL_VERIFY_PEER) != 0;
}

tls_loaded load_tls(const tls_options& options, const std::shared_ptr<const tls_context>& before)
{
    if (before && nothing_changed(*before))
        return {before, {}};
    const own_errors errors;
    std::string why;
    std::vector<tls_file> made_of;
    owned_context made = make_context(why);
    if (!made || !load_authorities(*made, options.ca_file, made_of, why) ||
        !load_identity(*made, options, made_of, why))
        return {before, std::move(why)};
    return {std::make_shared<const tls_context>(std::move(made), options.ca_file.empty(), std::move(made_of)), {}};
}

} // namespace zklock::bridge
