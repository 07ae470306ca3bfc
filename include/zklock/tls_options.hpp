// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/same_library.hpp"

#include <memory>
#include <string>

namespace boost::asio::ssl {
class context; // <boost/asio/ssl/context.hpp>, which who sets none need not include
}

namespace zklock {

/// Whether and how a client encrypts what it says to the servers, and how the two prove who they are. Off at first.
///
/// With TLS, each connection is encrypted from its first byte, and goes to a server whose certificate was verified:
/// there is no way back to a connection without. It is TLS 1.2 or later. Servers need a `secureClientPort`, which is
/// the port that `client_options::servers` has to name then (2181 where it names none), and Netty's connection factory.
///
/// **Verification.** A server's certificate has to be signed by one of the authorities, be valid today, and be for the
/// server's name as `client_options::servers` spells it, dots at its end aside: one of the DNS names that the
/// certificate lists (its subjectAltName), or its common name if it lists no DNS name, as with ZooKeeper's own clients.
/// A server that is given by its IP address needs that address in the list, and is sent no name (SNI). An address with
/// a scope id (`[fe80::1%eth0]`) is in no certificate: `errc::invalid_option`.
///
/// **When it fails**, that is one attempt that failed: the client goes on with the other servers, and tries again after
/// a pause, since files and certificates can be put right while it runs. While it has failed with all of them, what
/// would end with `errc::not_connected` ends with `errc::tls_failed`; `log` has OpenSSL's reasons.
///
/// **Files** are PEM. They are read when the client connects, by the threads that look up names and never on the
/// executor, and at each later connect if they have changed: so a certificate that is renewed on disk is taken up at
/// the next connect; the connections that are there go on. If what has changed cannot be used (a certificate and a key
/// that do not belong together, because only one of the two is renewed yet, or a file that is missing or unreadable),
/// what was read before stays in use, and `log` says so.
///
/// Options that contradict each other are `errc::invalid_option`, and `find_fault()` names them; it reads no file. So
/// is `enabled` where the library was built without TLS (CMake's option ZKLOCK_TLS).
struct tls_options {
    tls_options() = default; // no aggregate: see client_options

    /// Connect with TLS. If any of the others is set, this has to be: nobody connects in clear by mistake.
    bool enabled = false;

    /// The certificates of the authorities that servers' certificates are signed by: a file with one or more, which
    /// then are the only ones. Empty: the system's, as OpenSSL finds them: its own file and folder (below `openssl
    /// version -d`), or those that the environment names as SSL_CERT_FILE and SSL_CERT_DIR.
    std::string ca_file;

    /// The client's own certificate, for servers that want to see one (`ssl.clientAuth=need`, ZooKeeper's default, and
    /// `want`): a file with it first, followed by those between it and its authority, if there are any. Empty: the
    /// client shows none. With the servers' scheme `x509` it is an identity like those of `client_options::auth`,
    /// without being named there: `acl::creator_all` works.
    std::string certificate_file;
    /// The key of that certificate. Empty: it is in `certificate_file`.
    std::string key_file;
    /// What the key is encrypted with: up to 1,023 bytes. Empty: it is not encrypted. If it is all the same, or if the
    /// password is wrong, connecting fails; nobody is ever asked on a terminal. It appears in no log and in no message.
    std::string key_password;

    /// For who knows Asio: a context of one's own, in place of all files above, which have to be empty then. It can
    /// have keys from elsewhere, ciphers, revocation lists, callbacks. The program links to OpenSSL itself for it.
    ///
    /// The client leaves it as it is, with its callbacks: what is said above of names, addresses and TLS 1.2 is set for
    /// each connection. So a verify callback sees that a name does not match as an error like any other, which it could
    /// overrule; Asio's `host_name_verification` need not be set. A context has to verify (`verify_peer`): one that is
    /// `verify_none`, as contexts are at first, is `errc::invalid_option`. It may serve several clients. It must not be
    /// changed as long as a client has it; its callbacks are called on the client's strand, and must not block or call
    /// the client.
    std::shared_ptr<boost::asio::ssl::context> context;
};

} // namespace zklock
