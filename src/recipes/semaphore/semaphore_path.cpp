#include "recipes/semaphore/semaphore_path.hpp"

#include "recipes/session/error_mapping.hpp"
#include "recipes/session/option_faults.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

using store::outcome;

semaphore_path::semaphore_path(locks& l, const std::string& path, semaphore_path_options options,
                               std::function<void()> idle)
    : recipe_path(l.session(), std::move(idle)), locks_(l), path_(path), options_(std::move(options)),
      layout_(path, options_.names),
      node_cost_(
          node_budget::cost(session_.options.chroot.size() + layout_.permits.size() + 1 + layout_.longest_name())),
      count_(*this, session_, options_.count_path, options_.permits),
      check_(options_.check_permits ? check::due : check::none)
{
    session_.add(*this);
    session_.listeners.listen(layout_.permits, *this);
}

semaphore_path::~semaphore_path()
{
    forget_holder();
    for (const auto& [id, acquisition] : acquisitions_)
        acquisition->detach();
    session_.remove(*this);
    if (listens_) {
        session_.listeners.stop_listening(layout_.permits, *this);
        static_cast<void>(count_.stop_listening());
    }
}

/// What was left to others, who have gone, is taken back.
void semaphore_path::give_way()
{
    listens_ = false;
    const bool permits_left = session_.listeners.stop_listening(layout_.permits, *this);
    const bool count_left = count_.stop_listening();
    const auto take_back = [&s = session_](const std::string& path) {
        if (s.connected)
            s.store.unwatch(path, [&s](const store::reply& answer) {
                if (answer.result == store::outcome::unknown)
                    s.contact_lost();
            });
    };
    if (permits_left)
        take_back(layout_.permits);
    if (count_left)
        take_back(options_.count_path);
}

bool semaphore_path::idle() const noexcept
{
    const bool watched = watching_ || count_.watches();
    const bool no_nodes = nodes_.empty() && to_remove_.empty();
    return acquisitions_.empty() && no_nodes && !answers_due() && !watched;
}

bool semaphore_path::only_leaving() const noexcept
{
    return !parents_.busy() && std::none_of(acquisitions_.begin(), acquisitions_.end(), [](const auto& each) {
        return each.second->waiting() || each.second->holding();
    });
}

// --- acquires --------------------------------------------------------------------------------------------------------

std::shared_ptr<semaphore_acquisition> semaphore_path::acquire(permits_request request)
{
    use();
    const auto acquisition =
        std::make_shared<semaphore_acquisition>(session_, this, locks_.new_id(), std::move(request));
    count_.listen();
    adopt(acquisition);
    ++waiting_;
    acquisition->begin();
    advance();
    return acquisition;
}

void semaphore_path::make_nodes(semaphore_acquisition& head)
{
    // What the line has made above both goes with whichever of the two goes last.
    parents_.made.add(locks_.containers_above(layout_.line));
    // A head that waited would hold up the line: its nodes are made now or not at all.
    if (head.request().count > session_.options.node_budget_limit / node_cost_ ||
        session_.budget.reserve(head.request().count * node_cost_, true) != node_budget::verdict::granted)
        return head.fail(errc::over_budget);
    want_nodes(head);
    stale_ = true;
    advance();
}

void semaphore_path::want_nodes(semaphore_acquisition& head)
{
    head.nodes.reserve(head.request().count);
    head.no_room = false;
    heads_.push_back(&head);
    for (std::size_t i = 0; i < head.request().count; ++i) {
        const auto node = std::make_shared<permit_node>();
        node->id = ++last_id_;
        node->owner = &head;
        nodes_.emplace(node->id, node);
        head.nodes.push_back(node);
        to_create_.push_back(node);
    }
}

void semaphore_path::step_back(semaphore_acquisition& head)
{
    std::erase(heads_, &head);
}

