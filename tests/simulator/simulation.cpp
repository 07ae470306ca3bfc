#include "simulation.hpp"

#include "checker.hpp"
#include "ensemble.hpp"
#include "process.hpp"
#include "recipes/session.hpp"
#include "simulated_store.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

namespace zklock::simulator {

using namespace std::chrono_literals;
using stream = choices::stream;

namespace {

/// Sessions of programs that are not simulated any further.
constexpr std::int64_t foreign_session = 0x7f00'0000;
/// A schedule with more events than this goes round in circles.
constexpr std::uint64_t most_events = 400'000;

struct client {
    client(world& w, ensemble& e, unsigned n, std::int32_t drift_ppm)
        : number(n), where(w, n, drift_ppm), store(w, e, where, n)
    {
    }

    unsigned number;
    process where;
    simulated_store store;
    std::unique_ptr<recipes::session> session; ///< none once the process has died
    bool closing = false;
    bool closed = false;
    bool inside = false; ///< a call of the session
};

class simulation {
public:
    simulation(const plan& p, bool traced)
        : plan_(p), world_(p.seed, p.set, traced), ensemble_(world_), checker_(world_, ensemble_, plan_)
    {
    }

    verdict run();

private:
    void make_parents();
    void start_client(unsigned number);
    void perform(const step& s);
    void acquire(const step& s);
    void release(contender_record& c);
    void list(const step& s);
    void close(client& c);
    void crash(client& c);
    void delete_node(const std::string& node);
    void delete_parent(const step& s);
    void replace_parent(const step& s);
    void delete_with_children(const std::string& path);
    void join_foreign(const step& s);
    void refuse(const step& s);
    void set_data(const std::string& node);
    std::string some_contender(const step& s) const;
    void become_quiet();
    void run_until(instant limit, const std::function<bool()>& done);
    bool all_closed() const;

    template <class F> void call(client& c, F f)
    {
        c.inside = true;
        f(*c.session);
        c.inside = false;
    }
    /// Whatever users are told comes through here.
    bool may_tell(client& c)
    {
        if (c.inside) world_.violate("client" + std::to_string(c.number) + ": called back inside a call");
        if (c.closed) world_.violate("client" + std::to_string(c.number) + ": called back after it was closed");
        return world_.violation.empty();
    }

