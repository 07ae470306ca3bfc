#pragma once
#include "bridge/sasl/mechanism.hpp"
#include "bridge/sasl/tickets.hpp"
#include "zklock/client_options.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::bridge {

/// What a client identifies itself with. It is wiped when it is no longer needed. One object serves all connections of
/// a client, from several threads at once: tickets that were got with a keytab are kept in it.
class sasl_credentials {
public:
    /// The mechanism is not `off`.
    explicit sasl_credentials(sasl_options from);

    /// In logs: `Kerberos`, `DIGEST-MD5`.
    [[nodiscard]] const char* mechanism_name() const noexcept;
    /// Whether start_sasl() may ask the network, or files: then it has to be called in a call of `kdc_calls`.
    [[nodiscard]] bool may_block() const noexcept { return options_.mechanism == sasl_mechanism::gssapi; }

private:
    friend struct sasl_start start_sasl(const sasl_credentials&, const std::vector<std::string>& hosts);

    const sasl_options options_;
    mutable std::optional<kerberos_tickets> tickets_;
};

/// The beginning of an exchange with one server.
struct sasl_start {
    std::unique_ptr<mechanism> made{}; ///< null if it cannot be made
    std::string why{};                 ///< then: why not, in words (Kerberos's own)
};

/// Makes what is needed to identify the client to a server, before it is dialed. With Kerberos, `hosts` are the names
/// by which the user calls the server, without brackets and dots at the end: the first of which the KDC knows a service
/// is taken. It may take half a minute, where a KDC does not answer.
[[nodiscard]] sasl_start start_sasl(const sasl_credentials&, const std::vector<std::string>& hosts);

} // namespace zklock::bridge
