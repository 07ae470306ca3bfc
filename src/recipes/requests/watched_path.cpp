#include "recipes/requests/watched_path.hpp"

#include "recipes/requests/node_watches.hpp"
#include "recipes/session/error_mapping.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

using store::event_kind;
using store::outcome;

// --- one who waits ---------------------------------------------------------------------------------------------------

node_wait::node_wait(session& s, goal what, std::optional<node_stat> seen, done_function d)
    : session_(s), for_(what), seen_(seen), done_(std::move(d))
{
}

auto node_wait::withdraw() -> withdrawal
{
    if (ended_)
        return withdrawal::ended;
    if (!std::exchange(ended_, true))
        done_ = nullptr;
    if (where_ != nullptr)
        where_->remove(*this);
    return withdrawal::withdrawn;
}

bool node_wait::is_met_by(const std::optional<node_stat>& now)
{
    if (for_ == goal::created)
        return now.has_value();
    if (!now)
        return true;
    // The goals below are judged by what has changed since the node was seen. A goal that the first look can meet, such
    // as a count of 0, belongs right above this comment; beside `created` only if a missing node does not meet it.
    // Below it, a wait for what is so already would last until the node changes, or for ever.
    if (!seen_) {
        seen_ = now;
        return false;
    }
    const auto later = [](std::int64_t found, std::int64_t seen) { return found > seen; };
    switch (for_) {
    case goal::created: break;
    case goal::deleted: // whatever replaces a node has larger zxids, all of them
        return later(now->czxid, seen_->czxid);
    case goal::changed: return later(now->mzxid, seen_->mzxid);
    case goal::children_changed: return later(now->pzxid, seen_->pzxid);
    }
    return false;
}

/// The node that this server has deleted may be an earlier one than the node that was seen: then the wait goes on.
bool node_wait::is_met_by_end_of(const std::optional<node_stat>& before) const noexcept
{
    return for_ != goal::created && before && seen_ && before->czxid >= seen_->czxid;
}

void node_wait::end(error_code ec, const std::optional<node_stat>& found)
{
    if (std::exchange(ended_, true))
        return;
    session_.news().tell(shared_from_this(), [ec, found](node_wait& w) {
        if (const auto done = std::exchange(w.done_, nullptr))
            done(ec, found);
    });
}

// --- a look ----------------------------------------------------------------------------------------------------------

watched_path::look::look(session& s, watched_path& where, side what, bool watch)
    : request_for<>(s, if_lost::asked_again, [&where, what](error_code why) { where.look_failed(what, why); }),
      where_(where), what_(what), watch_(watch)
{
}

void watched_path::look::send()
{
    under_way_ = true;
    if (what_ == side::data)
        session_.store.exists(where_.path_, watch_, answered([this](const store::stat_reply& answer) {
                                  answer_came(answer.result, answer.stat);
                              }));
    else
        session_.store.children(
            where_.path_, watch_,
            answered([this](const store::children_reply& answer) { answer_came(answer.result, answer.stat); },
                     weight()));
}

/// What is known to be short weighs less than a list that may be long: so many are watched again soon after a
/// reconnect.
std::size_t watched_path::look::weight() const noexcept
{
    constexpr std::size_t children_of_a_read = 1'000;
    const auto& last = where_.children_.found;
    if (!last)
        return request_line::weight_of_list;
    const auto children = static_cast<std::size_t>(std::max(last->num_children, 0));
    return std::min(request_line::weight_of_list, 1 + children / children_of_a_read);
}

void watched_path::look::answer_came(outcome result, const node_stat& stat)
{
    withdraw(); // it has nobody else to tell
    where_.looked(what_, watch_, result, stat);
}

// --- a path ----------------------------------------------------------------------------------------------------------

watched_path::watched_path(session& s, node_watches& all, std::string path)
    : session_(s), all_(all), path_(std::move(path))
{
}

watched_path::~watched_path()
{
    for (watch_of* const w : {&data_, &children_}) {
        for (const auto& wait : w->waits)
            wait->where_ = nullptr;
        if (w->looking)
            w->looking->withdraw();
    }
}

void watched_path::add(const std::shared_ptr<node_wait>& wait)
{
    const side s = side_of(wait->for_);
    watch_of& w = of(s);
    // What the watch has told may be older than what the holder has seen that handed its lock over past the servers.
    const bool up_to_date = session_.catch_up().to_catch_up() == 0;
    if (w.armed && up_to_date && wait->is_met_by(w.found))
        return wait->end({}, w.found);
    wait->place_ = w.waits.insert(w.waits.end(), wait);
    wait->where_ = this;
    if (w.looking)
        w.look_again = w.look_again || !up_to_date;
    else if (!w.armed || !up_to_date)
        begin_look(s, true);
}

