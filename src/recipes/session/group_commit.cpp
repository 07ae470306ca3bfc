#include "recipes/session/group_commit.hpp"

#include "recipes/session/session.hpp"

#include <algorithm>
#include <cassert>

namespace zklock::recipes {
namespace {

constexpr unsigned most_under_way = 2;
constexpr std::size_t most_writes = 64;
constexpr std::size_t most_spare = 2 * most_under_way; // of others the number is being looked for

/// Whether such an answer to one create is the answer to all creates of its source, which have one parent. That no
/// server takes the access list is the answer to those alone which have the same list.
constexpr bool answers_all(store::outcome result) noexcept
{
    using enum store::outcome;
    return result == no_node || result == no_auth || result == invalid_acl || result == no_child_allowed;
}

bool have_one_list(const node_write& a, const node_write& b) noexcept
{
    return a.access == b.access || (a.access && b.access && *a.access == *b.access);
}

} // namespace

void group_commit::remove(write_source& source, std::uint64_t id, bool urgent)
{
    (urgent ? source.urgent_removes_ : source.removes_).push_back(id);
    join(source, urgent);
}

void group_commit::name_create(write_source& source, std::uint64_t id)
{
    source.create_ = id;
    if (id != 0)
        join(source, false);
}

void group_commit::join(write_source& source, bool urgent)
{
    auto& line = urgent ? urgent_line_ : line_;
    bool& in_line = urgent ? source.in_urgent_line_ : source.in_line_;
    if (in_line)
        return;
    line.push_back(&source);
    in_line = true;
}

void group_commit::proceed()
{
    if (sending_ || (line_.empty() && urgent_line_.empty()) || !session_.connected())
        return;
    if (under_way_ == 0 && !gathering_)
        return flush();
    if (under_way_ < most_under_way || !urgent_line_.empty())
        gather_until_the_turn_ends();
}

void group_commit::gather_until_the_turn_ends()
{
    if (gathering_)
        return;
    session_.news().tell([this] {
        gathering_ = false;
        flush();
    });
    gathering_ = true;
}

void group_commit::flush()
{
    sending_ = true;
    while (session_.connected() && (!urgent_line_.empty() || (!line_.empty() && under_way_ < most_under_way)))
        send();
    sending_ = false;
}

void group_commit::epoch_ended()
{
    for (write_source* source : std::exchange(line_, {}))
        source->in_line_ = false;
    for (write_source* source : std::exchange(urgent_line_, {}))
        source->in_urgent_line_ = false;
    under_way_ = 0;
}

void group_commit::forget(write_source& source)
{
    if (source.in_line_)
        std::erase(line_, &source);
    if (source.in_urgent_line_)
        std::erase(urgent_line_, &source);
    std::erase(served_, &source);
}

// --- sending ---------------------------------------------------------------------------------------------------------

group_commit::shared_batch group_commit::take()
{
    shared_batch taken;
    if (spare_.empty()) {
        taken = std::make_shared<batch>();
    } else {
        taken = std::move(spare_.back());
        spare_.pop_back();
    }
    std::size_t bytes = 0;
    const auto room = [&] { return taken->count < most_writes && bytes < most_bytes_of_a_batch; };
    while (room() && !urgent_line_.empty())
        take_one(urgent_line_, true, *taken, bytes);
    while (room() && !line_.empty())
        take_one(line_, false, *taken, bytes);
    return taken;
}

/// It has been answered, or its writes are sent one by one: what is sent next may take its memory.
void group_commit::put_back(const shared_batch& done)
{
    done->count = 0;
    if (spare_.size() < most_spare)
        spare_.push_back(done);
}

/// The next write of the one who is first in line.
void group_commit::take_one(std::deque<write_source*>& line, bool urgent, batch& to, std::size_t& bytes)
{
    write_source& source = *line.front();
    line.pop_front();
    (urgent ? source.in_urgent_line_ : source.in_line_) = false;
    if (!source.touched_)
        served_.push_back(&source);
    source.touched_ = true;
    if (to.count == to.room.size())
        to.room.emplace_back();
    node_write& next = to.room[to.count];
    if (!next_of(source, urgent, next))
        return;
    if (source.has_write(urgent))
        join(source, urgent);
    bytes += next.node.size() + next.data.size();
    ++to.count;
}

/// The next write of the source that is needed: its deletes come first.
bool group_commit::next_of(write_source& source, bool urgent, node_write& next)
{
    next.by = &source;
    next.creates = false;
    next.data = {};
    next.access = nullptr;
    for (auto* ids : {&source.urgent_removes_, &source.removes_})
        while (!ids->empty()) {
            next.id = ids->front();
            ids->pop_front();
            if (source.prepare(next))
                return true;
        }
    next.creates = true;
    while (!urgent && source.create_ != 0) {
        next.id = std::exchange(source.create_, 0);
        if (source.prepare(next))
            return true;
        assert(source.create_ != next.id); // or it would be asked for ever
    }
    return false;
}

void group_commit::send()
{
    const shared_batch taken = take();
    if (taken->count != 0)
        ++under_way_;
    if (taken->count > 1)
        send_together(taken);
    else if (taken->count == 1)
        send_alone(taken, taken->all().front());
    else
        put_back(taken);
    // They may have found that somebody is not to have a node after all; what they do about it must not go before the
    // writes.
    for (write_source* source : served_) {
        source->touched_ = false;
        source->writes_sent();
    }
    served_.clear();
}

/// `w` is one of the batch, which is kept for its node's name.
void group_commit::send_alone(const shared_batch& of, const node_write& w)
{
    if (w.creates) {
        session_.store.create(w.node, w.data, store::node_kind::ephemeral_sequential, w.access,
                              [this, of, by = w.by, id = w.id](const store::create_reply& answer) {
                                  session_.wrote(answer);
                                  if (answer.result == store::outcome::ok) {
                                      session_.tokens().made_by(answer.stat.czxid, answer.sent);
                                      session_.own_writes().made(answer.path, answer.stat.czxid);
                                  }
                                  by->on_created(id, answer);
                                  alone_answered(of, *by);
                              });
        return;
    }
    session_.own_writes().may_be_gone(w.node);
    session_.store.remove(w.node, store::any_version, [this, of, &w](const store::reply& answer) {
        session_.wrote(answer);
        session_.own_writes().delete_answered(w.node, answer.result);
        write_source& by = *w.by;
        by.on_removed(w.id, answer.result);
        alone_answered(of, by);
    });
}

void group_commit::alone_answered(const shared_batch& of, write_source& source)
{
    --under_way_;
    if (of->count == 1) // or it went with others, which may be under way
        put_back(of);
    source.writes_answered();
    proceed();
}

void group_commit::send_together(const shared_batch& together)
{
    sent_.clear();
    using kind = store::batch_write::kind;
    for (const node_write& w : together->all()) {
        if (w.creates) {
            sent_.push_back({.what = kind::create, .path = w.node, .data = w.data, .access = w.access});
        } else {
            sent_.push_back({.what = kind::remove, .path = w.node});
            session_.own_writes().may_be_gone(w.node);
        }
    }
    session_.store.batch(sent_, [this, together](const store::batch_reply& answer) { on_answer(together, answer); });
}

// --- answers ---------------------------------------------------------------------------------------------------------

void group_commit::on_answer(const shared_batch& together, const store::batch_reply& answer)
{
    --under_way_;
    session_.wrote(answer);
    const bool sent_again = answer.result != store::outcome::ok && answer.result != store::outcome::unknown;
    if (sent_again) {
        on_failure(together, answer);
    } else {
        store::create_reply created;
        static_cast<store::reply&>(created) = answer;
        auto node = answer.created.begin();
        const writes all = together->all();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const node_write& w = all[i];
            if (w.creates && answer.result == store::outcome::ok)
                created.path = *node++;
            if (answer.result == store::outcome::ok)
                note_done(w, w.creates ? created.path : w.node, i + 1 == all.size() || all[i + 1].by != w.by);
            w.answered(created);
        }
    }
    const bool made = !answer.created.empty();
    if (made)
        learn_czxid(together, answer.created.back(), answer.sent);
    tell_sources(together->all());
    if (!made && !sent_again)
        put_back(together);
    proceed();
}

