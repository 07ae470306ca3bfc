#include "stage.hpp"

#include "contender_names.hpp"

namespace zklock::simulator {

using namespace std::chrono_literals;
using stream = choices::stream;

namespace {

/// A schedule with more events than this goes round in circles.
constexpr std::uint64_t most_events = 400'000;

} // namespace

std::optional<access_list> access_of_locks(const plan& p)
{
    if (p.seed % 11 != 5)
        return std::nullopt;
    return access_list{digest_entry("ann", "secret", permission::read), {"world", "anyone"}};
}

bool has_access_of_locks(const znode_tree::node& node, const plan& p)
{
    const auto wanted = access_of_locks(p);
    return wanted ? node.access && *node.access == *wanted : !node.access;
}

stage::stage(const plan& p, bool traced)
    : the_plan(p), world(p.seed, p.set, traced), ensemble(world), network(world), herd_(world, ensemble, p),
      containers_(world, ensemble, p,
                  [this](std::int64_t session) -> const simulated_store* {
                      const auto has_it = [&](const client* c) { return c->store.session_id() == session; };
                      const auto found = std::find_if(current_.begin(), current_.end(), has_it);
                      return session != 0 && found != current_.end() ? &(*found)->store : nullptr;
                  }),
      numbers_(world, ensemble, p)
{
    network.on_published = [this](unsigned, std::string_view uuid) { users_->let_go(uuid); };
    herd_.users_watch = [this](std::int64_t session, const std::string& path) {
        return users_ != nullptr && users_->waits_there(session, path);
    };
}

void stage::make_parents()
{
    if (!the_plan.set.parents_exist)
        return;
    const auto make = [this](const std::string& path) {
        ensemble.administrate(
            {.path = path,
             .node = the_plan.set.parents_are_containers ? store::node_kind::container : store::node_kind::persistent});
    };
    make("/locks");
    for (unsigned i = 0; i < the_plan.set.paths; ++i) {
        make(path_of(i));
        if (the_plan.set.first_sequence != 0)
            ensemble.set_creates(path_of(i), the_plan.set.first_sequence);
    }
}

void stage::start_client(unsigned number)
{
    const auto drift = the_plan.set.client_drift_ppm[number];
    clients_.push_back(std::make_unique<client>(world, ensemble, number, drift,
                                                [this, nth = clients_.size()] { fail(*clients_[nth]); }));
    auto& c = *clients_.back();
    if (the_plan.faults) {
        std::vector<placed_fault> mine;
        for (const auto& f : *the_plan.faults) {
            if (f.client == number)
                mine.push_back(f);
        }
        c.store.plan(std::move(mine));
    }
    if (current_.size() <= number)
        current_.resize(number + 1);
    current_[number] = &c;
    c.store.on_look = [this, &c](const std::string& path, const store::node_stat* stat) {
        containers_.looked(c.store, path, stat);
        if (stat != nullptr)
            write_after(path, *stat);
    };
    const bool peerless = the_plan.set.peers == peer_life::none || (the_plan.set.peerless >> number & 1) != 0;
    if (!peerless)
        c.peers = std::make_unique<simulated_peers>(world, network, c.where, number);
    if (c.peers)
        c.peers->library = &c.library;
    client_options options;
    options.session_timeout = the_plan.set.session_timeout;
    options.identifier = "client" + std::to_string(number);
    options.clock_drift = the_plan.set.stated_drift;
    options.server_tick = the_plan.set.tick;
    options.lease_margin = the_plan.set.stated_margin;
    options.node_budget = the_plan.set.node_budget;
    c.session = std::make_unique<recipes::session>(
        c.store, c.time, c.counters, options,
        [this, number] {
            const auto a = world.choose.next(stream::operation, number);
            const auto b = world.choose.next(stream::operation, number);
            return uuid_text(a, b);
        },
        c.peers.get());
    c.locks = std::make_unique<recipes::locks>(*c.session);
    c.session->set_numbers_scarce_from(the_plan.set.scarce_from);
    c.session->requests().window = the_plan.set.users_window;
}

void stage::perform(const step& s)
{
    auto* const c = s.who < current_.size() ? current_[s.who] : nullptr;
    if (users_->administrate(s))
        return;
    const unsigned server = s.who % the_plan.set.servers; // a plan that was shrunk may have fewer than it was made for
    const auto as_administrator = [&](std::string what) { world.log.line(world.time.now(), "admin", what); };
    switch (s.what) {
    case act::acquire:
    case act::list:
        c->where.post([this, &s] {
            // A client that was restarted meanwhile is another one.
            if (auto& here = *current_[s.who]; !here.closing)
                users_->perform(here, s);
        });
        break;
    case act::close_client: c->where.post([this, c] { close(*c); }); break;
    case act::cut: c->store.cut(); break;
    case act::block: c->store.block(s.duration); break;
    case act::pause:
        as_administrator("pauses client" + std::to_string(s.who) + " for " + std::to_string(s.duration.count()) +
                         " ms");
        c->where.pause(s.duration);
        break;
    case act::crash: crash(*c); break;
    case act::hang_up: ensemble.hang_up(server); break;
    case act::restart:
        as_administrator("restarts server" + std::to_string(server));
        ensemble.restart(server, s.duration);
        break;
    case act::cut_off:
        as_administrator("cuts server" + std::to_string(server) + " off from its leader");
        ensemble.cut_off(server, s.duration);
        break;
    case act::pause_leader:
        as_administrator("pauses the leader for " + std::to_string(s.duration.count()) + " ms");
        ensemble.pause_leader(s.duration);
        break;
    case act::part_leader: ensemble.part_leader(); break;
    case act::all_down:
        as_administrator("stops all servers for " + std::to_string(s.duration.count()) + " ms");
        ensemble.all_down(s.duration);
        break;
    case act::back_up:
        as_administrator("backs up");
        ensemble.back_up();
        break;
    case act::set_back:
        as_administrator("sets the ensemble back, which takes " + std::to_string(s.duration.count()) + " ms");
        ensemble.all_down(s.duration);
        // Those who hold something go on until their leases end: operators have to wait for that.
        world.time.after(instant(s.duration) - 1us, [this] {
            ensemble.set_back();
            world.writes_undone = true;
            users_->set_back();
            users_nodes_.clear(); // they may be gone, or be back
            containers_.set_back();
            delete_foreign_nodes(); // whoever comes back with them
            make_all_readable();
        });
        break;
    case act::go_astray:
        as_administrator("lets server" + std::to_string(server) + " serve by itself");
        ensemble.go_astray(server);
        break;
    case act::kill_session:
        if (const auto id = c->store.session_id(); id != 0) {
            as_administrator("ends the session of client" + std::to_string(s.who));
            users_->killed(id);
            ensemble.expire(id);
        }
        break;
    case act::delete_contender:
        if (const auto node = some_contender(s); !node.empty())
            delete_node(node);
        break;
    case act::delete_parent: delete_parent(s); break;
    case act::set_contender_data:
        if (const auto node = some_contender(s); !node.empty())
            the_plan.set.peers == peer_life::none ? set_data(node) : set_endpoint(s, node);
        break;
    case act::set_parent_data:
        make_readable(place(s));
        set_data(place(s));
        break;
    case act::refuse: refuse(s); break;
    case act::replace_parent:
        make_readable(place(s));
        set_data(place(s)); // uses up the watches of its data
        world.time.after(s.duration, [this, &s] { replace_parent(s); });
        break;
    case act::replace_idle_parent: replace_idle_parent(s); break;
    case act::remove_idle_containers:
        make_all_readable();
        ensemble.remove_idle_containers();
        break;
    case act::set_register: set_register(s); break;
    case act::part_peers:
        as_administrator("parts clients from each other for " + std::to_string(s.duration.count()) + " ms");
        network.part(s.duration);
        break;
    case act::foreign_contender:
    case act::foreign_out_of_turn:
    case act::foreign_child: join_foreign(s); break;
    }
}

void stage::close(client& c)
{
    if (c.closing || !c.session)
        return;
    c.closing = true;
    call(c, [&](recipes::session& session) {
        session.close([this, &c] {
            if (may_tell(c))
                c.closed = true;
        });
    });
}

void stage::crash(client& c)
{
    world.log.line(world.time.now(), "admin", "kills client" + std::to_string(c.number));
    users_->client_died(c);
    bury(c);
    c.where.kill();
    start_client(c.number);
}

/// Its holders have lost, and it does nothing more; the servers keep its session until the time-out. Another is made.
void stage::fail(client& c)
{
    world.log.line(world.time.now(), "client" + std::to_string(c.number), "has failed, for want of memory");
    c.where.kill();
    users_->client_died(c);
    world.time.after(instant(0), [this, &c] { // not from inside of what its store or its peers are doing
        if (!c.session)
            return;
        bury(c);
        c.closed = c.closing || all_close_;
        if (!c.closed)
            start_client(c.number);
    });
}

void stage::bury(client& c)
{
    c.locks.reset();
    c.session.reset();
    c.store.abandon();
    if (c.peers)
        c.peers->abandon();
}

// ---- the course of it

void stage::become_quiet()
{
    world.log.line(world.time.now(), "admin", "leaves everybody in peace from now on");
    world.quiet = true;
    users_->become_quiet();
    const auto wanted = std::count_if(the_plan.steps.begin(), the_plan.steps.end(),
                                      [](const step& s) { return s.what == act::acquire; });
    if (users_->all_ended() && users_->begun() == wanted)
        return; // others may stay: nobody waits for them, nor may watch them
    delete_foreign_nodes();
}

void stage::delete_foreign_nodes()
{
    for (const auto& node : foreign_nodes_) {
        if (ensemble.leaders_tree().find(node) != nullptr)
            delete_node(node);
    }
}

void stage::run_until(instant limit, const std::function<bool()>& done)
{
    while (world.violation.empty() && !done()) {
        // Asking is not cheap: now and then is enough.
        for (int i = 0; i < 32; ++i) {
            if (!world.violation.empty())
                return;
            if (!world.time.step(limit))
                return;
            if (herd_.has_found_something())
                herd_.check();
        }
        herd_.check();
        for (unsigned p = 0; p < the_plan.set.paths; ++p)
            for (const auto& place : users_->places(p))
                numbers_.check(place);
        users_->check();
        check_users_nodes();
        if (world.time.executed() > most_events)
            world.violate("goes round in circles");
    }
}

/// No recipe deletes what it has not made.
void stage::check_users_nodes()
{
    std::erase_if(users_nodes_, [this](const auto& n) { return !ensemble.alive(n.second); });
    for (const auto& [node, session] : users_nodes_) {
        if (ensemble.leaders_tree().find(node) == nullptr)
            world.violate("a user's own node was deleted: " + node);
    }
}

bool stage::all_closed() const
{
    return std::all_of(current_.begin(), current_.end(), [](const client* c) { return c->closed; });
}

std::vector<std::string> stage::what_is_left() const
{
    std::vector<std::string> left;
    const auto& tree = ensemble.leaders_tree();
    for (unsigned p = 0; p < the_plan.set.paths; ++p) {
        for (const auto& place : users_->places(p)) {
            for (const auto& name : tree.children(place)) {
                const auto node = place + '/' + name;
                if (!users_nodes_.contains(node) && users_->is_ours(*tree.find(node)))
                    left.push_back("node " + node);
            }
        }
    }
    for (const auto& w : ensemble.watches())
        left.push_back("watch of " + w.path);
    for (const auto* c : current_) {
        if (c->closing)
            continue;
        if (c->peers) {
            for (const auto& what : c->peers->left())
                left.push_back(what);
        }
        for (const auto& path : containers_.left_by(c->store))
            left.push_back("container " + path);
    }
    return left;
}

verdict stage::run(scenario& users)
{
    users_ = &users;
    make_parents();
    for (unsigned i = 0; i < the_plan.set.clients; ++i)
        start_client(i);
    instant last_step{0};
    for (const auto& s : the_plan.steps) {
        world.time.at(s.at, [this, &s] { perform(s); });
        last_step = std::max<instant>(last_step, s.at);
    }
    // Nobody needs to wait for the quiet phase when nothing is left to happen before it.
    const instant quiet_after = std::max<instant>(the_plan.set.quiet_after, last_step);
    run_until(last_step, [] { return false; });
    std::optional<instant> ended_at;
    const auto ended = [&] {
        const bool has = users_->all_ended() && what_is_left().empty();
        if (has && !ended_at)
            ended_at = world.time.now();
        return has;
    };
    run_until(quiet_after, ended);
    become_quiet();
    // Pauses and losses that began before may still last two session timeouts; expiry takes one; then everybody holds
    // in turn. Clients ask servers that were set back in any order, until more than half have said so in a cycle: a
    // server that is drawn again begins a new one.
    const auto timeouts = the_plan.set.is_set_back ? 24 : 8;
    const auto patience = [&, since = world.time.now()] {
        return since + timeouts * instant(the_plan.set.session_timeout) + 2s + users.holding_time();
    };
    run_until(patience(), ended);
    run_until(patience(), ended); // those who were paused have begun since, and hold, too
    // Nodes may stay for so long, by the clock of a client.
    if (users_->all_ended())
        run_until(world.time.now() + instant(the_plan.set.longest_linger()) * 21 / 20, ended);
    if (world.violation.empty())
        users_->finish();
    for (const auto& left : what_is_left()) {
        world.log.line(world.time.now(), "left", left);
        world.violate("a node, a watch, a container or a subscription is left though all operations have ended");
    }

    all_close_ = true;
    for (auto* c : current_)
        c->where.post([this, c] { close(*c); });
    run_until(world.time.now() + 20s, [this] { return all_closed(); });
    if (world.violation.empty() && !all_closed())
        world.violate("close() never ends");
    return {world.violation,
            world.time.executed(),
            users_->grants(),
            std::move(world.fired),
            world.log.text(),
            std::move(world.requests),
            ended_at.value_or(world.time.now()),
            world.overtaking_grants};
}

} // namespace zklock::simulator
