#include "recipes/group_commit.hpp"

#include "queue/mutants.hpp"
#include "recipes/lock_path.hpp"
#include "recipes/session_core.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {
namespace {

constexpr unsigned most_under_way = 2;
constexpr std::size_t most_writes = 64;
constexpr std::size_t most_spare = 2 * most_under_way; // of others the number is being looked for

/// Whether such an answer to one create is the answer to all below the same path.
constexpr bool concerns_the_path(store::outcome result) noexcept
{
    using enum store::outcome;
    return result == no_node || result == no_auth || result == invalid_acl || result == no_child_allowed;
}

} // namespace

void group_commit::join(lock_path& path, bool urgent)
{
    auto& line = urgent ? urgent_paths_ : paths_;
    bool& in_line = urgent ? path.in_urgent_line : path.in_line;
    if (in_line)
        return;
    line.push_back(&path);
    in_line = true;
}

void group_commit::proceed()
{
    if (sending_ || (paths_.empty() && urgent_paths_.empty()) || !core_.connected)
        return;
    if (under_way_ == 0 && !gathering_)
        return flush();
    if (under_way_ < most_under_way || !urgent_paths_.empty())
        gather_until_the_turn_ends();
}

void group_commit::gather_until_the_turn_ends()
{
    if (gathering_)
        return;
    core_.tell([this] {
        gathering_ = false;
        core_.attempt([this] { flush(); });
    });
    gathering_ = true;
}

void group_commit::flush()
{
    sending_ = true;
    while (core_.connected && (!urgent_paths_.empty() || (!paths_.empty() && under_way_ < most_under_way)))
        send();
    sending_ = false;
}

void group_commit::epoch_ended()
{
    for (lock_path* path : std::exchange(paths_, {}))
        path->in_line = false;
    for (lock_path* path : std::exchange(urgent_paths_, {}))
        path->in_urgent_line = false;
    for (lock_path* path : asked_) // an exception has come between
        path->touched = false;
    asked_.clear();
    under_way_ = 0;
    sending_ = false;
}

void group_commit::forget(lock_path& path)
{
    if (path.in_line)
        std::erase(paths_, &path);
    if (path.in_urgent_line)
        std::erase(urgent_paths_, &path);
    std::erase(asked_, &path);
}

// --- sending ---------------------------------------------------------------------------------------------------------

group_commit::shared_transaction group_commit::take()
{
    shared_transaction taken;
    if (spare_.empty()) {
        taken = std::make_shared<transaction>();
    } else {
        taken = std::move(spare_.back());
        spare_.pop_back();
    }
    std::size_t bytes = 0;
    const auto room = [&] { return taken->count < most_writes && bytes < most_bytes_of_a_batch; };
    while (room() && !urgent_paths_.empty())
        take_one(urgent_paths_, true, *taken, bytes);
    while (room() && !paths_.empty())
        take_one(paths_, false, *taken, bytes);
    return taken;
}

/// It has been answered, or its writes are sent one by one: what is sent next may take its memory.
void group_commit::put_back(const shared_transaction& done)
{
    done->count = 0;
    if (spare_.size() < most_spare)
        spare_.push_back(done);
}

/// The next write of the path that is first in line.
void group_commit::take_one(std::deque<lock_path*>& line, bool urgent, transaction& to, std::size_t& bytes)
{
    lock_path& path = *line.front();
    line.pop_front();
    (urgent ? path.in_urgent_line : path.in_line) = false;
    if (!path.touched)
        asked_.push_back(&path);
    path.touched = true;
    if (to.count == to.room.size())
        to.room.emplace_back();
    write& next = to.room[to.count];
    if (!path.next_write(urgent, next))
        return;
    if (path.has_write(urgent))
        join(path, urgent);
    bytes += next.node.size() + (next.creates ? path.data_of(next.id).size() : 0);
    ++to.count;
}

void group_commit::send()
{
    const shared_transaction taken = take();
    if (taken->count != 0)
        ++under_way_;
    if (taken->count > 1) {
        send_together(taken);
    } else {
        if (taken->count == 1)
            send_alone(taken->all().front());
        put_back(taken);
    }
    // They may have found that somebody is not to have a node after all; what they do about it must not go before the
    // writes.
    for (lock_path* path : asked_) {
        path->touched = false;
        path->after_writes();
    }
    asked_.clear();
}

