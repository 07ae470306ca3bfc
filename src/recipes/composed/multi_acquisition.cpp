#include "recipes/composed/multi_acquisition.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/option_faults.hpp"
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
        members_.push_back({std::move(m), nullptr});
}

void multi_acquisition::next()
{
    const auto acquire = std::make_shared<member_acquire>();
    member_state& m = members_[reached_++];
    m.now = acquire;
    acquire_call inner;
    inner.mode = call_.mode;
    inner.deadline = call_.deadline;
    // Both ends keep this alive until the wait is over.
    inner.done = [self = shared_from_this(), &m, acquire](error_code ec, grant given) {
        if (acquire->dropped) {
            if (const auto late = std::exchange(acquire->handle, nullptr); !ec)
                late->release({});
        } else {
            self->on_done(m, ec, std::move(given));
        }
    };
    inner.lost = [weak = weak_from_this(), acquire] {
        const auto self = weak.lock();
        if (self && !acquire->dropped)
            self->on_lost();
    };
    acquire->handle = m.what.acquire(std::move(inner));
}

void multi_acquisition::on_done(member_state& m, error_code ec, grant given)
{
    if (ec) {
        if (ec == condition::not_in_time)
            waited_for_.keep(m.now->handle->describe_wait());
        refused_for_others_ = m.now->handle->refused_for_others();
        m.now = nullptr;
        --reached_;
        if (ec == errc::lost && !given.node.empty()) // before it could be told
            return begin_anew();
        roll_back();
        return fail(ec);
    }
    m.now->granted = true;
    m.now->given = std::move(given);
    if (reached_ < members_.size())
        return next();
    granted_ = true;
    if (!held(session_.scheduler.now())) {
        granted_ = false;
        return begin_anew();
    }
    finish();
}

void multi_acquisition::finish()
{
    std::vector<held_lock> parts;
    parts.reserve(members_.size());
    for (const member_state& m : members_)
        parts.push_back({m.what.path, m.now->given.node, m.now->given.fencing_token});
    grant all;
    all.parts = std::make_shared<const std::vector<held_lock>>(std::move(parts));
    std::exchange(call_.done, nullptr)({}, std::move(all));
}

void multi_acquisition::fail(error_code ec)
{
    call_.lost = nullptr;
    std::exchange(call_.done, nullptr)(ec, {});
}

/// A member was lost.
void multi_acquisition::on_lost()
{
    if (!call_.done) // all were granted
        return say_lost();
    begin_anew();
}

/// What was held is not held any more.
void multi_acquisition::begin_anew()
{
    roll_back();
    if (call_.mode == acquire_mode::look_once)
        fail(make_error_code(errc::lost));
    else
        next();
}

/// Gives up all that was asked for, in reverse.
void multi_acquisition::roll_back()
{
    while (reached_ != 0) {
        member_state& m = members_[--reached_];
        const auto acquire = std::exchange(m.now, nullptr);
        if (acquire->granted) {
            acquire->dropped = true;
            std::exchange(acquire->handle, nullptr)->release({});
        } else if (acquire->handle->withdraw()) {
            acquire->handle = nullptr;
        } else {
            acquire->dropped = true;
        }
    }
}

void multi_acquisition::expect_time_out()
{
    if (call_.done && reached_ != 0)
        members_[reached_ - 1].now->handle->expect_time_out();
}

known_wait multi_acquisition::describe_wait()
{
    return waited_for_.tell([this] {
        const bool waits = call_.done && reached_ != 0;
        return waits ? members_[reached_ - 1].now->handle->describe_wait() : known_wait();
    });
}

bool multi_acquisition::withdraw()
{
    if (!call_.done)
        return false;
    call_.done = nullptr;
    call_.lost = nullptr;
    roll_back();
    return true;
}

void multi_acquisition::release(store::unique_function<void(error_code)> released)
{
    granted_ = false;
    call_.lost = nullptr;
    asked_ = nullptr;
    const auto ending = std::make_shared<endings>(); // what it calls may own this
    ending->due = members_.size();
    ending->released = std::move(released);
    for (auto m = members_.rbegin(); m != members_.rend(); ++m)
        m->now->handle->release([all = ending](error_code ec) {
            if (ec && (!all->first || ec == errc::lost))
                all->first = ec;
            if (--all->due == 0 && all->released)
                std::exchange(all->released, nullptr)(all->first);
        });
}

void multi_acquisition::on_revoked(std::function<void()> asked)
{
    for (member_state& m : members_)
        m.now->handle->on_revoked(store::if_alive<&multi_acquisition::say_asked>(weak_from_this()));
    asked_ = std::move(asked);
}

bool multi_acquisition::stands_on(const grant&) const noexcept
{
    return std::all_of(members_.begin(), members_.end(),
                       [](const member_state& m) { return m.now->handle->stands_on(m.now->given); });
}

std::vector<std::string> multi_acquisition::nodes_of(const grant&) const
{
    std::vector<std::string> all;
    for (const member_state& m : members_)
        for (std::string& node : m.now->handle->nodes_of(m.now->given))
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
    const auto is_held = [now](const member_state& m) { return m.now->handle->held(now); };
    return granted_ && std::all_of(members_.begin(), members_.end(), is_held);
}

std::optional<lock_loss> multi_acquisition::loss(store::scheduler::time_point now) const noexcept
{
    for (const member_state& m : members_)
        if (const auto how = m.now->handle->loss(now))
            return how;
    return std::nullopt;
}

store::scheduler::time_point multi_acquisition::held_until() const noexcept
{
    auto first = store::scheduler::time_point::max();
    for (const member_state& m : members_)
        first = std::min(first, m.now->handle->held_until());
    return first;
}

} // namespace zklock::recipes
