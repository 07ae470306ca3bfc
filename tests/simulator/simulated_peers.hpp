#pragma once
#include "peer_network.hpp"
#include "process.hpp"
#include "scarce_memory.hpp"

namespace zklock::simulator {

/// One client's way to the others over the simulated network, with every liberty that the contract leaves, and
/// complaints when the recipes break their side of it. It never goes away while the world runs, like its process.
class simulated_peers final : public store::peers {
public:
    simulated_peers(world& w, peer_network& n, process& p, unsigned number);
    ~simulated_peers() override { network_.close(*this); } // clients that end after it may still address it
    simulated_peers(const simulated_peers&) = delete;
    simulated_peers& operator=(const simulated_peers&) = delete;
    /// The process died: the kernel closes its connections.
    void abandon();

    memory_boundary* library = nullptr; ///< around all that it calls, if there is one

    void attach(store::peers_observer& o) override;
    [[nodiscard]] std::string_view endpoint() const override { return endpoint_; }
    [[nodiscard]] store::commitment commitment_to(const store::node_secret&) const override;
    [[nodiscard]] store::own_node make_node() override;
    void withdraw(const store::own_node&) noexcept override;
    void publish(const store::own_node&, std::span<const store::node_secret> of_nodes_before) override;
    [[nodiscard]] bool awaited(const store::own_node&) const override;
    void subscribe(const store::commitment&, std::string_view endpoint) override;
    void unsubscribe(const store::commitment&) override;

    [[nodiscard]] unsigned number() const noexcept { return number_; }
    /// In this process, when its turn comes; not at all once it is dead.
    void run(std::function<void()> f) { process_.post(std::move(f)); }
    /// Somebody shows a certificate.
    void told(const store::node_secret&);
    /// If that node of ours is on offer, tells of it before it is let go, as a bug would.
    void tell_too_early(std::string_view uuid);
    /// When it was first told that the owner of that node has let it go, if it was.
    [[nodiscard]] std::optional<instant> told_let_go(std::string_view uuid) const
    {
        const auto found = told_.find(std::string(uuid));
        return found == told_.end() ? std::nullopt : std::optional(found->second);
    }

    /// What is on offer, and what is waited for: nothing should be when all has ended.
    [[nodiscard]] std::vector<std::string> left() const;

private:
    using uuid = std::string;
    using certificates = std::vector<store::node_secret>;
    struct subscription {
        std::string endpoint;
        std::uint64_t which = 0;
    };
    struct published_node {
        uuid node;
        certificates what;
        instant until;
    };

    void check(const store::own_node&);
    void let_go(const store::own_node&, std::span<const store::node_secret> of_nodes_before);
    void ask(const uuid& node, std::uint64_t which);
    void asked(simulated_peers& by, const uuid& node, std::uint64_t which);
    void left_by(const simulated_peers& who, const uuid& node);
    void send_to(simulated_peers& who, const certificates& what);
    void forget_old();
    void say(const std::string& what);
    void violate(const std::string& what) { world_.violate(name_ + ": " + what); }
    template <class F> void tell(F f);
    [[nodiscard]] bool called(const char* what); ///< a call of the client's

    world& world_;
    peer_network& network_;
    process& process_;
    const unsigned number_;
    const std::string name_;
    std::string endpoint_;
    store::peers_observer* observer_ = nullptr;
    std::vector<store::own_node> made_;                    ///< each at its place
    std::map<uuid, std::vector<simulated_peers*>> offers_; ///< with their subscribers
    std::deque<published_node> published_;
    std::map<uuid, subscription> subscriptions_;
    std::map<uuid, instant> told_;                                     ///< when first
    std::map<unsigned, std::deque<store::node_secret>> heard_of_late_; ///< from each client
    std::uint64_t last_subscription_ = 0;
};

/// The text of 128 random bits, in the form of a uuid.
[[nodiscard]] std::string uuid_text(std::uint64_t high, std::uint64_t low);

} // namespace zklock::simulator
