// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/same_library.hpp"

#include <cstdint>
#include <string>

namespace zklock {

/// How a client proves to the servers who it is, beyond `client_options::auth` and certificates.
enum class sasl_mechanism : std::uint8_t {
    off,
    gssapi,    ///< Kerberos
    digest_md5 ///< a user's name and password
};

/// Whether and how a client identifies itself by SASL on each connection, before anything else is asked there. Off at
/// first.
struct sasl_options {
    sasl_options() = default; // no aggregate: see client_options

    sasl_mechanism mechanism = sasl_mechanism::off;

    /// DIGEST-MD5: the user's name, in UTF-8.
    std::string user;
    /// DIGEST-MD5: the user's password, in UTF-8. It appears in no log and in no message.
    std::string password;

    /// Kerberos: the servers' principal, such as `zookeeper/zk1.example.com@EXAMPLE.COM`. Empty: `zookeeper/` and the
    /// name by which the server is tried.
    std::string server_principal;
    /// Kerberos: a file with the client's own keys. Empty: there has to be a ticket in the credential cache.
    std::string keytab;
    /// Kerberos: where the client's tickets are. Empty: with a keytab, a cache in memory of the client's own; else what
    /// Kerberos takes by itself (KRB5CCNAME, `krb5.conf`).
    std::string credential_cache;
};

} // namespace zklock
