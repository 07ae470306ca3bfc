#pragma once
#include "bridge/peers/node_id.hpp"
#include "store/peers.hpp"

#include <array>
#include <cstddef>
#include <memory>

#include <boost/circular_buffer.hpp>

namespace zklock::bridge::peering {

/// Makes the secrets of a client's nodes, and the commitments to them. This alone knows OpenSSL.
class secret_source {
public:
    struct committed_secret {
        store::node_secret secret;
        node_id commitment;
    };
    /// So many are made at once, because between two acquires the processor's caches lose OpenSSL's code: the first
    /// takes four times as long as each that follows.
    static constexpr std::size_t at_once = 32;

    secret_source(); ///< throws std::bad_alloc, and std::runtime_error if OpenSSL has no randomness
    ~secret_source();
    secret_source& operator=(secret_source&&) = delete;

    /// Throws std::bad_alloc if OpenSSL has no memory.
    [[nodiscard]] std::array<committed_secret, at_once> make() const;
    [[nodiscard]] node_id commitment_to(const store::node_secret&) const;

private:
    struct digest;
    std::unique_ptr<digest> digest_;
};

/// The commitments to the secrets that were told last, by this client or to it: those who stand in one queue tell each
/// other the same ones again and again. The secret of a node that was not let go is not kept here, because how long a
/// look takes would tell others how much of it they have guessed.
class told_secrets {
public:
    explicit told_secrets(const secret_source& hashes) : hashes_(hashes) {}

    [[nodiscard]] node_id commitment_to(const store::node_secret&) const;
    /// The same, of a secret that is told now.
    [[nodiscard]] node_id keep(const store::node_secret&);
    /// That secret, which has that commitment, is told for the first time; if not, it takes up a second place.
    void keep_first_told(const store::node_secret&, const node_id& commitment) noexcept;

private:
    struct told {
        store::node_secret secret;
        node_id commitment;
    };

    [[nodiscard]] const told* find(const store::node_secret&) const noexcept;

    const secret_source& hashes_;
    boost::circular_buffer<told> last_{32};
};

} // namespace zklock::bridge::peering