/// They were done together: of those of one source, which stand together, the last stands for all. But each that was
/// deleted may come back.
void group_commit::note_done(const node_write& w, std::string_view node, bool last_of_source)
{
    own_writes& known = session_.own_writes();
    if (last_of_source)
        w.creates ? known.made(node) : known.removed(node);
    else if (!w.creates)
        known.deleted(node);
}

/// One write was refused, and so none was done. It has its answer; the others go alone. Where the answer shows that
/// none of its source's creates can be done, they need not be tried.
void group_commit::on_failure(const shared_batch& batch, const store::batch_reply& answer)
{
    const writes together = batch->all();
    const bool one_failed = answer.failed < together.size() && answer.result != store::outcome::bad_arguments;
    const node_write* const failed = one_failed ? &together[answer.failed] : nullptr;
    const bool no_create_can_be_done = failed && failed->creates && answers_all(answer.result);
    if (failed && !failed->creates)
        session_.own_writes().delete_answered(failed->node, answer.result);
    store::create_reply refused;
    static_cast<store::reply&>(refused) = answer;
    for (const node_write& w : together) {
        const bool hopeless = no_create_can_be_done && w.creates && w.by == failed->by &&
                              (answer.result != store::outcome::invalid_acl || have_one_list(w, *failed));
        if (&w != failed && !hopeless) {
            ++under_way_;
            if (w.creates)
                w.by->create_goes_again(w.id);
            send_alone(batch, w);
        } else {
            w.answered(refused);
        }
    }
}

void group_commit::learn_czxid(const shared_batch& together, std::string_view one, lease_clock::time_point sent)
{
    for (const node_write& w : together->all())
        if (w.creates)
            w.by->expect_czxid();
    session_.store.exists(one, false, [this, together, sent](const store::stat_reply& answer) {
        if (answer.result == store::outcome::unknown)
            session_.contact_lost();
        const bool known = answer.result == store::outcome::ok;
        if (known)
            session_.tokens().made_by(answer.stat.czxid, sent);
        for (const node_write& w : together->all()) {
            if (!w.creates)
                continue;
            if (known)
                session_.own_writes().numbered(w.node, answer.stat.czxid);
            w.by->on_czxid(w, known ? answer.stat.czxid : 0);
        }
        tell_sources(together->all(), true); // the others may be gone by now
        put_back(together);
        proceed();
    });
}

/// Lets each who has one of those writes do what is next, once.
void group_commit::tell_sources(writes together, bool only_of_creates)
{
    const auto concerns = [=](const node_write& w) { return w.creates || !only_of_creates; };
    for (const node_write& w : together)
        if (concerns(w))
            w.by->touched_ = true;
    for (const node_write& w : together)
        if (concerns(w) && std::exchange(w.by->touched_, false))
            w.by->writes_answered();
}

} // namespace zklock::recipes
