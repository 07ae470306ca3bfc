#include "heard_events.hpp"

#include "scarce_memory.hpp"

namespace zklock::simulator {

using kind = lock_event::kind;

heard_events::heard_events(unsigned most_attempts, bool reuse, std::function<void(const std::string&)> violate,
                           std::function<void(const lock_event&)> heard)
    : most_attempts_(most_attempts), reuse_(reuse), violate_(std::move(violate)), heard_(std::move(heard))
{
}

void heard_events::notify(const lock_event& e)
{
    const plenty_of_memory plenty;
    const auto [found, first] = lives_.try_emplace(e.acquire);
    auto& life = found->second;
    const auto before = life.last;
    const bool waits = first || before.what == kind::queued;
    const auto wrong = [&](const std::string& why) {
        violate_("its listener hears \"" + std::string(to_string(e.what)) + "\" " +
                 (first ? "first" : "after \"" + std::string(to_string(before.what)) + '"') + why);
    };
    if (std::exchange(life.granted_next, false) && (e.what != kind::acquired || e.at != before.at))
        wrong(", and had been queued for the " + std::to_string(life.queued) + ". time");
    switch (e.what) {
    case kind::queued:
        if (!waits || e.node.empty() || e.node == before.node)
            wrong(" of " + e.node);
        if (++life.queued <= most_attempts_ || most_attempts_ == 0)
            break;
        life.granted_next = reuse_ && life.queued == most_attempts_ + 1;
        if (!life.granted_next)
            wrong(", for the " + std::to_string(life.queued) + ". time, of " + std::to_string(most_attempts_));
        break;
    case kind::acquired:
        if (first || !waits || e.node.empty() || e.fencing_token == 0)
            wrong(" of " + e.node);
        break;
    case kind::lost:
    case kind::released:
        if (first || before.what != kind::acquired || e.node != before.node)
            wrong(" of " + e.node);
        break;
    case kind::failed:
        if (!waits || !e.error)
            wrong("");
        break;
    }
    life.last = e;
    heard_(e);
}

bool heard_events::goes_on(const life& of, bool late_releases)
{
    return of.last.what == kind::queued || (of.last.what == kind::acquired && !late_releases);
}

bool heard_events::all_ended(bool late_releases) const
{
    return std::none_of(lives_.begin(), lives_.end(),
                        [&](const auto& each) { return goes_on(each.second, late_releases); });
}

void heard_events::check_ended(bool late_releases) const
{
    for (const auto& [acquire, life] : lives_) {
        if (goes_on(life, late_releases))
            violate_("its listener hears \"" + std::string(to_string(life.last.what)) + "\" last");
    }
}

} // namespace zklock::simulator
