#pragma once
#include <zklock/client_options.hpp>

namespace zklock::tool {

/// Throws a usage_error that names the option and the file if a file of TLS cannot be used. A client would go on to
/// look whether it has become another one, as in a renewal.
void check_tls_files(const tls_options&);

} // namespace zklock::tool
