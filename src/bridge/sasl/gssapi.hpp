#pragma once
#include "bridge/sasl/mechanism.hpp"

#include <memory>
#include <string>

namespace zklock::bridge {

struct sasl_start;
class kerberos_tickets;

/// Whom a client wants to be, and to whom.
struct kerberos_names {
    std::string service;          ///< of the server: a principal, or, if is_host, the name of the host it runs on
    bool is_host = false;
    std::string keytab{};         ///< empty: none
    std::string credential_cache{}; ///< empty: Kerberos's own
};

/// Makes the first token of an exchange by GSSAPI (RFC 4752): with Kerberos, mutual authentication, no layer, no
/// identity but that of the ticket. It may ask the KDC, and blocks for up to half a minute if that does not answer.
/// `unknown_service` says whether the KDC has no such service.
[[nodiscard]] sasl_start start_gssapi(const kerberos_names&, bool& unknown_service);

} // namespace zklock::bridge
