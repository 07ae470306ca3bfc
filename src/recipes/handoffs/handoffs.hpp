#pragma once
#include "recipes/handoffs/user_writes.hpp"
#include "store/peers.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/pool/pool.hpp>

namespace zklock::recipes {

/// One who takes part in the hand-offs at one path.
class handoff_source {
public:
    /// Its client says that the node will never serve anybody again, by its secret.
    virtual void on_certified(std::string_view node, const store::node_secret&) = 0;
    /// Another client waits for a node of this one.
    virtual void on_awaited() = 0;

protected:
    ~handoff_source() = default;
};

class offered_node;

/// How a client tells others which of its nodes it has let go, and hears it from them, past the servers. A node's name
/// has the commitment to a secret, which is shown when the node is let go: so a certificate is true whoever brings it,
/// and stays true.
class handoffs final : public store::peers_observer {
public:
    struct takes_back {
        void operator()(offered_node*) const noexcept;
    };
    using offered = std::unique_ptr<offered_node, takes_back>;
    struct node_of_others {
        handoff_source* by;
        std::string node;
        std::string endpoint{}; ///< where to ask for it; if empty it is only followed, should somebody send it along
        bool wanted = false;    ///< to be asked for
        bool asked_for = false; ///< there; of those with one commitment at most one is
    };
    using followed = std::multimap<store::commitment, node_of_others>::iterator;
    using lingering_nodes = std::multimap<store::commitment, handoff_source*>;

    explicit handoffs(store::peers&);
    handoffs& operator=(handoffs&&) = delete;

    store::peers& peers;
    const std::shared_ptr<user_writes> writes = std::make_shared<user_writes>(); ///< of users

    /// The source is told when a node is certified whose name has that commitment.
    [[nodiscard]] followed follow(handoff_source&, const store::commitment&, std::string node);
    void forget(followed);
    /// The same when the client's handoffs end: nobody is asked anything.
    void drop(followed node) noexcept { followed_.erase(node); }
    /// Asks at its endpoint for its certificate, instead of where another node of that commitment has it asked for.
    void ask(followed);
    /// Such another node has it asked for again.
    void ask_no_more(followed);
    /// The secret of that commitment, if somebody has told it although nobody followed.
    [[nodiscard]] std::optional<store::node_secret> told_before(const store::commitment&) const;
    /// A new node, before it is asked for.
    [[nodiscard]] offered offer();
    /// The source is told when its node of that commitment is awaited.
    [[nodiscard]] lingering_nodes::iterator expect_waiters(handoff_source& source, const store::commitment& commitment)
    {
        return may_linger_.emplace(commitment, &source);
    }
    void forget(lingering_nodes::iterator node) noexcept { may_linger_.erase(node); }

    // --- what the peers tell -----------------------------------------------------------------------------------------

    /// A client says that the node of that secret will never serve anybody again.
    void on_certificate(const store::node_secret&) override;
    /// A client waits for the node of this client that has that commitment.
    void on_awaited(const store::commitment&) override;

private:
    [[nodiscard]] followed find(const store::commitment&, bool node_of_others::*which);

    boost::pool<> room_; ///< for nodes on offer, of which hundreds come and go in a turn
    std::multimap<store::commitment, node_of_others> followed_;
    lingering_nodes may_linger_;
    std::deque<std::pair<store::commitment, store::node_secret>> told_before_; ///< the last
};

/// A node of this client that others may ask for, from before its create on: it is not on offer any more when this is
/// destroyed.
class offered_node {
public:
    explicit offered_node(handoffs&);
    offered_node& operator=(offered_node&&) = delete;
    ~offered_node() { withdraw(); }

    [[nodiscard]] const store::node_secret& secret() const noexcept { return node_.secret; }
    [[nodiscard]] const store::commitment& commitment() const noexcept { return node_.commitment; }
    [[nodiscard]] bool awaited() const { return in_.peers.awaited(node_); }
    /// `lingers` is told when it is awaited.
    void tell(handoff_source& lingers);
    /// A contender holds on it from now on.
    void hold_begins() noexcept
    {
        hold_ends(); // another one's, before
        since_ = in_.writes->now();
    }
    void hold_ends() noexcept;
    /// No write of a user was there while it was held.
    [[nodiscard]] bool held_without_writes() const noexcept { return clean_; }
    /// Tells those who wait for it.
    void publish(std::span<const store::node_secret> of_nodes_before);

    std::shared_ptr<const std::string> data; ///< of the node, if it says where its client is

private:
    friend handoffs::takes_back;

    void withdraw() noexcept;
    void forget_waiters() noexcept;

    handoffs& in_;
    store::own_node node_;
    std::optional<handoffs::lingering_nodes::iterator> may_linger_;
    std::optional<user_writes::moment> since_; ///< while a contender holds
    bool clean_ = true;
    bool published_ = false;
};

} // namespace zklock::recipes
