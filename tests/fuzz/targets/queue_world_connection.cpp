// The connection, and what comes by it: the third part of queue_world.
#include "queue_world.hpp"

namespace zklock::fuzz {

const char* queue_world::text_of(operation what)
{
    static constexpr const char* names[] = {
        "write", "number",  "sync",      "watch parent",    "read",           "watch children", "inspect",
        "watch", "unwatch", "downgrade", "look for reader", "look at parent", "delete parent"};
    return names[static_cast<int>(what)];
}

// --- the connection --------------------------------------------------------------------------------------------------

void queue_world::connect()
{
    if (connected_)
        return;
    connected_ = in_contact_ = true;
    if (in_.below(3) == 0)
        lagging_ = known_; // what this client may have seen, and no more
    trace("connected", lagging_ ? "to a server that lags behind" : "");
    queue_.epoch_began();
}

void queue_world::disconnect()
{
    if (!connected_)
        return;
    for (std::size_t executed = in_.below(8); executed != 0; --executed)
        execute();
    for (std::size_t delivered = in_.below(4); delivered != 0; --delivered)
        deliver();
    in_contact_ = false;
    trace("the connection ends");
    queue_.contact_lost();
    std::deque<request> unanswered;
    for (arrival& a : std::exchange(arriving_, {}))
        if (a.answered)
            unanswered.push_back(std::move(*a.answered));
    for (request& r : std::exchange(sent_, {}))
        unanswered.push_back(std::move(r));
    for (const request& r : unanswered) {
        fail(r);
        advance();
        if (in_.below(4) == 1) {
            leave(false);
            advance();
        }
    }
    require(sent_.empty(), "nothing is sent between a lost answer and the next connection");
    watched_.clear();
    parent_watched_ = children_watched_ = refused_ = false;
    lagging_.reset();
    for (const id whose : std::exchange(removes_, {})) // they were never sent
        queue_.remove_failed(whose);
    connected_ = false;
    queue_.epoch_ended();
}

/// Between two connections: the server has ended the session, and deleted its nodes.
void queue_world::expire()
{
    trace("the session ends");
    for (const auto& [name, n] : nodes(tree_.children)) {
        if (n.creator != 0) {
            tree_.children.erase(name);
            tree_.pzxid = ++zxid_;
        }
    }
    touched_.clear();
    passed_.clear();
    for (auto& [whose, c] : callers_)
        c.nodes.clear();
    known_ = tree_;
    lease_renewable_ = false;
    queue_.session_ended();
}

void queue_world::deliver()
{
    if (arriving_.empty())
        return;
    const arrival a = std::move(arriving_.front());
    arriving_.pop_front();
    known_ = a.known;
    if (a.answered) {
        trace("answer to", text_of(a.answered->what), a.answered->whose, a.answered->node,
              a.result == outcome::ok ? "" : "no", a.names.size());
        return answer(*a.answered, a);
    }
    trace("event", static_cast<int>(a.happened), a.node);
    switch (a.happened) {
    case event::node_deleted: return queue_.node_gone(a.node);
    case event::node_changed: return queue_.watch_failed(a.node);
    case event::parent_deleted: return parent_absent();
    case event::parent_changed: return queue_.parent_changed();
    case event::children_changed: return queue_.children_changed();
    case event::refusal: return path_refused();
    }
}

void queue_world::path_refused()
{
    refused_ = refused_ || queue_.known().parent().watched();
    queue_.path_refused();
}

void queue_world::parent_absent()
{
    refused_ = false;
    queue_.parent_absent();
}

void queue_world::answer(const request& r, const arrival& a)
{
    const bool ok = a.result == outcome::ok;
    const auto ever = static_cast<std::int32_t>(a.known.ever & 0x7fff'ffff); // half of what a Stat has room for
    switch (r.what) {
    case operation::write: return answer_writes(r, a);
    case operation::number:
        for (const write& w : r.writes) {
            if (ok)
                queue_.token_known(w.whose, &w == &r.writes.back() ? 3 : 0);
            else
                queue_.token_missed(w.whose);
        }
        return;
    case operation::synchronize: synced_ = true; return;
    case operation::watch_parent:
        if (!ok)
            return parent_absent();
        return queue_.parent_watched(static_cast<std::int32_t>(a.known.children.size()), ever, a.known.pzxid);
    case operation::watch_children:
    case operation::read:
        if (ok) {
            queue_.children_read(a.names, ever, synced_);
            listed_.insert(a.names.begin(), a.names.end());
            return certify_listed(a.names);
        }
        queue_.children_read({}, 0, synced_);
        return parent_absent();
    case operation::inspect:
        if (!ok)
            return queue_.node_gone(r.node);
        queue_.inspected(r.whose, r.node, true);
        queue_.token_known(r.whose, 0);
        return check_number(r.whose, r.node);
    case operation::watch: return ok ? queue_.watched(r.node) : queue_.node_gone(r.node);
    case operation::unwatch: return queue_.unwatched(r.node);
    case operation::downgrade: return answer_downgrade(r, a.result);
    case operation::look_for_reader: return answer_look_for_reader(r, ok);
    case operation::look_at_parent: return answer_look_at_parent(a);
    case operation::delete_parent: return a.result == outcome::failed ? queue_.parent_occupied() : parent_absent();
    }
}

/// As the recipes do: somebody's data are not to be lost.
void queue_world::answer_look_at_parent(const arrival& a)
{
    if (a.result == outcome::no_node)
        return parent_absent();
    const auto ever = static_cast<std::int32_t>(a.known.ever & 0x7fff'ffff);
    if (!queue_.may_remove_parent(ever))
        return;
    if (a.known.has_data)
        return queue_.parent_stays();
    send(operation::delete_parent);
}

void queue_world::answer_downgrade(const request& r, outcome result)
{
    switch (result) {
    case outcome::ok: return queue_.downgraded(r.whose);
    case outcome::node_exists: return queue_.downgraded(r.whose, true);
    case outcome::no_node: return queue_.downgrade_lost(r.whose);
    case outcome::failed: return send(operation::look_for_reader, r.whose, r.node);
    }
}

/// As the recipes do: what was refused may have been the repetition of one that was done.
void queue_world::answer_look_for_reader(const request& r, bool exists)
{
    if (exists)
        return queue_.downgraded(r.whose, true);
    if (const auto c = callers_.find(r.whose); c != callers_.end())
        c->second.downgrading = false;
    queue_.downgrade_refused(r.whose);
}

void queue_world::answer_writes(const request& r, const arrival& a)
{
    if (a.result != outcome::ok) {
        const bool path_missing = a.result == outcome::no_node && r.writes[a.failed].creates;
        if (path_missing)
            tree_.exists = true; // the recipes make it, then go on
        for (const write& w : r.writes) {
            const bool hopeless = path_missing && w.creates;
            if (&w == &r.writes[a.failed] || hopeless) {
                refused_write(w);
                continue;
            }
            if (w.creates)
                queue_.create_sent_again(w.whose);
            send(operation::write, 0, {}, {w});
        }
        return;
    }
    auto node = a.names.begin();
    std::vector<write> together;
    for (const write& w : r.writes) {
        if (!w.creates) {
            queue_.removed(w.whose);
            continue;
        }
        const bool alone = r.writes.size() == 1;
        created(w, *node, alone ? a.czxid : 0);
        if (!alone)
            together.push_back(w);
        ++node;
    }
    if (!together.empty())
        send(operation::number, 0, a.names.back(), std::move(together));
}

void queue_world::created(const write& w, const std::string& node, std::int64_t czxid)
{
    const std::int32_t sequence = queue::name_rules().sequence_of(node).value_or(queue::sequence_limit);
    queue_.created(w.whose, node, sequence, czxid);
    if (czxid != 0)
        queue_.token_known(w.whose, 3);
    check_number(w.whose, node);
}

void queue_world::refused_write(const write& w)
{
    if (w.creates)
        queue_.create_failed(w.whose);
    else
        queue_.removed(w.whose); // it was gone already
}

void queue_world::fail(const request& r)
{
    trace("unknown:", text_of(r.what), r.whose, r.node);
    switch (r.what) {
    case operation::write:
        for (const write& w : r.writes) {
            if (w.creates)
                queue_.create_unknown(w.whose);
            else
                queue_.remove_failed(w.whose);
        }
        return;
    case operation::number:
        for (const write& w : r.writes)
            queue_.token_missed(w.whose);
        return;
    case operation::synchronize: synced_ = false; return;
    case operation::watch_parent: return queue_.parent_watch_failed();
    case operation::watch_children:
    case operation::read: return queue_.read_failed();
    case operation::inspect: return queue_.inspect_unknown(r.whose);
    case operation::watch: return queue_.watch_failed(r.node);
    case operation::unwatch: return queue_.unwatched(r.node);
    case operation::downgrade:
    case operation::look_for_reader: return queue_.downgrade_unknown(r.whose);
    case operation::look_at_parent:
    case operation::delete_parent: return queue_.remove_parent_unknown();
    }
}

/// As the recipes do: a number too close to the end is no place to wait at.
void queue_world::check_number(id whose, const std::string& node)
{
    const std::int32_t sequence = queue::name_rules().sequence_of(node).value_or(queue::sequence_limit);
    if (sequence >= 0 && sequence < queue::sequence_limit)
        return;
    const auto at = callers_.find(whose);
    if (at == callers_.end() || at->second.left || at->second.held)
        return;
    at->second.left = true;
    queue_.leave(whose);
}

void queue_world::send(operation what, id whose, std::string node, std::vector<write> writes)
{
    require(connected_ && in_contact_, "requests are made on a connection");
    trace("    ->", text_of(what), whose, node);
    for (const write& w : writes)
        trace("       ", w.creates ? "create" : "remove", w.whose, w.node);
    sent_.push_back({what, whose, std::move(node), std::move(writes)});
}

} // namespace zklock::fuzz
