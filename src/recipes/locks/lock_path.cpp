#include "recipes/locks/lock_path.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "recipes/session/error_mapping.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace zklock::recipes {

using store::outcome;

namespace {

std::size_t cost_of_a_node(const session& s, const std::string& path, const path_options& options)
{
    using kind = queue::contender_kind;
    const kind longest = options.shared ? kind::writer : kind::mutex; // a reader's name is no longer
    const std::string prefix = options.rules.prefix(options.names, longest, std::string(36, '-'));
    return node_budget::cost(s.options.chroot.size() + path.size() + 1 + prefix.size() + queue::sequence_digits);
}

std::unique_ptr<path_handoffs> handoffs_of(session& s, queue::lock_queue& queue, const path_options& options,
                                           std::function<void()> advance)
{
    if (!s.handoffs)
        return nullptr;
    return std::make_unique<path_handoffs>(*s.handoffs, queue, options.linger.count() > 0, std::move(advance));
}

} // namespace

lock_path::lock_path(session& s, std::string path, path_options options, std::function<void()> idle)
    : recipe_path(s, std::move(idle)), path_(std::move(path)), options_(options),
      node_cost_(cost_of_a_node(s, path_, options)),
      queue_({options.linger.count() > 0, options.cohort}, s.numbers_scarce_from, options_.rules),
      handoffs_(handoffs_of(s, queue_, options_, [this] { advance(); }))
{
    session_.add(*this);
    session_.listeners.listen(path_, *this);
    if (session_.connected)
        queue_.epoch_began();
}

lock_path::~lock_path()
{
    session_.scheduler.cancel(linger_timer_);
    forget_look();
    for (auto& [id, contender] : contenders_)
        contender->detach(node_of_holder(id));
    session_.writes.forget(*this);
    session_.remove(*this);
    if (listens_)
        session_.listeners.stop_listening(path_, *this);
}

void lock_path::give_way()
{
    listens_ = false;
    if (session_.listeners.stop_listening(path_, *this, queue_.watches_parent()) && session_.connected)
        send_unwatch();
    if (handoffs_)
        handoffs_->give_way();
}

void lock_path::retire_the_rest()
{
    const bool tell_server = queue_.watches_parent() && session_.connected && session_.listeners.leave_watch(path_);
    queue_.forget_parent();
    if (tell_server)
        send_unwatch();
    carry_out_decisions();
}

/// This lock_path need not live until the answer: one with other options may take its place meanwhile.
void lock_path::send_unwatch()
{
    session_.store.unwatch(path_, [&s = session_](const store::reply& answer) {
        if (answer.result == outcome::unknown)
            s.contact_lost();
    });
}

bool lock_path::idle() const noexcept
{
    return contenders_.empty() && !answers_due() && queue_.idle() && !parents_.busy();
}

bool lock_path::only_leaving() const noexcept
{
    return !parents_.busy() && queue_.own().lingering() == nullptr &&
           std::none_of(contenders_.begin(), contenders_.end(), [](const auto& each) {
        return each.second->waiting() || each.second->holding();
    });
}

std::string lock_path::full(std::string_view node) const
{
    return queue::child_of(path_, node);
}

std::string_view lock_path::node_of_holder(queue::contender_id id) const
{
    return queue_.own().knows(id) && queue_.own().holds(id) ? queue_.own().node(id) : std::string_view();
}

// --- contenders ------------------------------------------------------------------------------------------------------

std::shared_ptr<acquisition> lock_path::acquire(queue::contender_id id, acquire_request&& request)
{
    use();
    const auto contender = std::make_shared<lock_contender>(session_, this, id, std::move(request));
    parent_kind_ = contender->options().parents;
    if (access_ != contender->options().access)
        access_ = contender->options().access;
    contenders_.insert(contender);
    contender->arm_deadline();
    if (contender->looks_once())
        look(contender);
    else
        queue_.join(id, false, contender->kind());
    advance();
    return contender;
}

/// A contender that looks once writes nothing when it can see that the lock is busy.
void lock_path::look(const contender_ptr& contender)
{
    if (!session_.connected)
        return refuse(*contender, errc::not_connected);
    if (overtaken(*contender))
        return refuse_as_busy(*contender, queue_.excludes_newcomers(contender->kind()));
    if (queue_.own().lingering() != nullptr)
        return queue_.join(contender->id, true, contender->kind());
    if (looks_.add(contender))
        send_looks();
}

/// Behind others of ours it would wait: for readers who hold it, if nothing else, or for the node budget.
bool lock_path::overtaken(const lock_contender& contender) const
{
    return queue_.own().contended(contender.kind()) || (queue_.own().with_node() != 0 && wants_budget_);
}

