#include "ensemble.hpp"

namespace zklock::simulator {

using store::outcome;
using stream = choices::stream;

ensemble::ensemble(world& w) : world_(w), servers_(w.set.servers) {}

bool ensemble::alive(std::int64_t session) const noexcept
{
    const auto at = sessions_.find(session);
    return at != sessions_.end() && at->second.alive;
}

// ---- the servers among themselves

void ensemble::to_leader(unsigned s, std::function<void()> f)
{
    auto& link = servers_[s];
    auto when = world_.time.now();
    if (s != leader_)
        when = std::max(when + world_.travel_time(stream::link, s), link.cut_off_until);
    link.last_to_leader = std::max(when, link.last_to_leader);
    world_.time.at(link.last_to_leader, [this, s, f = std::move(f), incarnation = link.incarnation] {
        if (servers_[s].incarnation == incarnation)
            f();
    });
}

void ensemble::from_leader(unsigned s, std::function<void()> f)
{
    if (s == leader_)
        return f();
    auto& link = servers_[s];
    auto when = world_.time.now() + world_.travel_time(stream::link, s);
    if (!world_.quiet) {
        const auto lag = static_cast<std::uint64_t>(instant(world_.set.follower_lag).count());
        when += instant(world_.choose.below(lag, stream::link, s));
    }
    link.last_from_leader = std::max({when, link.cut_off_until, link.last_from_leader});
    world_.time.at(link.last_from_leader, [this, s, f = std::move(f), incarnation = link.incarnation] {
        if (servers_[s].incarnation == incarnation)
            f();
    });
}

void ensemble::execute(const connection_ptr& c, const request& r)
{
    auto t = r.write;
    t.session = c->session;
    if (r.connects() && c->session == 0) {
        t.session = next_session_++;
        sessions_[t.session].owner = c->id;
        sessions_[t.session].timeout = c->session_timeout;
        touch(t.session, c->session_timeout);
        append({std::move(t), c, r.number});
        return;
    }
    if (r.connects()) {
        answer a;
        a.session = alive(c->session) ? c->session : 0;
        if (a.session != 0) {
            sessions_[c->session].owner = c->id;
            touch(c->session, c->session_timeout);
        }
        return confirm_session(c, r.number, std::move(a));
    }
    if (!alive(c->session))
        return; // the end of the session will close the connection
    // Nobody reads the answer then. Servers end the session all the same: they do not ask whose the connection is.
    const bool has_moved = sessions_[c->session].owner != c->id;
    const bool closes = r.writes(transaction::kind::close_session);
    if (has_moved && !closes)
        return;
    if (r.what == operation::sync) {
        from_leader(c->server, [this, c, number = r.number] { complete(c, number, answer{}); });
        return;
    }
    if (closes)
        sessions_[c->session].alive = false;
    append({std::move(t), has_moved ? nullptr : c, r.number});
}

/// To whoever the server takes for its leader.
void ensemble::forward(const connection_ptr& c, const request& r)
{
    if (servers_[c->server].stale)
        return execute_stale(c, r);
    to_leader(c->server, [this, c, r] { execute(c, r); });
}

/// Whatever needs the others' consent is never answered, nor is what waits behind it.
void ensemble::execute_stale(const connection_ptr& c, const request& r)
{
    auto& s = servers_[c->server];
    const bool needs_no_consent = r.what == operation::sync || (r.connects() && c->session != 0);
    if (!needs_no_consent)
        s.stuck = true;
    if (s.stuck || c->pending.size() != 1)
        return;
    answer a;
    if (r.connects()) {
        const auto& then = s.sessions_then;
        a.session = std::find(then.begin(), then.end(), c->session) != then.end() ? c->session : 0;
        if (world_.log.on()) {
            world_.log.line(world_.time.now(), "server" + std::to_string(c->server),
                            "takes session " + std::to_string(c->session & 0xff) + " back, though it leads no more");
        }
    }
    complete(c, r.number, std::move(a));
}

/// The leader answers about a session at once: what it has proposed before may be committed, and learned of by the
/// server, only after the client has begun to read there.
void ensemble::confirm_session(const connection_ptr& c, std::uint64_t number, answer a)
{
    const auto& s = servers_[c->server];
    auto when = world_.time.now();
    if (c->server != leader_)
        when = std::max(when + world_.travel_time(stream::link, c->server), s.cut_off_until);
    world_.time.at(when, [this, c, number, a = std::move(a), incarnation = s.incarnation] {
        if (servers_[c->server].incarnation == incarnation)
            complete(c, number, a);
    });
}

znode_tree::effect ensemble::append(entry e)
{
    e.t.zxid = ++zxid_;
    e.t.time_ms = 1'700'000'000'000 + std::chrono::duration_cast<std::chrono::milliseconds>(world_.time.now()).count();
    log_.push_back(std::make_shared<const entry>(std::move(e)));
    for (unsigned s = 0; s < size(); ++s) {
        if (s == leader_ || !servers_[s].up || servers_[s].stale)
            continue;
        from_leader(s, [this, s, last = log_.size()] {
            while (servers_[s].applied < last)
                execute_next(servers_[s]);
        });
    }
    znode_tree::effect last;
    while (servers_[leader_].applied < log_.size())
        last = execute_next(servers_[leader_]);
    const auto written = log_.back();
    for (const auto& tell : on_written)
        tell(written->t, last);
    return last;
}

znode_tree::effect ensemble::execute_next(server& s)
{
    const auto e = log_[s.applied++];
    auto effect = s.tree.apply(e->t);
    if (world_.log.on() && &s == &servers_[leader_]) {
        std::string what = "zxid " + std::to_string(e->t.zxid & 0xffffffff) + ' ';
        static constexpr const char* names[] = {"create",        "remove",          "set_data",   "check_version",
                                                "batch",         "set_permissions", "set_access", "open_session",
                                                "close_session", "remove_container"};
        what += names[static_cast<int>(e->t.what)];
        what += ' ' + (effect.path.empty() ? e->t.path : effect.path) + " by session " +
                std::to_string(e->t.session & 0xff);
        if (effect.result != outcome::ok)
            what += " fails: " + std::to_string(static_cast<int>(effect.result));
        world_.log.line(world_.time.now(), "leader", what);
    }
    fire(s, effect);
    const auto& c = e->origin;
    if (c && c->server_open && &servers_[c->server] == &s) {
        answer a{testing::answer_to(effect)};
        a.session = e->t.session;
        complete(c, e->number, std::move(a));
    }
    if (e->t.what == transaction::kind::close_session) {
        for (const auto& other : std::vector(s.clients)) {
            if (other->session == e->t.session)
                drop(other, false);
        }
    }
    return effect;
}

void ensemble::catch_up(server& s)
{
    while (s.applied < log_.size())
        execute_next(s);
}

// ---- sessions, at the leader

std::chrono::milliseconds ensemble::granted_by(unsigned s) const
{
    const auto& limits = world_.set.granted;
    return limits.empty() ? world_.set.session_timeout : limits[(s + servers_[s].incarnation) % limits.size()];
}

void ensemble::heard(const connection& c)
{
    const unsigned s = c.server;
    if (c.session == 0 || servers_[s].stale)
        return;
    if (s == leader_)
        return touch(c.session, c.session_timeout);
    auto& from = servers_[s];
    const auto known =
        std::find_if(from.heard.begin(), from.heard.end(), [&](const auto& other) { return other.first == c.session; });
    if (known == from.heard.end())
        from.heard.emplace_back(c.session, c.session_timeout);
    else
        known->second = c.session_timeout;
    if (from.report_due)
        return;
    from.report_due = true;
    const instant half_tick = instant(world_.set.tick) / 2;
    const auto now = world_.time.now();
    const auto next = now - now % half_tick + half_tick;
    world_.time.at(next, [this, s, incarnation = from.incarnation] {
        auto& self = servers_[s];
        if (self.incarnation != incarnation)
            return;
        self.report_due = false;
        to_leader(s, [this, report = std::move(self.heard)] {
            for (const auto& [id, timeout] : report)
                touch(id, timeout);
        });
        self.heard.clear();
    });
}

void ensemble::touch(std::int64_t id, std::chrono::milliseconds timeout)
{
    const auto at = sessions_.find(id);
    if (at == sessions_.end() || !at->second.alive)
        return;
    auto& s = at->second;
    // The leader's clock may run fast: its timeout is a little shorter in true time.
    const double rate = 1.0 + world_.set.leader_drift_ppm * 1e-6;
    const auto lives = static_cast<double>(instant(timeout).count()) / rate;
    s.deadline = world_.time.now() + instant(static_cast<std::int64_t>(lives));
    if (world_.set.expiry_rounded_up) {
        const instant tick = world_.set.tick;
        s.deadline += tick - s.deadline % tick;
    }
    if (s.check_at != instant(0) && s.check_at <= s.deadline)
        return;
    check_expiry_at(id, s.deadline);
}

void ensemble::check_expiry_at(std::int64_t id, instant when)
{
    sessions_[id].check_at = when;
    world_.time.at(when, [this, id, when] { check_expiry(id, when); });
}

void ensemble::check_expiry(std::int64_t id, instant at)
{
    const auto& s = sessions_[id];
    if (!s.alive || s.check_at != at)
        return; // or another check is under way
    const auto now = world_.time.now();
    if (now < s.deadline)
        return check_expiry_at(id, s.deadline);
    if (!servers_[leader_].up) // nobody expires sessions during an election
        return check_expiry_at(id, now + instant(world_.set.tick));
    world_.log.line(world_.time.now(), "leader", "session " + std::to_string(id & 0xff) + " timed out");
    expire(id);
}

void ensemble::expire(std::int64_t id)
{
    if (!alive(id))
        return;
    sessions_[id].alive = false;
    administrate({.what = transaction::kind::close_session, .session = id});
}

// ---- the administrator

znode_tree::effect ensemble::administrate(transaction t)
{
    return append({std::move(t), nullptr, 0});
}

void ensemble::remove_idle_containers()
{
    for (auto& path : leaders_tree().idle_containers()) {
        administrate({.what = transaction::kind::remove_idle_container, .path = std::move(path)});
    }
}

void ensemble::set_creates(const std::string& path, std::uint32_t creates)
{
    for (auto& s : servers_) {
        catch_up(s);
        s.tree.set_creates(path, creates);
    }
}

} // namespace zklock::simulator
