#include "recipes/semaphore/permits_in_use.hpp"

#include "queue/node_path.hpp"
#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/error_mapping.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace zklock::recipes {

using store::outcome;

void permits_in_use::look(bool path_is_there)
{
    const bool all_sent = semaphore_.nodes().all_sent() && path_is_there;
    const bool due = stale_ && !listing_ && semaphore_.has_head() && all_sent;
    if (due && session_.lease().grants(session_.scheduler.now()))
        send_look();
}

/// The first look goes along with the creates and needs no watch, unless it is known to be in vain.
void permits_in_use::send_look()
{
    const auto known = static_cast<std::int64_t>(others_ + semaphore_.nodes().size());
    const bool in_vain = semaphore_.maximum().now() && known > *semaphore_.maximum().now();
    const bool watch = std::exchange(shall_watch_, false) || in_vain;
    stale_ = false;
    listing_ = true;
    semaphore_.maximum().check();
    semaphore_.maximum().read(watch);
    const bool armed = watch;
    session_.store.children(layout_.permits, armed,
                            semaphore_.expect([this, watch](const store::children_reply& answer) {
                                listing_ = false;
                                session_.own_writes().listed(layout_.permits, answer);
                                switch (answer.result) {
                                case outcome::ok:
                                    watching_ = watching_ || watch;
                                    watch_refused_ = watch_refused_ && !watch;
                                    return on_list(*answer.names, answer.stat.pzxid);
                                case outcome::no_node:
                                    semaphore_.nodes().parent_gone();
                                    return on_list(*answer.names, 0);
                                case outcome::unknown: stale_ = true; return;
                                default: semaphore_.fail_heads(error_of(answer.result)); notice_refusal(answer.result);
                                }
                            }));
}

void permits_in_use::on_list(const std::vector<std::string>& names, std::int64_t changed)
{
    std::unordered_set<std::string_view> listed;
    std::size_t others = 0;
    for (const std::string& name : names) {
        if (semaphore_.nodes().know(name))
            listed.insert(name);
        else
            ++others;
    }
    others_ = others;
    for (const auto& head : semaphore_.heads()) {
        const auto missing = [&](const permit_ptr& node) {
            return node->now == permit_node::phase::there && !listed.contains(node->name);
        };
        const auto found = std::find_if(head->nodes.begin(), head->nodes.end(), missing);
        if (found == head->nodes.end()) {
            decide(*head, names, names.size());
            continue;
        }
        const permit_ptr node = *found;
        session_.own_writes().found_gone(semaphore_.nodes().path_of(*node), changed);
        semaphore_.nodes().lost_to_others(node);
    }
}

/// `in_use`: how many permits are, those of the head among them.
void permits_in_use::decide(semaphore_acquisition& head, const std::vector<std::string>& permits, std::size_t in_use)
{
    const auto is_there = [](const permit_ptr& node) { return node->now == permit_node::phase::there; };
    const bool all_there =
        head.nodes.size() == head.request().count && std::all_of(head.nodes.begin(), head.nodes.end(), is_there);
    if (!all_there || !semaphore_.maximum().is_current() || !semaphore_.maximum().agreed())
        return; // what is missing makes it look again
    head.no_room = static_cast<std::int64_t>(in_use) > *semaphore_.maximum().now();
    if (!head.no_room) {
        // The lease is fresh, then: the lock of the line has not been lost with it.
        if (head.at_head())
            head.grant_all();
    } else if (head.looks_once()) {
        head.note_refusal(true);
        head.fail(errc::busy);
        return;
    } else if (!changes_are_told()) {
        shall_watch_ = true;
        stale_ = true;
    }
    if (head.no_room && head.place_untold())
        head.waits_behind(holder_among(permits));
}

/// The permit that came first of those that nobody at the head of the line has.
std::shared_ptr<const contender> permits_in_use::holder_among(std::vector<std::string> permits) const
{
    std::erase_if(permits, [this](const std::string& name) { return semaphore_.nodes().of_a_waiter(name); });
    const std::string first = first_permit(permits);
    if (first.empty())
        return nullptr;
    const auto holder = std::make_shared<contender>();
    holder->node = queue::child_of(layout_.permits, first);
    holder->sequence = static_cast<std::int32_t>(number_in(digits_of(first)).value_or(0));
    holder->ours = semaphore_.nodes().know(first);
    return holder;
}

void permits_in_use::notice_refusal(outcome result) noexcept
{
    if (result == outcome::no_auth && watching_)
        watch_refused_ = shall_watch_ = stale_ = true;
}

/// An event will tell when there may be room.
bool permits_in_use::changes_are_told() const noexcept
{
    return watching_ && !watch_refused_ && semaphore_.maximum().changes_are_told();
}

void permits_in_use::stop_watching()
{
    // The answer to a list that is under way says that there is a watch, and would say so after it was taken back.
    const bool listing = listing_;
    if (!listing && std::exchange(watching_, false) && session_.listeners().leave_watch(layout_.permits))
        session_.store.unwatch(layout_.permits, semaphore_.expect([](const store::reply&) {}));
    semaphore_.maximum().stop_watching();
}

// --- those who have not come to the head -----------------------------------------------------------------------------

void permits_in_use::look_once(const std::shared_ptr<semaphore_acquisition>& acquisition)
{
    if (!session_.connected())
        return acquisition->fail(errc::not_connected);
    if (for_room_.add(acquisition))
        send_look_for_room();
}

void permits_in_use::send_look_for_room()
{
    const std::uint64_t grants = session_.catch_up().with_handoffs();
    semaphore_.maximum().read(false);
    session_.store.children(
        layout_.permits, false, semaphore_.expect([this, grants](const store::children_reply& answer) {
            semaphore_.notice_refusal(answer.result);
            for_room_.answered(
                session_, answer.result, grants, [&](semaphore_acquisition& each) { on_room(each, answer); },
                [&] { send_look_for_room(); }, [](semaphore_acquisition& each, errc why) { each.fail(why); });
        }));
    for_room_.sent();
}

void permits_in_use::on_room(semaphore_acquisition& acquisition, const store::children_reply& answer)
{
    if (!acquisition.waiting())
        return;
    const std::size_t in_use = answer.names->size();
    // A shared count that is not there yet will be made.
    const auto after = static_cast<std::int64_t>(in_use + acquisition.request().count);
    if (after > semaphore_.maximum().now().value_or(semaphore_.options().permits)) {
        acquisition.note_refusal(true);
        return acquisition.fail(errc::busy);
    }
    acquisition.line_up();
}

void permits_in_use::look_at_holder()
{
    if (session_.connected() && !(last_holder_.get() && last_holder_.is_new(session_.scheduler.now())))
        last_holder_.begin(session_,
                           std::make_shared<holder_look>(session_, layout_.permits, std::string(), &first_permit));
}

/// A node of ours may be that of one who waits at the head of the line.
std::optional<contender> permits_in_use::holder_seen() const
{
    const holder_look* const look = last_holder_.get();
    return !look || semaphore_.nodes().of_a_waiter(look->child()) ? std::nullopt : look->found();
}

} // namespace zklock::recipes
