#pragma once
#include "containers.hpp"
#include "herd.hpp"
#include "numbers.hpp"
#include "recipes/locks/locks.hpp"
#include "recipes/requests/node_operations.hpp"
#include "recipes/requests/queue_requests.hpp"
#include "simulated_peers.hpp"
#include "simulation.hpp"

namespace zklock::simulator {

/// The access list of that schedule's locks; nothing: the clients'.
[[nodiscard]] std::optional<access_list> access_of_locks(const plan&);
/// Whether a node has that list.
[[nodiscard]] bool has_access_of_locks(const znode_tree::node&, const plan&);

/// A process's time, as a session in it sees it.
class sessions_time final : public store::scheduler {
public:
    sessions_time(process& p, memory_boundary& library) : process_(p), library_(library) {}

    [[nodiscard]] time_point now() const override { return process_.now(); }
    [[nodiscard]] timer_id call_at(time_point when, std::function<void()> f) override
    {
        const plenty_of_memory here;
        return process_.call_at(when, [this, f = std::move(f)] { library_.run(f); });
    }
    void cancel(timer_id id) override { process_.cancel(id); }
    void post(store::unique_function<void()> f) override
    {
        const plenty_of_memory here;
        process_.post([this, f = std::move(f)] { library_.run([&f] { f(); }); });
    }

private:
    process& process_;
    memory_boundary& library_;
};

/// A process with one session. A restarted one is a new one.
struct client {
    client(world& w, ensemble& e, unsigned n, std::int32_t drift_ppm, std::function<void()> fails)
        : number(n), where(w, n, drift_ppm), library(w, n, std::move(fails)), time(where, library),
          store(w, e, where, n)
    {
        store.library = &library;
    }

    /// Mutants: its peers tell others of that node before it is let go.
    void tell_too_early(std::string_view node)
    {
        if (peers)
            peers->tell_too_early(uuid_in(node));
    }

    unsigned number;
    process where;
    memory_boundary library;
    sessions_time time;
    simulated_store store;
    counters::connection_counters counters;
    std::unique_ptr<simulated_peers> peers;    ///< if it has any
    std::unique_ptr<recipes::session> session; ///< none once the process has died
    std::unique_ptr<recipes::locks> locks;     ///< nor these
    bool closing = false;
    bool closed = false;
    bool inside = false; ///< a call of the session
};

/// What the users of a recipe do, and what must hold for them.
class scenario {
public:
    virtual ~scenario() = default;

    /// A user's step, in the process of a client that is not closing.
    virtual void perform(client& c, const step& s) = 0;
    /// Before its session is destroyed.
    virtual void client_died(client&) = 0;

    // what others did to us, which excuses some things
    virtual void deleted_by_others(const std::string& /*node*/) {}
    virtual void killed(std::int64_t /*session*/) {}
    virtual void made_out_of_turn(const std::string& /*node*/) {}
    virtual void set_back() {}
    /// The owner of the node of that uuid has said that it never serves anybody again.
    virtual void let_go(std::string_view /*uuid*/) {}

    /// A user of that session has waited for that node, besides what the recipe does.
    [[nodiscard]] virtual bool waits_there(std::int64_t /*session*/, const std::string& /*path*/) const
    {
        return false;
    }

    /// Where the nodes of the recipe are, which administrators and other programs meddle with.
    [[nodiscard]] virtual std::vector<std::string> places(unsigned path) const { return {path_of(path)}; }
    /// What an administrator does to this recipe in particular. False if it is as with the others.
    virtual bool administrate(const step&) { return false; }
    /// Now and then.
    virtual void check() {}
    /// Administrators leave everybody in peace from now on.
    virtual void become_quiet() {}

    [[nodiscard]] virtual std::int64_t begun() const = 0;                       ///< how many of the plan's acquires
    [[nodiscard]] virtual bool all_ended() const = 0;                           ///< nobody waits, holds or releases
    [[nodiscard]] virtual bool is_ours(const znode_tree::node& node) const = 0; ///< of a session that is alive
    [[nodiscard]] virtual instant holding_time() const = 0; ///< of all who may still hold, one after the other
    virtual void finish() = 0;                              ///< complains about what has not ended
    [[nodiscard]] virtual std::uint64_t grants() const = 0;
};

/// The simulated world of one schedule: servers, clients, and what goes wrong. What the users do is the scenario's.
class stage {
public:
    stage(const plan& p, bool traced);

    /// Runs the schedule from its beginning to its quiet end.
    verdict run(scenario& users);

    const plan& the_plan;
    zklock::simulator::world world;
    zklock::simulator::ensemble ensemble;
    peer_network network;

    /// When that client was first told that the owner of a node has let it go, if it was.
    [[nodiscard]] std::optional<instant> told_let_go(unsigned client, const std::string& node) const
    {
        const auto& peers = current_[client]->peers;
        return peers ? peers->told_let_go(uuid_in(node)) : std::nullopt;
    }
    [[nodiscard]] client& current(unsigned number) { return *current_[number]; }

    /// Every call of a session's goes through here.
    template <class F> void call(client& c, F f)
    {
        c.inside = true;
        f(*c.session);
        c.inside = false;
    }
    /// One in which memory may fail: false if it did, and the client has failed with it.
    template <class F> [[nodiscard]] bool try_call(client& c, F f)
    {
        c.inside = true;
        const bool done = c.library.run([&] { f(*c.session); });
        c.inside = false;
        return done;
    }
    /// And whatever users are told through here.
    bool may_tell(client& c)
    {
        scarce_memory::ends();
        if (c.inside)
            world.violate("client" + std::to_string(c.number) + ": called back inside a call");
        if (c.closed)
            world.violate("client" + std::to_string(c.number) + ": called back after it was closed");
        return world.violation.empty();
    }

private:
    [[nodiscard]] std::vector<std::string> what_is_left() const; ///< nodes and watches of ours
    void make_parents();
    void start_client(unsigned number);
    void perform(const step& s);
    void close(client& c);
    void crash(client& c);
    void fail(client& c);
    void bury(client& c);
    void delete_node(const std::string& node);
    void make_readable(const std::string& path);
    void make_all_readable();
    void delete_parent(const step& s);
    void replace_parent(const step& s);
    void replace_idle_parent(const step& s);
    void delete_with_children(const std::string& path);
    void join_foreign(const step& s);
    void downgrade_foreign(const step& s, const std::string& writer);
    void refuse(const step& s);
    /// An operator writes into a container that a client has just found empty, before it can be deleted.
    void write_after(const std::string& path, const store::node_stat& found);
    void set_data(const std::string& node);
    void set_endpoint(const step& s, const std::string& node);
    void set_register(const step& s);
    std::string some_contender(const step& s) const;
    std::string place(const step& s) const;
    void become_quiet();
    void delete_foreign_nodes();
    void run_until(instant limit, const std::function<bool()>& done);
    bool all_closed() const;
    void check_users_nodes();

    scenario* users_ = nullptr;
    std::vector<std::unique_ptr<client>> clients_; ///< a restarted one is a new one
    std::vector<client*> current_;                 ///< by number
    bool all_close_ = false;                       ///< none that fails is replaced any more
    std::vector<std::string> foreign_nodes_;
    std::set<std::int64_t> written_after_look_;       ///< containers, by czxid
    std::map<std::string, std::int64_t> users_nodes_; ///< made by users for themselves, with their sessions
    herd_checker herd_;
    container_checker containers_;
    numbers_checker numbers_;
};

} // namespace zklock::simulator
