#include "recipes/locks/lock_path.hpp"

#include "queue/node_name.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

namespace {

std::size_t cost_of_a_node(const session& s, const std::string& path, const path_options& options)
{
    using kind = queue::contender_kind;
    const kind longest = options.shared ? kind::writer : kind::mutex; // a reader's name is no longer
    const std::string prefix = options.rules.prefix(options.names, longest, std::string(36, '-'));
    return budget_line::cost(s.options.chroot.size() + path.size() + 1 + prefix.size() + queue::sequence_digits);
}

} // namespace

lock_path::lock_path(session& s, std::string path, path_options options, std::function<void()> idle)
    : recipe_path(s, std::move(path), std::move(idle)), options_(options),
      queue_({lingers(), options.cohort}, s.numbers_scarce_from(), options_.rules),
      handoffs_(s.handoffs() ? std::make_unique<path_handoffs>(part()) : nullptr),
      nodes_(part(), cost_of_a_node(s, path_, options)), requests_(part()), looks_(part()), holder_(part())
{
    session_.add(*this);
    session_.listeners().listen(path_, *this);
    if (session_.connected())
        queue_.epoch_began();
}

lock_path::~lock_path()
{
    for (auto& [id, contender] : contenders_)
        contender->detach(node_of_holder(id));
    session_.remove(*this);
    if (listens_)
        session_.listeners().stop_listening(path_, *this);
}

void lock_path::give_way()
{
    listens_ = false;
    if (session_.listeners().stop_listening(path_, *this, queue_.known().parent().watched()) && session_.connected())
        session_.unwatch(path_);
    if (handoffs_)
        handoffs_->give_way();
}

void lock_path::give_up_lingering()
{
    queue_.stop_lingering();
    advance(); // at once: a look of the next one's must not find it
}

void lock_path::retire_the_rest()
{
    const bool tell_server =
        queue_.known().parent().watched() && session_.connected() && session_.listeners().leave_watch(path_);
    queue_.forget_parent();
    if (tell_server)
        session_.unwatch(path_);
    carry_out_decisions();
}

bool lock_path::idle() const noexcept
{
    return contenders_.empty() && !answers_due() && queue_.idle();
}

bool lock_path::only_leaving() const noexcept
{
    return std::none_of(contenders_.begin(), contenders_.end(),
                        [](const auto& each) { return each.second->waiting() || each.second->holding(); });
}

std::string_view lock_path::node_of_holder(queue::contender_id id) const
{
    return queue_.own().knows(id) && queue_.own().holds(id) ? queue_.own().node(id) : std::string_view();
}

// --- contenders ------------------------------------------------------------------------------------------------------

