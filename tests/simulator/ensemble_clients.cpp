// A server with its clients: what arrives on their connections, and what goes back.
#include "ensemble.hpp"

namespace zklock::simulator {

using store::outcome;
using stream = choices::stream;

connection_ptr ensemble::connect(endpoint& client, unsigned client_number, unsigned server, std::int64_t session,
                                 std::int64_t last_zxid_seen)
{
    auto c = std::make_shared<connection>(client, client_number, server, next_connection_++);
    c->session = session;
    c->last_zxid_seen = last_zxid_seen;
    request r;
    r.what = operation::write;
    r.write.what = transaction::kind::open_session;
    send(c, std::move(r));
    return c;
}

void ensemble::send(const connection_ptr& c, request r)
{
    if (!c->client_open)
        return;
    auto when = world_.time.now() + world_.travel_time(stream::to_server, c->client_number);
    when = std::max({when, c->client.blocked_until, c->last_to_server});
    c->last_to_server = when;
    world_.time.at(when, [this, c, r = std::move(r)]() mutable { arrive(c, std::move(r)); });
}

void ensemble::close(const connection_ptr& c)
{
    if (!c->client_open)
        return;
    c->client_open = false;
    // The server may hear of it at once, or go on reading what was sent, or never hear until the session ends.
    instant notice = world_.travel_time(stream::to_server, c->client_number);
    if (!world_.quiet && world_.choose.one_in(3, stream::to_server, c->client_number)) {
        const auto timeout = static_cast<std::uint64_t>(instant(world_.set.session_timeout).count());
        notice += instant(world_.choose.below(timeout, stream::to_server, c->client_number));
    }
    world_.time.after(notice, [this, c] {
        if (c->server_open)
            forget(c);
    });
}

void ensemble::arrive(const connection_ptr& c, request r)
{
    if (!c->server_open)
        return;
    if (const auto until = servers_[c->server].still_until; until > world_.time.now()) {
        return world_.time.at(until, [this, c, r = std::move(r)]() mutable { arrive(c, std::move(r)); });
    }
    if (r.doom == fate::cut_before)
        return drop(c, true);
    if (r.connects())
        return arrive_connect(c, r);
    heard(*c);
    if (const auto why = refused_here(*c, r)) {
        answer a;
        a.result = *why;
        return reply(c, r, std::move(a)); // before what came earlier is answered
    }
    const bool alone = c->pending.empty();
    c->pending.push_back(std::move(r));
    if (c->pending.back().goes_to_leader()) {
        forward(c, request(c->pending.back())); // a copy: an answer takes it off the queue
    } else if (alone) {
        answer_reads(c);
    }
}

/// What access lists forbid, as far as this server knows, and without a word of the leader's.
std::optional<outcome> ensemble::refused_here(const connection& c, const request& r) const
{
    using kind = transaction::kind;
    const bool checked =
        r.writes(kind::create) || r.writes(kind::remove) || r.writes(kind::set_data) || r.writes(kind::set_access);
    if (!world_.set.eager_access_check || size() == 1 || !checked)
        return std::nullopt;
    auto t = r.write;
    t.session = c.session;
    return servers_[c.server].tree.refusal(t);
}

void ensemble::arrive_connect(const connection_ptr& c, const request& r)
{
    auto& s = servers_[c->server];
    if (!c->client_open)
        return; // a handshake that nobody waits for any more
    if (s.astray && c->session != 0 && c->last_zxid_seen == 0)
        return send_down(c, {}); // it does not know that session
    const bool behind = zxid_of(s) < c->last_zxid_seen;
    if (!s.up || behind)
        return drop(c, true);
    if (c->session != 0) { // a session has one connection at a server
        for (const auto& old : std::vector(s.clients)) {
            if (old->session == c->session)
                forget(old);
        }
    }
    s.clients.push_back(c);
    c->pending.push_back(r);
    // A session keeps its time: a server that granted less would shorten it before the client can know, and nothing
    // that the client does could help (see the README's promises).
    const auto known = sessions_.find(c->session);
    c->session_timeout = known != sessions_.end() ? known->second.timeout : granted_by(c->server);
    heard(*c);
    forward(c, r);
}

void ensemble::answer_reads(const connection_ptr& c)
{
    while (c->server_open && !c->pending.empty() && !c->pending.front().goes_to_leader()) {
        const auto r = std::move(c->pending.front());
        c->pending.pop_front();
        reply(c, r, {c->watched.read(servers_[c->server].tree, r, world_.set.exists_needs_read)});
    }
}

void ensemble::complete(const connection_ptr& c, std::uint64_t number, answer a)
{
    if (!c->server_open)
        return;
    if (c->pending.empty() || c->pending.front().number != number) {
        return world_.violate("simulator: the server answers out of order");
    }
    const auto r = std::move(c->pending.front());
    c->pending.pop_front();
    if (r.connects()) {
        c->session = a.session;
        a.session_timeout = c->session_timeout;
    }
    const bool over = r.writes(transaction::kind::close_session) || (r.connects() && a.session == 0);
    reply(c, r, std::move(a));
    if (over) {
        if (c->server_open)
            forget(c);
        return;
    }
    answer_reads(c);
}

void ensemble::reply(const connection_ptr& c, const request& r, answer a)
{
    if (r.doom == fate::cut_after)
        return drop(c, true);
    a.number = r.number;
    a.zxid = zxid_of(servers_[c->server]);
    send_down(c, std::move(a));
}

void ensemble::send_down(const connection_ptr& c, answer a)
{
    if (!c->client_open)
        return;
    auto when = world_.time.now() + world_.travel_time(stream::to_client, c->client_number);
    when = std::max({when, c->client.blocked_until, c->last_to_client});
    c->last_to_client = when;
    a.ends_withheld = std::exchange(c->ends_withheld, {});
    world_.time.at(when, [c, a = std::move(a)]() mutable {
        if (c->client_open)
            c->client.received(c, std::move(a));
    });
}

void ensemble::fire(server& s, const znode_tree::effect& e)
{
    using store::event_kind;
    for (const auto& [kind, path, hidden] : e.events) {
        for (const auto& c : s.clients) {
            const bool fires = c->watched.use_up(kind, path);
            if (fires && hidden && kind == event_kind::deleted)
                c->ends_withheld.push_back(path);
            if (!fires || hidden)
                continue;
            answer a;
            a.event = kind;
            a.path = path;
            send_down(c, std::move(a));
        }
    }
}

void ensemble::drop(const connection_ptr& c, bool at_once)
{
    forget(c);
    if (!c->client_open)
        return;
    auto when = world_.time.now() + world_.travel_time(stream::to_client, c->client_number);
    when = std::max(when, c->client.blocked_until);
    if (!at_once)
        when = std::max(when, c->last_to_client);
    world_.time.at(when, [c] {
        if (c->client_open)
            c->client.closed(c);
    });
}

void ensemble::forget(const connection_ptr& c)
{
    c->server_open = false;
    c->pending.clear();
    c->watched = {};
    std::erase(servers_[c->server].clients, c);
}

std::vector<ensemble::watch> ensemble::watches() const
{
    std::vector<watch> all;
    for (const auto& s : servers_) {
        for (const auto& c : s.clients) {
            if (!c->client_open)
                continue;
            for (const auto* const kind : {&c->watched.nodes, &c->watched.children})
                for (const auto& path : *kind)
                    all.push_back({c->session, path});
        }
    }
    return all;
}

} // namespace zklock::simulator
