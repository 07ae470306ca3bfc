#pragma once
#include "bridge/peers/addresses.hpp"
#include "bridge/peers/settings.hpp"
#include "store/logger.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::bridge::peering {

/// Where other clients are told to come. The log has it whenever it changes.
class own_endpoint {
public:
    /// The address from which the client is connected to its server, while it is.
    using local_address = std::function<std::optional<address>()>;

    own_endpoint(const settings&, local_address, const store::logger&);

    /// As `address:port`, of who listens there; empty if others cannot reach it.
    [[nodiscard]] std::string_view text(const endpoint& bound);

private:
    void take(const endpoint& now, const endpoint& bound);

    const settings& settings_;
    const local_address local_address_;
    const store::logger& log_;
    std::optional<endpoint> told_; ///< in text_
    std::string text_;
};

} // namespace zklock::bridge::peering