std::shared_ptr<acquisition> lock_path::acquire(queue::contender_id id, acquire_request&& request)
{
    use();
    taken_ = request.options;
    taken_kind_ = request.kind;
    const auto contender = std::make_shared<lock_contender>(session_, this, id, std::move(request));
    contenders_.insert(contender);
    contender->arm_deadline();
    if (contender->looks_once())
        looks_.look(contender);
    else
        queue_.join(id, false, contender->kind());
    advance();
    return contender;
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

void lock_path::watch(lock_contender& contender)
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

void lock_path::forget(queue::contender_id id)
{
    const contender_ptr* const found = contenders_.find(id);
    if (!found)
        return;
    const contender_ptr contender = *found;
    contenders_.erase(id);
    contender->offer.reset();
    if (contender->reserved != 0)
        session_.budget().release(std::exchange(contender->reserved, 0));
}

void lock_path::refuse(lock_contender& contender, errc why)
{
    contender.fail(why);
    if (queue_.own().knows(contender.id))
        queue_.leave(contender.id);
}

void lock_path::fail_waiting(errc why, std::optional<acquire_mode> only)
{
    for (const auto& [id, contender] : contenders_)
        if (contender->waiting() && (!only || *only == contender->mode()) && queue_.own().knows(id))
            refuse(*contender, why);
}

// --- doing what is to be done ----------------------------------------------------------------------------------------

void lock_path::advance()
{
    carry_out_decisions();
    session_.writes().proceed();
}

/// Asks the queue what is to be done, and does it; but writes are only put into the line of group_commit.
void lock_path::carry_out_decisions()
{
    if (session_.over())
        return;
    if (queue_.known().has_shown())
        note_shown();
    const bool may_grant = queue_.may_grant();
    const auto now = may_grant ? session_.scheduler.now() : store::scheduler::time_point{};
    for (const queue::action& action : queue_.next(may_grant && session_.lease().grants(now)))
        carry_out(action, now);
    nodes_.settle();
    holder_.settle();
    if (handoffs_)
        handoffs_->settle();
    tell_if_idle();
}

void lock_path::note_shown(std::int64_t changed)
{
    const queue::shown_nodes shown = queue_.take_shown();
    for (const std::string& node : shown.found)
        session_.own_writes().found(full(node), changed);
    for (const std::string& node : shown.missed)
        session_.own_writes().found_gone(full(node), changed);
    for (const std::string& node : shown.orphaned)
        session_.own_writes().deleted(full(node));
}

void lock_path::path_missing()
{
    note_shown();
    session_.own_writes().all_found_gone(path_);
    queue_.parent_absent();
    note_shown();
}

void lock_path::carry_out(const queue::action& action, store::scheduler::time_point now)
{
    using kind = queue::action::kind;
    const auto contender = [&]() -> const contender_ptr& { return contenders_.at(action.id); };
    switch (action.what) {
    case kind::synchronize: session_.catch_up().begin(); break;
    case kind::watch_parent: requests_.watch_parent(); break;
    case kind::read_children: requests_.read(false); break;
    case kind::watch_children: requests_.read(true); break;
    case kind::inspect: requests_.inspect(contender(), action.node); break;
    case kind::watch: requests_.watch(action.node); break;
    case kind::downgrade: requests_.downgrade(contender(), action.node, contender()->data(), 0); break;
    case kind::unwatch: requests_.unwatch(action.node); break;
    case kind::remove: start_remove(action); break;
    case kind::remove_parent: requests_.remove_parent(); break;
    case kind::granted: grant(*contender(), action, now); break;
    case kind::shares: contender()->finish_downgrade({}, full(action.node)); break;
    case kind::refused:
        contender()->note_refusal(action.by_others);
        contender()->fail(errc::busy);
        break;
    case kind::exhausted: contender()->fail(errc::sequence_exhausted); break;
    case kind::lost:
        contender()->lose(action.node);
        contender()->release_lost(action.node); // if it was released before this could be told
        forget(action.id);
        break;
    case kind::lingers:
        contender()->finish_release({});
        nodes_.begin_to_linger();
        break;
    case kind::not_found: session_.lost_creates().not_found(path_, action.node, requests_.listed()); break;
    case kind::gone:
        contender()->finish_release({});
        forget(action.id);
        break;
    case kind::vanished: // if an answer to its delete is still due, that will tell whose doing it was; if not, it has
        if (const contender_ptr* const left = contenders_.find(action.id); left && !(*left)->deleting())
            end_release(**left, action.node);
        break;
    }
}

void lock_path::start_remove(const queue::action& action)
{
    if (const contender_ptr* const its = handoffs_ ? contenders_.find(action.id) : nullptr)
        handoffs_->gives_up(**its, action.by_own_will);
    nodes_.remove(action.id, !action.may_wait);
}

void lock_path::grant(lock_contender& contender, const queue::action& action, store::scheduler::time_point now)
{
    std::string node = full(queue_.own().node(contender.id));
    if (handoffs_) {
        lock_contender* const before = action.from != 0 ? contenders_.at(action.from).get() : nullptr;
        handoffs_->granted(contender, before, action);
    }
    if (action.from != 0) {
        lock_contender& before = *contenders_.at(action.from);
        contender.czxid = before.czxid;
        contender.grants_before = before.grants_before + 1;
        if (contender.reserved == 0) // or else it has room already, of a node that others deleted
            contender.reserved = std::exchange(before.reserved, 0);
    }
    contender.grant(std::move(node), contender.czxid * grants_of_a_czxid + contender.grants_before, now);
    session_.tokens().granted_by(contender.czxid);
    session_.lease().granted(*this);
}

void lock_path::end_release(lock_contender& contender, std::string_view node)
{
    contender.node_vanished(node);
    forget(contender.id);
}

void lock_path::parent_removed()
{
    if (queue_.own().wanted().empty() && taken_->parents == parent_kind::persistent && !parents_.busy())
        make_path(taken_->parents, taken_->access); // others may rely on it
}

// --- what the session tells --------------------------------------------------------------------------------------

void lock_path::epoch_began()
{
    queue_.epoch_began();
    advance();
}

void lock_path::refuse_all(errc why)
{
    fail_waiting(why);
    advance();
}

void lock_path::refuse_tries()
{
    fail_waiting(errc::not_connected, acquire_mode::look_once);
    advance();
}

void lock_path::epoch_ended()
{
    nodes_.take_back_unsent();
    queue_.epoch_ended();
    holder_.epoch_ended();
    refuse_tries();
}

void lock_path::session_ended()
{
    for (const auto& [id, contender] : contenders_) {
        contender->setback = errc::session_expired;
        contender->offer.reset(); // its node is gone
    }
    queue_.session_ended();
    advance();
}

void lock_path::session_overdue()
{
    for (const auto& [id, contender] : contenders_)
        contender->wait_no_longer();
}

void lock_path::lease_lapsed()
{
    for (const auto& [id, contender] : contenders_)
        contender->lose(node_of_holder(id));
    queue_.lapse();
    advance();
}

void lock_path::stop(errc why)
{
    for (const auto& [id, contender] : contenders_) {
        contender->fail(why);
        contender->finish_downgrade(why, {});
        contender->lose(node_of_holder(id));
        contender->finish_release(why);
    }
}

bool lock_path::notice_long_holder(store::scheduler::time_point now)
{
    constexpr std::chrono::milliseconds long_hold{100};
    bool more = !queue_.own().downgrading().empty(); // it is among the holders before and after
    for (queue::contender_id id : queue_.own().holders()) {
        const bool long_since = now - contenders_.at(id)->held_since() >= long_hold;
        if (long_since)
            queue_.hold_on(id);
        else
            more = true;
    }
    advance();
    return more;
}

void lock_path::on_node_event(store::event_kind kind, std::string_view, std::string_view node)
{
    if (kind == store::event_kind::deleted) {
        note_deletion(node);
        queue_.node_gone(node);
    } else {
        queue_.watch_failed(node);
    }
    advance();
}

/// A waiter loses its place so; a holder's loss is told by itself.
void lock_path::note_deletion(std::string_view node)
{
    const contender_ptr* const its = contenders_.find(queue_.known().contender_of(node));
    if (its && (*its)->waiting())
        (*its)->setback = session_.losses().note_waiters_node_gone(path_, node);
}

/// Takes note of how an answer about the path itself ended: a client that was refused a create or a delete there may
/// not be allowed to read either, and has then missed events.
void lock_path::notice_refusal(store::outcome result)
{
    if (result == store::outcome::no_auth)
        queue_.path_refused();
}

void lock_path::on_own_event(store::event_kind kind, std::string_view)
{
    switch (kind) {
    case store::event_kind::deleted: queue_.parent_absent(); break;
    case store::event_kind::children_changed: queue_.children_changed(); break;
    case store::event_kind::created:
    case store::event_kind::data_changed: queue_.parent_changed(); break;
    }
    advance();
}

} // namespace zklock::recipes
