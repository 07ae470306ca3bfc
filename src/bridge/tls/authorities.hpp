#pragma once
#include "bridge/tls/files.hpp"
#include "bridge/tls/openssl.hpp"

#include <string>
#include <vector>

namespace zklock::bridge {

/// Has the context trust the certificates in `file`, or those of the system if that is empty. Adds what was read to
/// `read`. False if there is none, or one that cannot be read: `why` says so.
[[nodiscard]] bool load_authorities(SSL_CTX&, const std::string& file, std::vector<tls_file>& read, std::string& why);

} // namespace zklock::bridge