void watched_path::remove(node_wait& wait)
{
    const side s = side_of(wait.for_);
    wait.where_ = nullptr;
    of(s).waits.erase(wait.place_); // the caller keeps it
    drop_look(s);
    leave_if_idle();
}

void watched_path::epoch_began()
{
    for (const side s : {side::data, side::children}) {
        watch_of& w = of(s);
        if (!w.waits.empty() && !w.armed && !w.looking)
            begin_look(s, true);
    }
    leave_if_idle();
}

/// Looks that were lost are in line again by themselves.
void watched_path::epoch_ended()
{
    for (const side s : {side::data, side::children}) {
        watch_of& w = of(s);
        w.armed = false;
        if (w.looking)
            w.looking->epoch_ended();
        drop_look(s);
    }
    leave_if_idle();
}

/// Events come from watches that others have armed, too. A look under way finds out by itself what has happened.
void watched_path::on_event(event_kind what)
{
    for (const side s : {side::data, side::children}) {
        watch_of& w = of(s);
        if (what != event_kind::deleted && (what == event_kind::children_changed) != (s == side::children))
            continue;
        const bool was_armed = std::exchange(w.armed, false);
        if (was_armed && what == event_kind::deleted)
            end_those(w, [&](node_wait& each) { return each.is_met_by_end_of(w.found); });
        if (!w.waits.empty() && !w.looking)
            begin_look(s, !all_end_by(w, what));
    }
    leave_if_idle();
}

void watched_path::end_all(errc why)
{
    fail(data_, make_error_code(why));
    fail(children_, make_error_code(why));
    leave_if_idle();
}

// --- looks -----------------------------------------------------------------------------------------------------------

void watched_path::begin_look(side s, bool watch)
{
    watch_of& w = of(s);
    w.look_again = false;
    w.looking = std::make_shared<look>(session_, *this, s, watch);
    session_.requests().enter(w.looking);
}

void watched_path::looked(side s, bool watched, outcome result, const node_stat& stat)
{
    watch_of& w = of(s);
    w.looking.reset();
    if (result == outcome::ok || result == outcome::no_node) {
        w.found = result == outcome::ok ? std::optional(stat) : std::nullopt;
        w.armed = watched && (w.found || s == side::data); // what is not there has no children to watch
        const bool may_be_old = std::exchange(w.look_again, false);
        if (!may_be_old)
            end_those(
                w, [&](node_wait& each) { return each.is_met_by(w.found); }, {}, w.found);
        if ((!w.armed || may_be_old) && !w.waits.empty())
            begin_look(s, true);
    } else {
        fail(w, make_error_code(error_of(result)));
    }
    leave_if_idle();
}

void watched_path::look_failed(side s, error_code why)
{
    const auto failed = std::move(of(s).looking);
    if (failed->watches() && failed->under_way()) // it has armed a watch, though its answer does not count
        session_.listeners().hand_over_watch(path_);
    fail(of(s), why);
    leave_if_idle();
}

/// Nobody waits for it: it is not sent. If it was, its answer tells whether there is a watch to be taken back.
void watched_path::drop_look(side s)
{
    watch_of& w = of(s);
    if (!w.waits.empty() || !w.looking || w.looking->under_way())
        return;
    if (w.looking->withdraw() == user_request::withdrawal::withdrawn)
        w.looking.reset();
}

/// An event of that kind ends the wait of each of them, but for what a server tells that is behind: so the look that
/// follows needs no watch, which would have to be taken back.
bool watched_path::all_end_by(const watch_of& w, event_kind what) noexcept
{
    using goal = node_wait::goal;
    const auto ends = [what](const auto& wait) {
        switch (what) {
        case event_kind::created: return wait->for_ == goal::created;
        case event_kind::data_changed: return wait->for_ == goal::changed;
        case event_kind::children_changed: return wait->for_ == goal::children_changed;
        case event_kind::deleted: break;
        }
        return false;
    };
    return std::all_of(w.waits.begin(), w.waits.end(), ends);
}

// --- how waits end ---------------------------------------------------------------------------------------------------

template <class Ends>
void watched_path::end_those(watch_of& w, Ends ends, error_code ec, const std::optional<node_stat>& now)
{
    for (auto next = w.waits.begin(); next != w.waits.end();) {
        const auto at = next++;
        if (!ends(**at))
            continue;
        const std::shared_ptr<node_wait> wait = std::move(*at);
        w.waits.erase(at);
        wait->where_ = nullptr;
        wait->end(ec, now);
    }
}

void watched_path::fail(watch_of& w, error_code why)
{
    end_those(
        w, [](node_wait&) { return true; }, why);
}

void watched_path::leave_if_idle()
{
    if (!in_use())
        all_.forget(*this);
}

} // namespace zklock::recipes
