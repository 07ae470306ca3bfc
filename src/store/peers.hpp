#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zklock::store {

/// What only the client knows that made a node, until it lets that node go.
using node_secret = std::array<std::uint8_t, 32>;

/// What the name of a node tells of its secret: a version 4 uuid, as its 36 characters.
using commitment = std::array<char, 36>;

/// A node that this client makes, as its `peers` know it.
struct own_node {
    static constexpr std::uint32_t not_on_offer = ~std::uint32_t{0};

    node_secret secret{};
    store::commitment commitment{};     ///< to that secret
    std::uint32_t place = not_on_offer; ///< where the peers find it again
};

/// When a node is let go, the secrets of at most so many nodes before it are told as well.
inline constexpr std::size_t most_nodes_before = 8;

[[nodiscard]] constexpr std::string_view text(const commitment& c) noexcept
{
    return {c.data(), c.size()};
}

/// Who is told what other clients say.
class peers_observer {
public:
    virtual ~peers_observer() = default;

    /// Somebody says that this is the secret of a node that will never serve anybody again. Anybody may say anything,
    /// and repeat it: whether a node has that commitment is for the observer to look at.
    virtual void on_certificate(const node_secret&) = 0;
    /// A node on offer has its first subscriber, or has one again: somebody waits for it.
    virtual void on_awaited(const commitment&) = 0;
};

/// The way from a client that lets a node go to those that wait for it, past ZooKeeper. Nothing may rely on it: what is
/// sent may come late, twice or never. Belongs to one strand, like the store: every call comes from there, observers
/// are called there, and never inside a call to this. Independent of epochs and sessions.
///
/// **Offers.** Others may subscribe to nodes that are on offer only. A node is on offer from make_node() until it is
/// given back, once, by withdraw() or publish().
/// **Bounds.** What others send costs no more than a bounded amount of memory, connections and time. A subscription
/// that would exceed a bound is dropped without a word.
class peers {
public:
    virtual ~peers() = default;

    /// Sets who is told, before anything else is called.
    virtual void attach(peers_observer&) = 0;

    /// Where others reach this client, as `address:port`, for the data of its nodes; empty while nobody can.
    [[nodiscard]] virtual std::string_view endpoint() const = 0;

    /// The commitment to a secret: no other secret can be found that has the same.
    [[nodiscard]] virtual commitment commitment_to(const node_secret&) const = 0;

    /// A node that is about to be asked for: others may subscribe to it. Its secret is new, and cannot be guessed from
    /// others, or from names.
    [[nodiscard]] virtual own_node make_node() = 0;
    /// The node is not on offer any more; those who wait for it are told nothing. Destructors call it: where memory
    /// fails, the turn fails at its end.
    virtual void withdraw(const own_node&) noexcept = 0;
    /// The node will never serve anybody again: tells those who subscribe to it, now or in the next seconds, its secret
    /// and those of at most `most_nodes_before` nodes before it, but for what it has told them of late. Then it is not
    /// on offer any more. What is sent leaves at once or when the turn ends, or, if many are told, in the turns after
    /// it; what the store is given in the turn leaves when it ends, too, or as soon as the answers are read that are
    /// due.
    virtual void publish(const own_node&, std::span<const node_secret> of_nodes_before) = 0;
    /// Whether somebody subscribes to the node, which is on offer.
    [[nodiscard]] virtual bool awaited(const own_node&) const = 0;

    /// Asks who is at `endpoint`, as somebody wrote it into the data of a node, to tell when the node is let go.
    virtual void subscribe(const commitment&, std::string_view endpoint) = 0;
    /// The certificate is not wanted any more. Harmless if it was not asked for.
    virtual void unsubscribe(const commitment&) = 0;
};

} // namespace zklock::store
