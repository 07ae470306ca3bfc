#pragma once
#include "bridge/peers/node_id.hpp"
#include "store/peers.hpp"

#include <cstdint>
#include <memory>

namespace zklock::bridge::peering {

/// Makes the secrets of a client's nodes, and the commitments to them. This alone knows OpenSSL.
class secret_source {
public:
    secret_source(); ///< asks the system for a key; throws std::system_error if there is none
    ~secret_source();
    secret_source(const secret_source&) = delete;
    secret_source& operator=(const secret_source&) = delete;

    /// Throws std::bad_alloc if OpenSSL has no memory.
    [[nodiscard]] store::node_secret make();
    [[nodiscard]] node_id commitment_to(const store::node_secret&) const;

private:
    struct digest;
    std::unique_ptr<digest> digest_;
    std::array<std::uint8_t, 40> key_and_counter_{};
};

} // namespace zklock::bridge::peering
