#pragma once
#include "bridge/tls/openssl.hpp"

#include <string>

namespace zklock::bridge {

/// The certificate's subject, for people: `CN=zk1,O=shop`.
[[nodiscard]] std::string subject_of(const X509&);
/// The names and addresses that the certificate is for: `DNS:zk1, DNS:zk2, IP:10.0.0.1`; the common name where it lists
/// none.
[[nodiscard]] std::string names_of(const X509&);

} // namespace zklock::bridge
