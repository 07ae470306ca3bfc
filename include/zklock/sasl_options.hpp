// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/detail/same_library.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace zklock {

/// By which mechanism a client identifies itself. A server speaks one of the two.
enum class sasl_mechanism : std::uint8_t {
    off,
    gssapi,    ///< Kerberos
    digest_md5 ///< a user's name and password
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(sasl_mechanism e) noexcept
{
    switch (e) {
    case sasl_mechanism::off: return "off";
    case sasl_mechanism::gssapi: return "gssapi";
    case sasl_mechanism::digest_md5: return "digest_md5";
    }
    return "unknown";
}

/// Whether and how a client identifies itself to the servers by SASL, and they to it. Off at first. The user's guide
/// sets up servers for either mechanism.
///
/// With it, each connection begins with an exchange, in which both prove who they are. Nothing of the client travels
/// before, but its request for a session. Then it has the identity `sasl:name`, beside those of `client_options::auth`
/// and of a certificate: `acl::creator_all` works. The exchange takes two round trips more with DIGEST-MD5, and three
/// with Kerberos; after that, connections without TLS are as fast as without SASL.
///
/// **When it fails**, that is one attempt that failed, and `log` and `last_timeout()` have the reason: the client goes
/// on with the other servers, and tries again after a pause. If every server that answers *refuses* the client (a wrong
/// password, say), it gives up: `errc::authentication_failed`. Its session is left alone then, and ends with its
/// time-out.
///
/// **Kerberos**: the tickets are got before a server is dialed. A Kerberos server (KDC) that does not answer holds
/// nothing up but connecting: neither the executor, nor the end of the execution context. A ticket that ends while the
/// client is connected ends no connection, and a keytab or a cache that is renewed is taken up at the next connect.
///
/// Options that contradict each other are `errc::invalid_option`, and `find_fault()` names them; it reads no file. So
/// is any mechanism where the library was built without SASL (CMake's option ZKLOCK_SASL).
struct sasl_options {
    sasl_options() = default; // no aggregate: see client_options
    sasl_options(const sasl_options&) = default;
    sasl_options(sasl_options&&) = default;
    sasl_options& operator=(const sasl_options&) = default;
    sasl_options& operator=(sasl_options&&) = default;
    /// Overwrites the password in memory.
    ~sasl_options() { forget(password); }

    /// If any of the others is set, this has to be: nobody connects without an identity by mistake.
    sasl_mechanism mechanism = sasl_mechanism::off;

    /// DIGEST-MD5: who the client is, in UTF-8. The servers' realm comes from themselves.
    std::string user;
    /// DIGEST-MD5: that user's password, in UTF-8. It never leaves the client, and appears in no log and in no message.
    ///
    /// DIGEST-MD5 is historic (RFC 6331). Without TLS, who listens on the network can try passwords at leisure, and who
    /// can change what is sent there can act as the client: use long passwords, or TLS.
    std::string password;

    /// Kerberos: the servers' principal, such as `zookeeper/zk1.example.com@EXAMPLE.COM`, if all have the same. Empty:
    /// `zookeeper/` and the name by which `client_options::servers` calls the server that is tried.
    std::string server_principal;
    /// Kerberos: the file with the client's own key, for programs that run without a user. The tickets are got with it,
    /// and kept in memory, unless `credential_cache` says where else. Empty: there are tickets in the credential cache.
    std::string keytab;
    /// Kerberos: where the client's tickets are, such as `FILE:/run/shop/tickets`. Empty: where Kerberos has them by
    /// itself, as the environment (KRB5CCNAME) or `krb5.conf` says; with a keytab, in memory.
    std::string credential_cache;

private:
    static void forget(std::string& secret) noexcept
    {
        secret.resize(secret.capacity()); // also what is left behind the end, as of a text that was moved away
        for (volatile char& each : secret)
            each = '\0';
    }
};

} // namespace zklock
