#include "recipes/locks/lock_requests.hpp"

#include "queue/node_name.hpp"
#include "queue/owner_data.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/session/error_mapping.hpp"

#include <vector>

namespace zklock::recipes {

using store::outcome;

namespace {

/// How many children a node ever had: its cversion counts each once when it comes and once when it goes.
std::int32_t children_ever(const store::node_stat& stat)
{
    const auto changes = static_cast<std::uint32_t>(stat.cversion) + static_cast<std::uint32_t>(stat.num_children);
    return static_cast<std::int32_t>(changes / 2);
}

} // namespace

/// Users may wait for the same node.
void lock_requests::unwatch(const std::string& node)
{
    if (session_.listeners().hand_over_watch(lock_.full(node)))
        return queue_.unwatched(node);
    session_.store.unwatch(lock_.full(node),
                           lock_.expect([this, node](const store::reply&) { queue_.unwatched(node); }));
}

void lock_requests::watch_parent()
{
    session_.store.get(lock_.path(), true, lock_.expect([this](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            queue_.parent_watched(answer.stat.num_children, children_ever(answer.stat), answer.stat.pzxid);
            return lock_.note_shown(answer.stat.pzxid);
        case outcome::no_node: return lock_.path_missing();
        default:
            queue_.parent_watch_failed();
            lock_.notice_refusal(answer.result);
            if (answer.result != outcome::unknown)
                lock_.fail_waiting(error_of(answer.result));
        }
    }));
}

/// What others have put into it would be lost: then it stays. The servers are asked although there are children, for
/// they look at the permission first: all clients are to find alike whether the parent may go.
void lock_requests::remove_parent()
{
    const auto removed = [this](const store::reply& answer) {
        session_.wrote(answer);
        switch (answer.result) {
        case outcome::ok: queue_.parent_absent(); return lock_.parent_removed();
        case outcome::no_node: return lock_.path_missing();
        case outcome::not_empty:
        case outcome::bad_version: return queue_.parent_occupied();
        case outcome::unknown: return queue_.remove_parent_unknown();
        default: return queue_.parent_stays();
        }
    };
    session_.store.get(lock_.path(), false, lock_.expect([this, removed](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            if (!queue_.may_remove_parent(children_ever(answer.stat)))
                return;
            if (!answer.data.empty())
                return queue_.parent_stays();
            return session_.store.remove(lock_.path(), answer.stat.version, lock_.expect(removed));
        case outcome::no_node: return lock_.path_missing();
        case outcome::unknown: return queue_.remove_parent_unknown();
        default: lock_.notice_refusal(answer.result); return queue_.parent_stays();
        }
    }));
}

void lock_requests::read(bool watch)
{
    session_.store.children(lock_.path(), watch, lock_.expect([this](const store::children_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            listed_ = answer.stat.pzxid;
            session_.own_writes().listed(lock_.path(), answer);
            queue_.children_read(*answer.names, children_ever(answer.stat), session_.catch_up().done());
            lock_.note_shown(listed_);
            if (path_handoffs* const handoffs = lock_.handoffs())
                handoffs->listed();
            return;
        case outcome::no_node:
            listed_ = 0;
            queue_.children_read(*answer.names, 0, session_.catch_up().done());
            return lock_.path_missing(); // nor is there a watch
        case outcome::unknown: return queue_.read_failed();
        default:
            queue_.read_refused();
            lock_.notice_refusal(answer.result);
            lock_.fail_waiting(error_of(answer.result));
            lock_.after_a_while([this] { queue_.look_up_again(); }); // who left is still looked for
        }
    }));
}

void lock_requests::inspect(const contender_ptr& contender, const std::string& node)
{
    session_.store.get(lock_.full(node), true, lock_.expect([this, contender, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok: {
            const bool ours = answer.stat.ephemeral_owner == session_.id();
            queue_.inspected(contender->id, node, ours);
            if (ours)
                contender->setback = errc::lost;
            look_at_data(node, answer.data);
            if (ours && contender->listens())
                lock_.holder().queued(*contender, lock_.full(node));
            if (ours)
                lock_.nodes().take_czxid(*contender, answer.stat.czxid);
            return;
        }
        case outcome::no_node:
            if (queue_.known().owns(node))
                session_.own_writes().found_gone(lock_.full(node));
            return queue_.node_gone(node);
        case outcome::unknown: return queue_.inspect_unknown(contender->id);
        default: // it is ours, but what it is worth cannot be known
            queue_.watch_failed(node);
            lock_.refuse(*contender, error_of(answer.result));
        }
    }));
}

void lock_requests::watch(const std::string& node)
{
    session_.store.get(lock_.full(node), true, lock_.expect([this, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            queue_.watched(node, answer.stat.ephemeral_owner == 0);
            lock_.holder().was_read(node, answer);
            look_at_data(node, answer.data);
            if (lock_.handoffs() && answer.stat.ephemeral_owner != session_.id())
                lock_.handoffs()->look_at(node, answer.data);
            return;
        case outcome::no_node:
            if (queue_.known().owns(node))
                session_.own_writes().found_gone(lock_.full(node));
            return queue_.node_gone(node);
        case outcome::unknown: return queue_.watch_failed(node);
        default:
            lock_.fail_waiting(error_of(answer.result));
            lock_.after_a_while([this, node] { queue_.watch_failed(node); }); // a holder goes on asking for its own
        }
    }));
}

