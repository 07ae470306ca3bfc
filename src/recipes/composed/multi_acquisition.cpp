#include "recipes/composed/multi_acquisition.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/option_faults.hpp"
#include "store/if_alive.hpp"
#include "zklock/errc.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zklock::recipes {

std::shared_ptr<acquisition> multi_acquisition::start(session& s, std::vector<member> members, acquire_call call)
{
    std::sort(members.begin(), members.end(), [](const member& a, const member& b) { return a.path < b.path; });
    const auto same = [](const member& a, const member& b) { return a.path == b.path; };
    const auto twice = std::adjacent_find(members.begin(), members.end(), same);
    const bool invalid = members.empty() || twice != members.end();
    if (members.empty())
        s.log(log_level::error, "a multi_lock is refused: it has no members, or members of different clients");
    else if (invalid)
        s.log(log_level::error, "a multi_lock is refused: ", twice->path, " is a member of it twice");
    const auto all = std::make_shared<multi_acquisition>(s, std::move(members), std::move(call));
    if (invalid)
        s.news().tell(all, [](multi_acquisition& refused) {
            if (refused.call_.done)
                refused.fail(make_error_code(errc::invalid_option));
        });
    else
        all->next();
    return all;
}

multi_acquisition::multi_acquisition(session& s, std::vector<member> members, acquire_call call)
    : told_acquisition(std::move(call)), session_(s)
{
    members_.reserve(members.size());
    for (member& m : members)
        members_.push_back({.what = std::move(m)});
}

void multi_acquisition::next()
{
    member_state& m = members_[reached_++];
    acquire_call inner;
    inner.mode = call_.mode;
    inner.deadline = call_.deadline;
    // Both ends keep this alive until the wait is over.
    inner.done = [self = shared_from_this(), &m](error_code ec, grant given) {
        self->on_done(m, ec, std::move(given));
    };
    m.now = m.what.acquire(std::move(inner));
}

void multi_acquisition::on_done(member_state& m, error_code ec, grant given)
{
    bool lost = lost_while_ending_;
    if (!ec) {
        m.given = std::move(given);
        m.now->on_lost(store::if_alive<&multi_acquisition::member_lost>(weak_from_this()));
        lost = lost || !all_held(session_.scheduler.now());
    } else {
        if (ec == condition::not_in_time)
            waited_for_.keep(m.now->describe_wait());
        refused_for_others_ = m.now->refused_for_others();
        m.now = nullptr;
        --reached_;
        lost = lost || (ec == errc::lost && !given.node.empty()); // before it could be told
    }
    if (left_while_ending_ || (ec && !lost)) {
        roll_back();
        fail(left_while_ending_ ? cancelled() : ec);
    } else if (lost) {
        begin_anew();
    } else if (reached_ < members_.size()) {
        next();
    } else {
        granted_ = true;
        finish();
    }
}

void multi_acquisition::finish()
{
    std::vector<held_lock> parts;
    parts.reserve(members_.size());
    for (const member_state& m : members_)
        parts.push_back({m.what.path, m.given.node, m.given.fencing_token});
    grant all;
    all.parts = std::make_shared<const std::vector<held_lock>>(std::move(parts));
    std::exchange(call_.done, nullptr)({}, std::move(all));
}

void multi_acquisition::fail(error_code ec)
{
    std::exchange(call_.done, nullptr)(ec, {});
}

void multi_acquisition::member_lost()
{
    if (!call_.done) // all were granted
        say_lost();
    else if (!left_while_ending_ && leave())
        begin_anew();
    else
        lost_while_ending_ = true;
}

/// What was held is not held any more.
void multi_acquisition::begin_anew()
{
    lost_while_ending_ = false;
    roll_back();
    if (call_.mode == acquire_mode::look_once)
        fail(make_error_code(errc::lost));
    else
        next();
}

/// Stops waiting for the member that was asked for last. False if the end of that wait is on its way.
bool multi_acquisition::leave()
{
    member_state& last = members_[reached_ - 1];
    if (!last.now->withdraw())
        return false;
    last.now = nullptr;
    --reached_;
    return true;
}

/// Gives back what is held, in reverse.
void multi_acquisition::roll_back()
{
    while (reached_ != 0)
        std::exchange(members_[--reached_].now, nullptr)->release({});
}

known_wait multi_acquisition::describe_wait()
{
    return waited_for_.tell([this] {
        const bool waits = call_.done && reached_ != 0;
        return waits ? members_[reached_ - 1].now->describe_wait() : known_wait();
    });
}

bool multi_acquisition::withdraw()
{
    if (!call_.done)
        return false;
    if (reached_ != 0 && !leave()) {
        left_while_ending_ = true;
        return false;
    }
    forget_caller();
    roll_back();
    return true;
}

void multi_acquisition::release(store::unique_function<void(error_code)> released)
{
    granted_ = false;
    begin_release({});
    const auto ending = std::make_shared<endings>(); // what it calls may own this
    ending->due = members_.size();
    ending->released = std::move(released);
    for (auto m = members_.rbegin(); m != members_.rend(); ++m)
        m->now->release([all = ending](error_code ec) {
            if (ec && (!all->first || ec == errc::lost))
                all->first = ec;
            if (--all->due == 0 && all->released)
                std::exchange(all->released, nullptr)(all->first);
        });
}

void multi_acquisition::on_revoked(std::function<void()> asked)
{
    for (member_state& m : members_)
        m.now->on_revoked(store::if_alive<&multi_acquisition::say_asked>(weak_from_this()));
    holder().asked = std::move(asked);
}

bool multi_acquisition::stands_on(const grant&) const noexcept
{
    return std::all_of(members_.begin(), members_.end(),
                       [](const member_state& m) { return m.now->stands_on(m.given); });
}

std::vector<std::string> multi_acquisition::nodes_of(const grant&) const
{
    std::vector<std::string> all;
    for (const member_state& m : members_)
        for (std::string& node : m.now->nodes_of(m.given))
            all.push_back(std::move(node));
    return all;
}

const std::string& multi_acquisition::path() const noexcept
{
    static const std::string none;
    return none;
}

bool multi_acquisition::held(store::scheduler::time_point now) const noexcept
{
    return granted_ && all_held(now);
}

/// Of those that have been asked for.
bool multi_acquisition::all_held(store::scheduler::time_point now) const noexcept
{
    const auto is_held = [now](const member_state& m) { return !m.now || m.now->held(now); };
    return std::all_of(members_.begin(), members_.end(), is_held);
}

std::optional<lock_loss> multi_acquisition::loss(store::scheduler::time_point now) const noexcept
{
    for (const member_state& m : members_)
        if (const auto how = m.now->loss(now))
            return how;
    return std::nullopt;
}

store::scheduler::time_point multi_acquisition::held_until() const noexcept
{
    auto first = store::scheduler::time_point::max();
    for (const member_state& m : members_)
        first = std::min(first, m.now->held_until());
    return first;
}

} // namespace zklock::recipes