void group_commit::send_alone(const write& w)
{
    const auto answered = [this, path = w.path] {
        --under_way_;
        path->advance();
    };
    if (w.creates)
        core_.store.create(w.node, w.path->data_of(w.id), store::node_kind::ephemeral_sequential,
                           [this, answered, path = w.path, id = w.id](const store::create_reply& answer) {
                               core_.wrote(answer);
                               path->on_created(id, answer);
                               answered();
                           });
    else
        core_.store.remove(w.node, store::any_version,
                           [this, answered, path = w.path, id = w.id](const store::reply& answer) {
                               core_.wrote(answer);
                               path->on_removed(id, answer.result);
                               answered();
                           });
}

void group_commit::send_together(const shared_transaction& together)
{
    batch_.clear();
    for (const write& w : together->all()) {
        store::batch_write& b = batch_.emplace_back();
        b.what = w.creates ? store::batch_write::kind::create : store::batch_write::kind::remove;
        b.path = w.node;
        if (w.creates)
            b.data = w.path->data_of(w.id);
    }
    core_.store.batch(batch_, [this, together](const store::batch_reply& answer) { on_answer(together, answer); });
}

// --- answers ---------------------------------------------------------------------------------------------------------

void group_commit::on_answer(const shared_transaction& together, const store::batch_reply& answer)
{
    --under_way_;
    core_.wrote(answer);
    const bool sent_again = answer.result != store::outcome::ok && answer.result != store::outcome::unknown &&
                            !ZKLOCK_MUTANT(failed_batch_counts_as_done);
    if (sent_again) {
        on_failure(together->all(), answer);
    } else {
        store::create_reply created;
        static_cast<store::reply&>(created) = answer;
        auto node = answer.created.begin();
        for (const write& w : together->all()) {
            if (w.creates && answer.result == store::outcome::ok)
                created.path = *node++;
            give(w, created);
        }
    }
    const bool made = !answer.created.empty();
    if (made)
        number(together, answer.created.back());
    tell_paths(together->all());
    if (!made)
        put_back(together);
    proceed();
}

/// One write was refused, and so none was done. It has its answer; the others go alone. Where no create
/// on its path can be done, the others on it need not be tried.
void group_commit::on_failure(writes together, const store::batch_reply& answer)
{
    const bool one_failed = answer.failed < together.size() && answer.result != store::outcome::bad_arguments;
    const write* const failed = one_failed ? &together[answer.failed] : nullptr;
    const bool path_refused = failed && failed->creates && concerns_the_path(answer.result);
    store::create_reply refused;
    static_cast<store::reply&>(refused) = answer;
    for (const write& w : together) {
        const bool hopeless = path_refused && w.creates && w.path == failed->path;
        if (&w != failed && !hopeless) {
            ++under_way_;
            if (w.creates)
                w.path->create_goes_again(w.id);
            send_alone(w);
        } else {
            give(w, refused);
        }
    }
}

/// Its part of the answer to a transaction.
void group_commit::give(const write& w, const store::create_reply& answer)
{
    if (w.creates)
        w.path->on_created(w.id, answer);
    else
        w.path->on_removed(w.id, answer.result);
}

void group_commit::number(const shared_transaction& together, std::string_view one)
{
    for (const write& w : together->all())
        if (w.creates)
            w.path->expect_number();
    core_.store.exists(one, [this, together](const store::stat_reply& answer) {
        if (answer.result == store::outcome::unknown)
            core_.contact_lost();
        for (const write& w : together->all())
            if (w.creates)
                w.path->on_number(w, answer.result == store::outcome::ok ? answer.stat.czxid : 0);
        tell_paths(together->all(), [](const write& w) { return w.creates; }); // the others may be gone by now
        put_back(together);
        proceed();
    });
}

/// Lets each path that has one of those writes do what is next, once.
template <class Which> void group_commit::tell_paths(writes together, Which which)
{
    for (const write& w : together)
        if (which(w))
            w.path->touched = true;
    for (const write& w : together)
        if (which(w) && std::exchange(w.path->touched, false))
            w.path->after_writes();
}

} // namespace zklock::recipes