/// A read of a node of ours that holds on comes with its watch, or with a check of the version that was read: so nobody
/// asks us to let go unseen.
void lock_requests::look_at_data(const std::string& node, std::string_view data)
{
    if (data != queue::revocation_request)
        return;
    const contender_ptr* const its = contenders_.find(queue_.known().contender_of(node));
    if (!its)
        return;
    if (session_.log.on(log_level::info) && !queue_.own().revoked((*its)->id))
        session_.log(log_level::info, "is asked to let go of ", lock_.path(), ": ", node);
    queue_.revoke((*its)->id);
    (*its)->revoke();
}

/// Both or none: so nobody sees the path without one of the two. It can be repeated when the answer was lost. The
/// reader's node is to say what the writer's says at that moment, which may be a request to let go: so its version must
/// be the one that goes with those data.
void lock_requests::downgrade(const contender_ptr& contender, const std::string& node, std::string_view data,
                              std::int32_t version)
{
    using kind = store::batch_write::kind;
    contender->leaves_its_node();
    const std::string writer = lock_.full(node);
    const std::string reader = lock_.full(queue::reader_name(node));
    session_.own_writes().may_be_gone(writer);
    const store::batch_write both[] = {{.what = kind::create,
                                        .path = reader,
                                        .data = data,
                                        .created = store::node_kind::ephemeral,
                                        .access = contender->access()},
                                       {.what = kind::remove, .path = writer, .version = version}};
    const auto answered = lock_.expect([this, contender, node](const store::batch_reply& answer) {
        session_.wrote(answer);
        const queue::contender_id id = contender->id;
        switch (answer.result) {
        case outcome::ok:
            session_.own_writes().made(lock_.full(queue::reader_name(node)));
            return queue_.downgraded(id);
        case outcome::node_exists: return found_downgraded(id, node); // by the one whose answer was lost
        case outcome::no_node: return downgrade_lost(id, node);
        case outcome::unknown: return queue_.downgrade_unknown(id);
        case outcome::bad_version: return downgrade_as_found(contender, node);
        default: lock_.notice_refusal(answer.result); look_for_downgraded(contender, node, error_of(answer.result));
        }
    });
    session_.store.batch(both, answered);
}

/// There is the reader's node, which came as the writer's went.
void lock_requests::found_downgraded(queue::contender_id id, const std::string& node)
{
    session_.own_writes().found_gone(lock_.full(node));
    session_.own_writes().found(lock_.full(queue::reader_name(node)), 0);
    queue_.downgraded(id, true);
}

/// The writer's node is gone, and so is the reader's that may have come in its place.
void lock_requests::downgrade_lost(queue::contender_id id, const std::string& node)
{
    session_.own_writes().found_gone(lock_.full(node));
    session_.own_writes().found_gone(lock_.full(queue::reader_name(node)));
    queue_.downgrade_lost(id);
}

/// Somebody has written on the writer's node.
void lock_requests::downgrade_as_found(const contender_ptr& contender, const std::string& node)
{
    session_.store.get(lock_.full(node), false, lock_.expect([this, contender, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            if (!contender->holding()) // the node is to go
                return queue_.downgrade_refused(contender->id);
            look_at_data(node, answer.data);
            return downgrade(contender, node, answer.data, answer.stat.version);
        case outcome::no_node: return downgrade_lost(contender->id, node);
        case outcome::unknown: return queue_.downgrade_unknown(contender->id);
        default: return look_for_downgraded(contender, node, error_of(answer.result));
        }
    }));
}

/// What was refused may be the repetition of one that was done, and whose answer was lost. A client that may not
/// write may still ask whether a node exists; and the refusal, like every answer to a write, comes after all that was
/// done before it. A server that checks who may read it (3.8.4, 3.9.2 and later) checks a node that is there: `no_auth`
/// says so, too.
void lock_requests::look_for_downgraded(const contender_ptr& contender, const std::string& node, errc refused)
{
    const auto answered = [this, contender, node, refused](const store::stat_reply& answer) {
        const queue::contender_id id = contender->id;
        switch (answer.result) {
        case outcome::ok:
        case outcome::no_auth: return found_downgraded(id, node);
        case outcome::no_node:
            contender->finish_downgrade(refused, lock_.full(node));
            return queue_.downgrade_refused(id);
        case outcome::unknown: return queue_.downgrade_unknown(id);
        default: // once more: another answer to it has to come first
            lock_.after_a_while([this, id] { queue_.downgrade_unknown(id); });
        }
    };
    session_.store.exists(lock_.full(queue::reader_name(node)), false, lock_.expect(answered));
}

} // namespace zklock::recipes
