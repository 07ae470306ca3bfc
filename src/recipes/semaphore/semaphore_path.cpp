#include "recipes/semaphore/semaphore_path.hpp"

#include "queue/mutants.hpp"
#include "queue/node_path.hpp"
#include "recipes/session/error_mapping.hpp"

#include <algorithm>
#include <chrono>

namespace zklock::recipes {

using store::outcome;

semaphore_path::semaphore_path(locks& l, const std::string& path, semaphore_path_options options,
                               std::function<void()> idle)
    : recipe_path(l.session(), std::move(idle)), locks_(l), path_(path), options_(std::move(options)),
      layout_(path, options_.names),
      lease_cost_(
          node_budget::cost(session_.options.chroot.size() + layout_.leases.size() + 1 + layout_.longest_name())),
      count_parents_(session_.store), check_(options_.check_permits ? check::due : check::none)
{
    if (options_.count_path.empty())
        maximum_ = options_.permits;
    session_.add(*this);
    try {
        session_.listen(layout_.leases, *this);
    } catch (...) {
        session_.remove(*this);
        throw;
    }
}

semaphore_path::~semaphore_path()
{
    for (const auto& [number, acquisition] : acquisitions_)
        acquisition->detach();
    session_.remove(*this);
    try {
        session_.stop_listening(layout_.leases, *this);
        if (counting_)
            session_.stop_listening(options_.count_path, *this);
    } catch (...) {
        session_.give_up();
    }
}

bool semaphore_path::idle() const noexcept
{
    const bool watches = watching_ || count_watched_;
    const bool no_nodes = leases_.empty() && to_remove_.empty();
    return acquisitions_.empty() && no_nodes && !answers_due() && !watches;
}

// --- acquires --------------------------------------------------------------------------------------------------------

std::shared_ptr<semaphore_acquisition> semaphore_path::acquire(permits_request request)
{
    use();
    const auto acquisition = std::make_shared<semaphore_acquisition>(session_, this, std::move(request));
    if (!options_.count_path.empty() && !counting_) {
        session_.listen(options_.count_path, *this);
        counting_ = true;
    }
    adopt(acquisition);
    ++waiting_;
    try {
        acquisition->begin();
    } catch (...) {
        --waiting_;
        acquisition->detach();
        forget(*acquisition);
        throw;
    }
    session_.attempt([this] { advance(); });
    return acquisition;
}

void semaphore_path::make_leases(semaphore_acquisition& head)
{
    // What the line has made above both goes with whichever of the two goes last.
    parents_.made.add(locks_.containers_above(layout_.line));
    const std::size_t bytes = head.request().count * lease_cost_;
    // A head that waited would hold up the line: it has its leases now or not at all.
    if (head.request().count > session_.options.node_budget_limit / lease_cost_ ||
        session_.reserve(bytes, true) != node_budget::verdict::granted)
        return head.fail(errc::over_budget);
    try {
        wish_leases(head);
    } catch (...) { // begin_anew() follows
        session_.release(bytes - head.leases.size() * lease_cost_);
        throw;
    }
    stale_ = true;
    advance();
}

void semaphore_path::wish_leases(semaphore_acquisition& head)
{
    head.leases.reserve(head.request().count);
    heads_.push_back(&head);
    for (std::size_t i = 0; i < head.request().count; ++i) {
        const auto lease = std::make_shared<lease_node>();
        lease->number = ++last_number_;
        lease->owner = &head;
        leases_.emplace(lease->number, lease);
        head.leases.push_back(lease); // there is room
        to_create_.push_back(lease);
    }
}

void semaphore_path::step_back(semaphore_acquisition& head)
{
    std::erase(heads_, &head);
}

/// Its owner wants it no more.
void semaphore_path::drop(const lease_ptr& lease)
{
    if (lease->now == lease_node::phase::unsent)
        gone(lease);
    else if (lease->now == lease_node::phase::there)
        to_remove_.push_back(lease);
    else if (lease->now == lease_node::phase::gone && lease->ending) // already, and it was not noticed
        gone(lease);
}

void semaphore_path::gone(const lease_ptr& lease, boost::system::error_code ec)
{
    if (lease->ending)
        permits_release::one_ended(lease->ending, ec, [this](auto news) { session_.tell(std::move(news)); });
    lease->ending = nullptr;
    lease->now = lease_node::phase::gone;
    if (!lease->name.empty())
        by_name_.erase(lease->name);
    if (leases_.erase(lease->number) != 0)
        session_.release(lease_cost_);
}

/// Others have deleted it, or the session has taken it along.
void semaphore_path::lost_to_others(const lease_ptr& lease)
{
    if (lease->now == lease_node::phase::gone)
        return;
    auto* const owner = lease->owner;
    gone(lease);
    if (owner && !ZKLOCK_MUTANT(semaphore_deleted_lease_ignored))
        owner->lease_gone();
}

void semaphore_path::watch(semaphore_acquisition& holder)
{
    to_watch_.insert(to_watch_.end(), holder.leases.begin(), holder.leases.end());
    for (const lease_ptr& lease : holder.leases)
        lease->watched = true; // in the next epoch, if there is none now
    advance();
}

void semaphore_path::forget(semaphore_acquisition& acquisition)
{
    acquisitions_.erase(acquisition.number);
}

std::vector<std::shared_ptr<semaphore_acquisition>> semaphore_path::acquisitions() const
{
    std::vector<std::shared_ptr<semaphore_acquisition>> all;
    all.reserve(acquisitions_.size());
    for (const auto& [number, acquisition] : acquisitions_)
        all.push_back(acquisition);
    return all;
}

std::vector<std::shared_ptr<semaphore_acquisition>> semaphore_path::heads() const
{
    std::vector<std::shared_ptr<semaphore_acquisition>> all;
    all.reserve(heads_.size());
    for (semaphore_acquisition* head : heads_)
        all.push_back(head->shared_from_this());
    return all;
}

void semaphore_path::fail_heads(errc why)
{
    for (const auto& head : heads())
        head->fail(why);
}

// --- what the session tells ------------------------------------------------------------------------------------------

void semaphore_path::epoch_began()
{
    if (!unknown_.empty())
        look_up_ = look_up::due;
    to_watch_.clear();
    for (const auto& [number, lease] : leases_)
        if (std::exchange(lease->watched, false) && lease->owner)
            to_watch_.push_back(lease);
    stale_ = true;
    advance();
}

void semaphore_path::epoch_ended()
{
    watching_ = false;
    count_watched_ = false;
    look_up_ = look_up::none;
    for (const auto& acquisition : acquisitions())
        if (acquisition->waiting() && acquisition->looks_once())
            acquisition->fail(errc::not_connected);
    advance();
}

void semaphore_path::session_ended()
{
    for (const auto& acquisition : acquisitions()) {
        acquisition->lose();
        acquisition->leases.clear(); // its lock went with the session, too: it will hear of that, and begin anew
    }
    while (!leases_.empty()) {
        const lease_ptr lease = leases_.begin()->second;
        lease->owner = nullptr;
        gone(lease);
    }
    for (auto* list : {&to_create_, &to_remove_, &to_watch_, &unknown_})
        list->clear();
    by_name_.clear();
    advance();
}

void semaphore_path::distrust()
{
    no_answer_due();
    parents_.stop_waiting();
    count_parents_.stop_waiting();
    listing_ = false;
    count_reads_ = 0;
    count_outdated_ = counting_;
    stale_ = true;
    look_up_ = look_up::none;
    if (check_ == check::under_way)
        check_ = check::due;
    for (auto* list : {&to_create_, &to_remove_, &to_watch_, &unknown_})
        list->clear();
    std::vector<lease_ptr> all;
    for (const auto& [number, lease] : leases_)
        all.push_back(lease);
    for (const lease_ptr& lease : all)
        put_in_order(lease);
    for (const auto& acquisition : acquisitions())
        acquisition->resume();
}

/// Puts the lease into the list of those to which the same is to be done.
void semaphore_path::put_in_order(const lease_ptr& lease)
{
    using phase = lease_node::phase;
    if (lease->now == phase::creating)
        lease->now = phase::unknown;
    if (lease->now == phase::removing)
        lease->now = phase::there;
    if (lease->now == phase::unknown)
        unknown_.push_back(lease);
    else if (lease->now == phase::there && !lease->owner)
        to_remove_.push_back(lease);
    else if (lease->now == phase::unsent && lease->owner)
        to_create_.push_back(lease);
    else if (lease->now == phase::unsent)
        gone(lease);
    lease->watched = lease->owner != nullptr; // from the next epoch on
}

void semaphore_path::lease_lapsed()
{
    for (const auto& acquisition : acquisitions())
        acquisition->lose();
    advance();
}

void semaphore_path::refuse_all(errc why)
{
    for (const auto& acquisition : acquisitions())
        acquisition->fail(why);
    advance();
}

void semaphore_path::stop(errc why)
{
    for (const auto& acquisition : acquisitions()) {
        acquisition->fail(why);
        acquisition->lose();
    }
    while (!leases_.empty())
        gone(lease_ptr(leases_.begin()->second), why);
}

bool semaphore_path::notice_long_holder(store::scheduler::time_point now)
{
    constexpr std::chrono::milliseconds long_hold{100};
    bool others = false;
    for (const auto& [number, acquisition] : acquisitions_) {
        if (!acquisition->holding())
            continue;
        if (now - acquisition->held_since() < long_hold) {
            others = true;
            continue;
        }
        for (const lease_ptr& lease : acquisition->leases)
            if (!std::exchange(lease->watched, true))
                to_watch_.push_back(lease);
    }
    advance();
    return others;
}

void semaphore_path::on_own_event(store::event_kind kind, std::string_view path)
{
    if (path == layout_.leases && kind != store::event_kind::data_changed) {
        watching_ = false;
        stale_ = true;
    }
    if (path == options_.count_path && kind != store::event_kind::children_changed &&
        !ZKLOCK_MUTANT(semaphore_count_changes_ignored)) {
        count_watched_ = false;
        count_outdated_ = true;
        stale_ = true;
    }
    advance();
}

void semaphore_path::on_node_event(store::event_kind kind, std::string_view path, std::string_view child)
{
    if (path != layout_.leases)
        return;
    const auto found = by_name_.find(std::string(child));
    if (found == by_name_.end())
        return;
    const lease_ptr lease = found->second;
    if (kind == store::event_kind::deleted)
        lost_to_others(lease);
    else if (lease->watched && lease->owner)
        to_watch_.push_back(lease); // that watch is used up
    advance();
}

// --- doing what is to be done ----------------------------------------------------------------------------------------

void semaphore_path::advance()
{
    if (session_.over)
        return;
    if (session_.connected) {
        if (look_up_ == look_up::due)
            send_look_up();
        send_removes();
        if (look_up_ == look_up::none && !parents_.busy())
            send_creates();
        send_watches();
        if (look_is_due())
            send_look();
        stop_watching();
    }
    tell_if_idle();
}

void semaphore_path::flush()
{
    if (!session_.over && session_.connected)
        send_removes();
}

void semaphore_path::make_path(parent_maker& maker, const std::string& path)
{
    if (maker.busy() || heads_.empty())
        return;
    answer_due();
    maker.make(path, heads_.front()->request().options.parents, [this](outcome result) {
        answer_came();
        stale_ = true;
        if (result == outcome::unknown)
            session_.contact_lost();
        else if (result == outcome::no_node)
            fail_heads(errc::no_such_chroot);
        else if (result != outcome::ok)
            fail_heads(error_of(result));
        advance();
    });
}

/// First those of the leases, then what it has made above the shared count, if that is not there.
recipe_path::making semaphore_path::next_making() noexcept
{
    if (parents_.made.any())
        return {layout_.leases, &parents_.made};
    return {queue::parent_of(options_.count_path), &count_parents_.made};
}

void semaphore_path::take_over(semaphore_path& before) noexcept
{
    if (before.layout_.leases == layout_.leases)
        recipe_path::take_over(before);
    if (before.options_.count_path == options_.count_path)
        count_parents_.made = std::exchange(before.count_parents_.made, {});
}

} // namespace zklock::recipes