/// Ends the wait of one that looks once.
void lock_path::refuse(lock_contender& contender, errc why)
{
    contender.fail(why);
    forget(contender.id);
}

void lock_path::refuse_as_busy(lock_contender& contender, bool for_others)
{
    contender.note_refusal(for_others);
    refuse(contender, errc::busy);
}

void lock_path::send_looks()
{
    const std::uint64_t grants = session_.catch_up.with_handoffs();
    session_.store.children(path_, false, expect([this, grants](const store::children_reply& answer) {
        notice_refusal(answer.result);
        what_is_seen seen{answer, grants, {}};
        looks_.answered(
            session_, [&](lock_contender& each) { on_look(each, seen); }, [&] { send_looks(); },
            [&](lock_contender& each) { refuse(each, errc::not_connected); });
    }));
    looks_.sent();
}

void lock_path::on_look(lock_contender& contender, what_is_seen& seen)
{
    if (!contender.waiting())
        return forget(contender.id);
    const outcome result = seen.answer.result;
    if (result == outcome::ok && session_.catch_up.behind_handoffs(seen.grants))
        return refuse(contender, session_.catch_up.refusal());
    if (result != outcome::ok && result != outcome::no_node)
        return refuse(contender, error_of(result));
    std::optional<bool>& busy = seen.busy.at(static_cast<std::size_t>(contender.kind()));
    if (!busy) // all who are served by one list see the same in it, and it may be long
        busy = result == outcome::ok && queue_.busy(*seen.answer.names, contender.kind());
    if (overtaken(contender) || *busy)
        return refuse_as_busy(contender, *busy || queue_.excludes_newcomers(contender.kind()));
    queue_.join(contender.id, true, contender.kind());
}

void lock_path::leave(lock_contender& contender)
{
    if (queue_.own().knows(contender.id)) {
        if (session_.log.on(log_level::info) && queue_.own().holds(contender.id) && queue_.own().revoked(contender.id))
            session_.log(log_level::info, "lets go of ", path_,
                         ", as it was asked to: ", queue_.own().node(contender.id));
        if (handoffs_)
            handoffs_->leaves(contender);
        queue_.leave(contender.id);
    }
    advance();
}

void lock_path::watch_for_revocation(lock_contender& contender)
{
    if (!queue_.own().knows(contender.id))
        return;
    if (queue_.own().revoked(contender.id))
        return contender.revoke();
    queue_.hold_on(contender.id);
    advance();
}

void lock_path::downgrade(lock_contender& contender)
{
    if (queue_.own().holds(contender.id)) // or it is about to hear of its loss
        queue_.downgrade(contender.id);
    advance();
}

void lock_path::give_up(lock_contender& contender, errc why)
{
    if (!contender.waiting())
        return;
    contender.fail(why);
    leave(contender);
}

void lock_path::forget(queue::contender_id id)
{
    const contender_ptr* const found = contenders_.find(id);
    if (!found)
        return;
    const contender_ptr contender = *found;
    contenders_.erase(id);
    contender->offer.reset();
    if (contender->reserved != 0)
        session_.budget.release(std::exchange(contender->reserved, 0));
}

void lock_path::fail_waiting(errc why, std::optional<acquire_mode> only)
{
    std::vector<contender_ptr> waiting;
    for (const auto& [id, contender] : contenders_)
        if (contender->waiting() && (!only || *only == contender->mode()) && queue_.own().knows(id))
            waiting.push_back(contender);
    for (const contender_ptr& contender : waiting) {
        contender->fail(why);
        queue_.leave(contender->id);
    }
}

// --- doing what is to be done ----------------------------------------------------------------------------------------

void lock_path::advance()
{
    carry_out_decisions();
    session_.writes.proceed();
}

/// Asks the queue what is to be done, and does it; but writes are only put into the line of group_commit.
void lock_path::carry_out_decisions()
{
    if (session_.over)
        return;
    const bool may_grant = queue_.may_grant();
    const auto now = may_grant ? session_.scheduler.now() : store::scheduler::time_point{};
    for (const queue::action& action : queue_.next(may_grant && session_.lease.fresh(now)))
        carry_out(action, now);
    session_.writes.name_create(*this, next_to_create());
    if (wants_budget_ && queue_.own().wanted().empty()) {
        wants_budget_ = false;
        session_.budget.leave(*this);
    }
    if (handoffs_)
        handoffs_->settle();
    tell_if_idle();
}

} // namespace zklock::recipes
