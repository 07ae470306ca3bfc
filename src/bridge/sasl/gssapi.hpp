#pragma once
#include "bridge/sasl/credentials.hpp"

#include <memory>
#include <string>

namespace zklock::bridge {

/// Whom a client wants to speak to, and what it has to prove who it is.
struct kerberos_names {
    std::string service{}; ///< a principal; or, if is_host, the name of the host that ZooKeeper runs on
    bool is_host = false;
    std::string keytab{};                ///< empty: none
    std::string cache{};                 ///< of tickets; empty: Kerberos's own
    std::shared_ptr<memory_cache> own{}; ///< if that is in memory
};

struct gssapi_start {
    sasl_start start{};
    bool unknown_service = false; ///< the KDC has no such service
};

/// Makes the first token of an exchange by GSSAPI (RFC 4752): with Kerberos, mutual authentication, no layer, and no
/// identity but that of the ticket. It may ask the KDC, and blocks for up to half a minute if that does not answer.
[[nodiscard]] gssapi_start start_gssapi(const kerberos_names&);

} // namespace zklock::bridge