    const plan& plan_;
    world world_;
    ensemble ensemble_;
    checker checker_;
    std::vector<std::unique_ptr<client>> clients_; ///< a restarted one is a new one
    std::vector<client*> current_;                 ///< by number
    std::vector<std::string> foreign_nodes_;
    unsigned contenders_ = 0;
};

void simulation::make_parents()
{
    if (!plan_.set.parents_exist) return;
    const auto make = [this](const std::string& path) {
        transaction t;
        t.path = path;
        t.node = plan_.set.parents_are_containers ? store::node_kind::container : store::node_kind::persistent;
        ensemble_.administrate(std::move(t));
    };
    make("/locks");
    for (unsigned i = 0; i < plan_.set.paths; ++i) {
        make(path_of(i));
        if (plan_.set.first_sequence != 0) ensemble_.set_creates(path_of(i), plan_.set.first_sequence);
    }
}

void simulation::start_client(unsigned number)
{
    const auto drift = plan_.set.client_drift_ppm[number];
    clients_.push_back(std::make_unique<client>(world_, ensemble_, number, drift));
    auto& c = *clients_.back();
    if (plan_.faults) {
        std::vector<placed_fault> mine;
        for (const auto& f : *plan_.faults) {
            if (f.client == number) mine.push_back(f);
        }
        c.store.plan(std::move(mine));
    }
    if (current_.size() <= number) current_.resize(number + 1);
    current_[number] = &c;
    client_options options;
    options.session_timeout = plan_.set.session_timeout;
    options.identifier = "client" + std::to_string(number);
    options.clock_drift = plan_.set.stated_drift;
    options.node_budget = plan_.set.node_budget;
    c.session = std::make_unique<recipes::session>(c.store, c.where, options, [this, number] {
        char text[40];
        const auto a = world_.choose.next(stream::operation, number);
        const auto b = world_.choose.next(stream::operation, number);
        std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(a >> 32),
                      static_cast<unsigned>(a >> 16 & 0xffff), static_cast<unsigned>(a & 0xffff),
                      static_cast<unsigned>(b >> 48), static_cast<unsigned long long>(b & 0xffff'ffff'ffff));
        return std::string(text);
    });
}

void simulation::perform(const step& s)
{
    auto* const c = s.who < current_.size() ? current_[s.who] : nullptr;
    const auto as_administrator = [&](std::string what) { world_.log.line(world_.time.now(), "admin", what); };
    switch (s.what) {
    case act::acquire: c->where.post([this, &s] { acquire(s); }); break;
    case act::list: c->where.post([this, &s] { list(s); }); break;
    case act::close_client: c->where.post([this, c] { close(*c); }); break;
    case act::cut: c->store.cut(); break;
    case act::block: c->store.block(s.duration); break;
    case act::pause:
        as_administrator("pauses client" + std::to_string(s.who) + " for " + std::to_string(s.duration.count()) +
                         " ms");
        c->where.pause(s.duration);
        break;
    case act::crash: crash(*c); break;
    case act::hang_up: ensemble_.hang_up(s.who); break;
    case act::restart:
        as_administrator("restarts server" + std::to_string(s.who));
        ensemble_.restart(s.who, s.duration);
        break;
    case act::cut_off:
        as_administrator("cuts server" + std::to_string(s.who) + " off from its leader");
        ensemble_.cut_off(s.who, s.duration);
        break;
    case act::pause_leader:
        as_administrator("pauses the leader for " + std::to_string(s.duration.count()) + " ms");
        ensemble_.pause_leader(s.duration);
        break;
    case act::kill_session:
        if (const auto id = c->store.session_id(); id != 0) {
            as_administrator("ends the session of client" + std::to_string(s.who));
            checker_.killed(id);
            ensemble_.expire(id);
        }
        break;
    case act::delete_contender:
        if (const auto node = some_contender(s); !node.empty()) delete_node(node);
        break;
    case act::delete_parent: delete_parent(s); break;
    case act::set_contender_data:
        if (const auto node = some_contender(s); !node.empty()) set_data(node);
        break;
    case act::set_parent_data: set_data(path_of(s.path)); break;
    case act::refuse: refuse(s); break;
    case act::replace_parent:
        set_data(path_of(s.path)); // uses up the watches of its data
        world_.time.after(s.duration, [this, &s] { replace_parent(s); });
        break;
    case act::remove_idle_containers: ensemble_.remove_idle_containers(); break;
    case act::foreign_contender:
    case act::foreign_out_of_turn:
    case act::foreign_child: join_foreign(s); break;
    }
}

// ---- what users do

void simulation::acquire(const step& s)
{
    auto& where = *current_[s.who];
    if (where.closing) return;
    contender_record fresh;
    fresh.tag = "c" + std::to_string(s.who) + '.' + std::to_string(++contenders_);
    fresh.client = s.who;
    fresh.path = s.path;
    fresh.wish = s;
    fresh.where = &where.where;
    fresh.store = &where.store;
    fresh.began = world_.time.now();
    if (s.deadline && !s.look_once) fresh.deadline = where.where.now() + *s.deadline;
    auto& c = checker_.begin(std::move(fresh));

    recipes::acquire_request request;
    request.path = path_of(s.path);
    request.options.identifier = c.tag;
    request.options.max_attempts = s.max_attempts;
    request.options.names = plan_.seed % 2 == 0 ? naming::curator : naming::kazoo;
    request.options.parents = plan_.set.parents_are_containers ? parent_kind::container : parent_kind::persistent;
    request.mode = s.look_once ? recipes::patience::look_once : recipes::patience::queue;
    request.deadline = c.deadline;
    request.done = [this, &c, &where](boost::system::error_code ec, const recipes::grant& g) {
        if (!may_tell(where)) return;
        if (ec) return checker_.failed(c, ec);
        checker_.granted(c, g);
        (void)where.where.call_at(where.where.now() + c.wish.duration, [this, &c] { release(c); });
    };
    request.lost = [this, &c, &where] {
        if (may_tell(where)) checker_.lost(c);
    };
    call(where, [&](recipes::session& session) { c.handle = session.acquire(std::move(request)); });
    if (s.withdraw_after) {
        (void)where.where.call_at(where.where.now() + *s.withdraw_after, [this, &c, &where] {
            if (c.now != contender_record::phase::waiting) return;
            bool answer = false;
            call(where, [&](recipes::session&) { answer = c.handle->withdraw(); });
            checker_.withdrawn(c, answer);
        });
    }
}

void simulation::release(contender_record& c)
{
    auto& where = *current_[c.client];
    checker_.releasing(c);
    const bool after_the_end = where.closed; // a call made then is answered all the same
    call(where, [&](recipes::session&) {
        c.handle->release([this, &c, &where, after_the_end](boost::system::error_code ec) {
            if (after_the_end || may_tell(where)) checker_.released(c, ec);
        });
    });
}

void simulation::list(const step& s)
{
    auto& where = *current_[s.who];
    if (where.closing) return;
    call(where, [&](recipes::session& session) {
        session.contenders(
            path_of(s.path), [this, &s, &where, id = session.id()](boost::system::error_code ec, std::vector<contender> queue) {
                if (may_tell(where)) checker_.listed(s.who, s.path, id == where.session->id() ? id : 0, ec, queue);
            });
    });
}

void simulation::close(client& c)
{
    if (c.closing || !c.session) return;
    c.closing = true;
    checker_.client_closes(c.number);
    call(c, [&](recipes::session& session) {
        session.close([this, &c] {
            if (may_tell(c)) c.closed = true;
        });
    });
}

void simulation::crash(client& c)
{
    world_.log.line(world_.time.now(), "admin", "kills client" + std::to_string(c.number));
    checker_.client_died(c.number);
    c.session.reset();
    c.store.abandon();
    c.where.kill();
    start_client(c.number);
}

// ---- what others do

std::string simulation::some_contender(const step& s) const
{
    std::vector<std::string> nodes;
    for (const auto& name : ensemble_.leaders_tree().children(path_of(s.path))) {
        if (contender_sequence(name)) nodes.push_back(path_of(s.path) + '/' + name);
    }
    return nodes.empty() ? std::string() : nodes[s.choice % nodes.size()];
}

void simulation::delete_node(const std::string& node)
{
    checker_.deleted_by_others(node);
    transaction t;
    t.what = transaction::kind::remove;
    t.path = node;
    ensemble_.administrate(std::move(t));
}

void simulation::delete_parent(const step& s)
{
    const auto path = path_of(s.path);
    delete_with_children(path);
    if (s.choice % 2 != 0) return;
    transaction t;
    t.path = path;
    ensemble_.administrate(std::move(t));
}

void simulation::delete_with_children(const std::string& path)
{
    for (const auto& name : ensemble_.leaders_tree().children(path)) delete_node(path + '/' + name);
    delete_node(path);
}

/// Whoever takes the new parent for the old one finds its numbers go on where they were, and does not know the last of
/// the contenders that came in between.
void simulation::replace_parent(const step& s)
{
    constexpr std::uint32_t most = 64; // children that are made up for
    const auto path = path_of(s.path);
    const auto* old = ensemble_.leaders_tree().find(path);
    if (world_.quiet || old == nullptr || old->creates > most) return;
    const auto wanted = old->creates + s.choice % 3;
    delete_with_children(path);
    transaction parent;
    parent.path = path;
    ensemble_.administrate(std::move(parent));
    std::string last;
    for (std::uint32_t i = 0; i + 1 < wanted; ++i) {
        transaction t;
        t.session = foreign_session + static_cast<std::int64_t>(s.choice % 8);
        t.node = store::node_kind::ephemeral_sequential;
        t.path = path + "/_c_0e0e0e0e-1111-2222-3333-444444444444-lock-";
        if (!last.empty()) delete_node(last);
        last = ensemble_.administrate(std::move(t)).path;
    }
    if (last.empty()) return;
    foreign_nodes_.push_back(last);
    world_.time.after(s.duration + 50ms, [this, last] {
        if (ensemble_.leaders_tree().find(last) != nullptr) delete_node(last);
    });
}

void simulation::set_data(const std::string& node)
{
    const auto* n = ensemble_.leaders_tree().find(node);
    if (n == nullptr) return;
    transaction t;
    t.what = transaction::kind::set_data;
    t.path = node;
    t.data = n->data + "\nnote=1";
    ensemble_.administrate(std::move(t));
}

void simulation::join_foreign(const step& s)
{
    static constexpr const char* contenders[] = {"_c_0f0f0f0f-1111-2222-3333-444444444444-lock-",
                                                 "0f0f0f0f111122223333444444444444__lock__", "zz-lock-", "aa-lock-"};
    static constexpr const char* others[] = {"notes", "readme-", "lock", "_c_0f0f0f0f-revoke"};
    transaction t;
    t.session = foreign_session + static_cast<std::int64_t>(s.choice % 8);
    t.data = "somebody else";
    t.node = store::node_kind::ephemeral_sequential;
    t.path = path_of(s.path) + '/';
    if (s.what == act::foreign_contender) {
        t.path += contenders[s.choice % 4];
    } else if (s.what == act::foreign_child) {
        t.path += others[s.choice % 4];
        if (s.choice % 3 == 0) t.node = store::node_kind::persistent;
    } else {
        const auto* parent = ensemble_.leaders_tree().find(path_of(s.path));
        if (parent == nullptr) return;
        char digits[16];
        std::snprintf(digits, sizeof digits, "%010u", parent->creates - std::min(parent->creates, 1 + s.choice % 3));
        t.path += std::string("_c_0f0f0f0f-1111-2222-3333-555555555555-lock-") + digits;
        t.node = store::node_kind::ephemeral;
        checker_.made_out_of_turn(t.path);
    }
    const auto made = ensemble_.administrate(t);
    if (made.result != store::outcome::ok) return;
    foreign_nodes_.push_back(made.path);
    if (s.duration == 0ms) return;
    world_.time.after(s.duration, [this, node = made.path] {
        if (ensemble_.leaders_tree().find(node) != nullptr) delete_node(node);
    });
}

void simulation::refuse(const step& s)
{
    const auto set = [this, path = path_of(s.path)](permissions allowed) {
        transaction t;
        t.what = transaction::kind::set_permissions;
        t.path = path;
        t.allowed = allowed;
        ensemble_.administrate(std::move(t));
    };
    permissions p;
    p.create = s.choice % 2 == 0;
    p.remove = s.choice % 3 == 0;
    p.read = s.choice % 5 == 0;
    set(p);
    world_.time.after(s.duration, [set] { set(permissions{}); });
}

// ---- the course of it

void simulation::become_quiet()
{
    world_.log.line(world_.time.now(), "admin", "leaves everybody in peace from now on");
    world_.quiet = true;
    const auto wanted =
        std::count_if(plan_.steps.begin(), plan_.steps.end(), [](const step& s) { return s.what == act::acquire; });
    if (checker_.all_ended() && contenders_ == wanted)
        return; // others may stay: nobody waits for them, nor may watch them
    for (const auto& node : foreign_nodes_) {
        if (ensemble_.leaders_tree().find(node) != nullptr) delete_node(node);
    }
}

void simulation::run_until(instant limit, const std::function<bool()>& done)
{
    while (world_.violation.empty() && !done()) {
        // Asking is not cheap: now and then is enough.
        for (int i = 0; i < 32; ++i) {
            if (!world_.violation.empty()) return;
            if (!world_.time.step(limit)) return;
        }
        if (world_.time.executed() > most_events) world_.violate("goes round in circles");
    }
}

bool simulation::all_closed() const
{
    return std::all_of(current_.begin(), current_.end(), [](const client* c) { return c->closed; });
}

verdict simulation::run()
{
    make_parents();
    for (unsigned i = 0; i < plan_.set.clients; ++i) start_client(i);
    instant last_step{0};
    for (const auto& s : plan_.steps) {
        world_.time.at(s.at, [this, &s] { perform(s); });
        last_step = std::max<instant>(last_step, s.at);
    }
    // Nobody needs to wait for the quiet phase when nothing is left to happen before it.
    const instant quiet_after = std::max<instant>(plan_.set.quiet_after, last_step);
    run_until(last_step, [] { return false; });
    const auto ended = [this] { return checker_.all_ended() && checker_.nothing_left(); };
    run_until(quiet_after, ended);
    become_quiet();
    // Pauses and losses that began before may still last two session timeouts; expiry takes one; then everybody holds
    // in turn.
    instant patience = 8 * instant(plan_.set.session_timeout) + 2s;
    for (const auto& c : checker_.records()) patience += instant(c.wish.duration) + 20 * instant(plan_.set.delay);
    run_until(world_.time.now() + patience, ended);
    if (world_.violation.empty()) checker_.finish();

    for (auto* c : current_) c->where.post([this, c] { close(*c); });
    run_until(world_.time.now() + 20s, [this] { return all_closed(); });
    if (world_.violation.empty() && !all_closed()) world_.violate("close() never ends");
    return {world_.violation, world_.time.executed(), checker_.grants(), std::move(world_.fired), world_.log.text()};
}

} // namespace

verdict simulate(const plan& p, bool traced) { return simulation(p, traced).run(); }

} // namespace zklock::simulator