/// Its owner wants it no more.
void semaphore_path::drop(const permit_ptr& node)
{
    if (node->now == permit_node::phase::unsent)
        gone(node);
    else if (node->now == permit_node::phase::there)
        to_remove_.push_back(node);
    else if (node->now == permit_node::phase::gone && node->ending) // already, and it was not noticed
        gone(node, fate(*node));
}

/// How the release of a permit ends whose node is gone. If no delete of this client's can have done that, others have
/// deleted it: the permit was lost before it was given back.
boost::system::error_code semaphore_path::fate(const permit_node& node) const
{
    const bool lost = node.ending && !node.may_be_deleted;
    return lost ? make_error_code(errc::lost) : boost::system::error_code();
}

lock_loss semaphore_path::loss_of(const permit_node& node, const permits_release& ending) const noexcept
{
    lock_loss how = session_.losses.of(ending.held_since);
    if (node.found_gone)
        how.reason = loss_reason::node_deleted;
    return how;
}

void semaphore_path::gone(const permit_ptr& node, boost::system::error_code ec)
{
    const auto ending = node->ending;
    if (ending) {
        const bool first_loss = ec == errc::lost && ending->first != errc::lost;
        permits_release::one_ended(ending, ec, [this](auto news) { session_.news.tell(std::move(news)); });
        if (first_loss)
            session_.losses.log(loss_of(*node, *ending), path_, node->name, ending->token);
    }
    node->ending = nullptr;
    node->now = permit_node::phase::gone;
    if (!node->name.empty())
        by_name_.erase(node->name);
    // What is taken from its owner is no release.
    const auto events = node->owner ? nullptr : std::exchange(node->events, nullptr);
    if (nodes_.erase(node->id) != 0)
        session_.budget.release(node_cost_);
    if (events && ending && ec == errc::lost)
        events->lost(loss_of(*node, *ending));
    if (events)
        events->returned(ec);
}

/// Others have deleted it, or the session has taken it along.
void semaphore_path::lost_to_others(const permit_ptr& node)
{
    using phase = permit_node::phase;
    if (node->now == phase::gone)
        return;
    if (node->now == phase::removing) { // the answer to its delete will tell whose doing it was
        node->vanished = true;
        return;
    }
    auto* const owner = node->owner;
    gone(node, fate(*node));
    if (owner)
        owner->node_gone(node->name);
}

void semaphore_path::watch(semaphore_acquisition& holder)
{
    to_watch_.insert(to_watch_.end(), holder.nodes.begin(), holder.nodes.end());
    for (const permit_ptr& node : holder.nodes)
        node->watched = true; // in the next epoch, if there is none now
    advance();
}

void semaphore_path::forget(semaphore_acquisition& acquisition)
{
    acquisitions_.erase(acquisition.id);
}

std::vector<std::shared_ptr<semaphore_acquisition>> semaphore_path::acquisitions() const
{
    std::vector<std::shared_ptr<semaphore_acquisition>> all;
    all.reserve(acquisitions_.size());
    for (const auto& [id, acquisition] : acquisitions_)
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

const semaphore_options* semaphore_path::options_of_head() const noexcept
{
    return heads_.empty() ? nullptr : &heads_.front()->request().options;
}

void semaphore_path::make_path(parent_maker& maker, const std::string& path)
{
    const semaphore_options* const head = options_of_head();
    if (!head || maker.busy())
        return;
    answer_due();
    maker.make(path, head->parents, head->access, [this, access = head->access](outcome result) {
        answer_came();
        log_refusal(session_, path_, access, result);
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

/// First where the permits are; then what it has made above the shared count, if that is not there.
recipe_path::making semaphore_path::next_making() noexcept
{
    if (parents_.made.any())
        return {layout_.permits, &parents_.made};
    return count_.making();
}

void semaphore_path::take_over(semaphore_path& before) noexcept
{
    if (before.layout_.permits == layout_.permits)
        recipe_path::take_over(before);
    count_.take_over(before.count_);
}

} // namespace zklock::recipes
