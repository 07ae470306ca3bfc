#pragma once
#include "bridge/tls/files.hpp"
#include "bridge/tls/openssl.hpp"
#include "zklock/client_options.hpp"

#include <string>
#include <vector>

namespace zklock::bridge {

/// The password callback where there is no password: without one, OpenSSL would ask on the terminal.
int refuse_to_ask(char* buffer, int size, int writing, void*) noexcept;

/// Whether a PEM reader has just returned nothing because nothing more was there, and not because something was wrong.
[[nodiscard]] bool no_more_pem() noexcept;

/// Gives the context certificate and key, if the options name them. Adds what was read to `read`. False if they cannot
/// be used: `why` says so.
[[nodiscard]] bool load_identity(SSL_CTX&, const tls_options&, std::vector<tls_file>& read, std::string& why);

} // namespace zklock::bridge
