#include "recipes/lock_path.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "recipes/error_mapping.hpp"

#include <utility>
#include <vector>

namespace zklock::recipes {

using store::outcome;

namespace {

constexpr std::int64_t largest_zxid = std::int64_t{1} << 51;

std::size_t cost_of_a_node(const session_core& core, const std::string& path, const path_options& options)
{
    const auto kind = options.shared ? queue::contender_kind::writer : queue::contender_kind::mutex; // a reader's is no longer
    const std::size_t name = queue::name_prefix(options.names, kind, std::string(36, '-')).size() + queue::sequence_digits;
    return node_budget::cost(core.options.chroot.size() + path.size() + 1 + name);
}

} // namespace

lock_path::lock_path(session_core& core, std::string path, path_options options, std::function<void()> idle)
    : core_(core), path_(std::move(path)), options_(options),
      node_cost_(cost_of_a_node(core, path_, options)), on_idle_(std::move(idle)),
      queue_({options.linger.count() > 0, options.cohort}), parents_(core.store)
{
    core_.add(*this);
    core_.listen(path_, *this);
    if (core_.connected)
        queue_.epoch_began();
}

lock_path::~lock_path()
{
    core_.scheduler.cancel(linger_timer_);
    for (auto& [id, contender] : contenders_)
        contender->detach();
    core_.writes.forget(*this);
    core_.stop_listening(path_, *this);
    core_.remove(*this);
}

void lock_path::retire()
{
    if (!idle())
        return;
    const bool tell_server = queue_.watches_parent() && core_.connected && !core_.shares(path_);
    queue_.forget_parent();
    if (tell_server)
        core_.store.unwatch(path_, expect([](const store::reply&) {}));
    else
        act();
}

bool lock_path::idle() const noexcept
{
    return contenders_.empty() && answers_due_ == 0 && queue_.idle() && !parents_.busy();
}

std::string lock_path::full(std::string_view node) const
{
    return queue::child_of(path_, node);
}

// --- contenders --------------------------------------------------------------------------------------------------------

std::shared_ptr<acquisition> lock_path::acquire(queue::contender_id id, acquire_request request)
{
    used = true;
    const auto contender = std::make_shared<lock_contender>(core_, this, id, std::move(request));
    contenders_.emplace(id, contender);
    contender->arm_deadline();
    if (contender->looks_once())
        look(contender);
    else
        queue_.join(id, false, contender->kind());
    advance();
    return contender;
}

/// Whoever looks once writes nothing when it can see that the lock is busy.
void lock_path::look(const contender_ptr& contender)
{
    const auto refuse = [this](lock_contender& c, errc why) {
        c.fail(why);
        forget(c.id);
    };
    if (!core_.connected)
        return refuse(*contender, errc::not_connected);
    // Readers of ours may hold it: behind others that want to read it would wait for the node budget.
    if (queue_.contended(contender->kind()) || (queue_.has_node() && wants_budget_))
        return refuse(*contender, errc::busy);
    if (queue_.lingering())
        return queue_.join(contender->id, true, contender->kind());
    core_.store.children(path_, false, expect([this, contender, refuse](const store::children_reply& answer) {
        if (!contender->waiting())
            return forget(contender->id);
        if (answer.result != outcome::ok && answer.result != outcome::no_node)
            return refuse(*contender, error_of(answer.result));
        // Others of ours may have come meanwhile: behind them it might wait for the node budget.
        if (queue_.contended(contender->kind()) || (queue_.has_node() && wants_budget_) ||
            (answer.result == outcome::ok && queue_.busy(*answer.names, contender->kind())))
            return refuse(*contender, errc::busy);
        queue_.join(contender->id, true, contender->kind());
    }));
}

void lock_path::leave(lock_contender& contender)
{
    if (queue_.knows(contender.id))
        queue_.leave(contender.id);
    advance();
}

void lock_path::watch_for_revocation(lock_contender& contender)
{
    if (!queue_.knows(contender.id))
        return;
    if (queue_.revoked(contender.id) && !ZKLOCK_MUTANT(revocation_before_the_wait_missed))
        return contender.revoke();
    queue_.hold_on(contender.id);
    advance();
}

void lock_path::downgrade(lock_contender& contender)
{
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
    const auto found = contenders_.find(id);
    if (found == contenders_.end())
        return;
    const contender_ptr contender = found->second;
    contenders_.erase(found);
    if (contender->reserved != 0)
        core_.release(std::exchange(contender->reserved, 0));
}

void lock_path::fail_waiting(errc why, std::optional<patience> only)
{
    std::vector<contender_ptr> waiting;
    for (const auto& [id, contender] : contenders_)
        if (contender->waiting() && (!only || *only == contender->mode()) && queue_.knows(id))
            waiting.push_back(contender);
    for (const contender_ptr& contender : waiting) {
        contender->fail(why);
        queue_.leave(contender->id);
    }
}

// --- what the session tells ----------------------------------------------------------------------------------------------

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

void lock_path::epoch_ended()
{
    for (auto* unsent : {&removes_, &urgent_removes_})
        for (queue::contender_id id : std::exchange(*unsent, {}))
            queue_.remove_failed(id);
    queue_.epoch_ended();
    fail_waiting(errc::not_connected, patience::look_once);
    advance();
}

void lock_path::session_ended()
{
    for (const auto& [id, contender] : contenders_)
        contender->setback = errc::session_expired;
    queue_.session_ended();
    advance();
}

void lock_path::lease_lapsed()
{
    for (queue::contender_id id : queue_.lapse())
        contenders_.at(id)->lose();
    advance();
}

void lock_path::stop(errc why)
{
    for (const auto& [id, contender] : contenders_) {
        contender->fail(why);
        contender->finish_downgrade(why, {});
        contender->lose();
        contender->finish_release(why);
    }
}

bool lock_path::notice_long_holder(store::scheduler::time_point now)
{
    constexpr std::chrono::milliseconds long_hold{100};
    bool more = queue_.downgrading(); // it is among the holders before and after
    for (queue::contender_id id : queue_.holders()) {
        const bool long_since = now - contenders_.at(id)->held_since >= long_hold;
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
    if (ZKLOCK_MUTANT(revocation_event_lost) && kind == store::event_kind::data_changed && queue_.contender_of(node) != 0)
        return;
    if (kind == store::event_kind::deleted || ZKLOCK_MUTANT(every_event_is_a_deletion))
        queue_.node_gone(node);
    else
        queue_.watch_fired(node);
    advance();
}

void lock_path::on_own_event(store::event_kind kind, std::string_view)
{
    switch (kind) {
    case store::event_kind::deleted: queue_.parent_deleted(); break;
    case store::event_kind::children_changed: queue_.children_changed(); break;
    case store::event_kind::created:
    case store::event_kind::data_changed: queue_.parent_changed(); break;
    }
    advance();
}

// --- doing what is to be done --------------------------------------------------------------------------------------------

void lock_path::advance()
{
    act();
    core_.writes.proceed();
}

void lock_path::act()
{
    if (core_.over)
        return;
    for (const queue::action& action : queue_.next(queue_.may_grant() && core_.lease_fresh()))
        perform(action);
    if (may_create_next())
        core_.writes.join(*this, false);
    if (!resting && idle() && !std::exchange(idle_told, true))
        core_.tell(on_idle_);
}

void lock_path::budget_freed()
{
    wants_budget_ = false;
    if (!core_.over)
        core_.writes.join(*this, false);
}

// --- writes ----------------------------------------------------------------------------------------------------------------

bool lock_path::next_write(bool urgent, group_commit::write& next)
{
    for (auto* line : {&urgent_removes_, &removes_}) {
        while (!line->empty()) {
            const queue::contender_id id = line->front();
            line->pop_front();
            if (!queue_.knows(id))
                continue; // others have deleted its node meanwhile
            next.path = this;
            next.id = id;
            next.node = full(queue_.node_to_remove(id));
            ++answers_due_;
            return true;
        }
    }
    return !urgent && next_create(next);
}

bool lock_path::may_create_next() const
{
    const queue::contender_id id = queue_.next_to_create();
    const bool may_have_room = !wants_budget_ || !queue_.has_node(); // the first of a path need not wait
    return id != 0 && !parents_.busy() && (may_have_room || contenders_.at(id)->reserved != 0);
}

bool lock_path::next_create(group_commit::write& next)
{
    while (may_create_next()) {
        const queue::contender_id id = queue_.next_to_create();
        lock_contender& contender = *contenders_.at(id);
        const unsigned allowed = contender.options().max_attempts;
        if (allowed != 0 && contender.attempts >= allowed) {
            contender.fail(contender.setback);
            queue_.leave(id);
            continue;
        }
        if (!reserve(contender))
            continue;
        std::string prefix = queue::name_prefix(options_.names, contender.kind(), core_.new_uuid());
        next.path = this;
        next.id = id;
        next.creates = true;
        next.node = full(prefix);
        queue_.create_sent(id, std::move(prefix));
        ++contender.attempts;
        // Nodes of one transaction share a czxid, and only the last of them can count on from its own place.
        contender.turn = 0;
        if (last_of_batch_ && !ZKLOCK_MUTANT(places_in_a_batch_ignored)) {
            contender.turn = last_of_batch_->turn + 1;
            last_of_batch_->further_turns = 0;
        }
        contender.further_turns = turns_of_a_czxid - 1 - contender.turn;
        last_of_batch_ = &contender;
        ++answers_due_;
        return true;
    }
    return false;
}

/// Room for the contender's node. Where there is none it waits, or fails.
bool lock_path::reserve(lock_contender& contender)
{
    if (contender.reserved != 0)
        return true;
    switch (core_.reserve(node_cost_, !queue_.has_node())) {
    case node_budget::verdict::granted: contender.reserved = node_cost_; return true;
    case node_budget::verdict::wait:
        wants_budget_ = true;
        core_.wait_for_budget(*this);
        for (queue::contender_id id : queue_.looking_without_node()) { // among readers, for the others are no obstacle
            contenders_.at(id)->fail(errc::busy);
            queue_.leave(id);
        }
        return false;
    case node_budget::verdict::exhausted: break;
    }
    contender.fail(errc::over_budget);
    queue_.leave(contender.id);
    return false;
}

void lock_path::after_writes()
{
    last_of_batch_ = nullptr;
    act();
}

void lock_path::create_goes_again(queue::contender_id id)
{
    queue_.create_sent_again(id);
    lock_contender& contender = *contenders_.at(id);
    contender.turn = 0;
    contender.further_turns = turns_of_a_czxid - 1;
}

void lock_path::on_created(queue::contender_id id, const store::create_reply& answer)
{
    --answers_due_;
    lock_contender& contender = *contenders_.at(id);
    switch (answer.result) {
    case outcome::ok: {
        const std::string_view node = queue::name_of(answer.path);
        const std::int32_t sequence = queue::sequence_of(node).value_or(queue::sequence_limit);
        queue_.created(id, node, sequence, answer.stat.czxid);
        if (sequence < 0 || sequence >= queue::sequence_limit)
            return refuse_number(contender, errc::sequence_exhausted);
        if (contender.listens())
            contender.queued(full(node));
        if (answer.stat.czxid != 0)
            number(contender, answer.stat.czxid);
        break;
    }
    case outcome::unknown:
        contender.setback = errc::not_connected;
        queue_.create_unknown(id);
        break;
    case outcome::no_node:
        --contender.attempts; // there was nothing to attempt
        queue_.create_failed(id);
        if (!parents_.busy())
            make_path(contender.options().parents);
        break;
    default:
        contender.fail(error_of(answer.result));
        queue_.create_failed(id);
        if (queue_.knows(id))
            queue_.leave(id);
    }
}

void lock_path::on_number(const group_commit::write& made, std::int64_t czxid)
{
    --answers_due_;
    // Another node was looked at: that of this contender may be gone meanwhile, and another one may be on its way.
    if (!queue_.stands_on(made.id, queue::name_of(made.node)) && !ZKLOCK_MUTANT(number_of_an_earlier_node))
        return;
    const auto found = contenders_.find(made.id);
    if (found == contenders_.end())
        return;
    if (czxid != 0)
        number(*found->second, czxid);
    else
        queue_.not_numbered(made.id);
}

void lock_path::number(lock_contender& contender, std::int64_t czxid)
{
    contender.czxid = czxid;
    if (czxid > 0 && czxid < largest_zxid)
        queue_.numbered(contender.id, contender.further_turns, czxid);
    else
        refuse_number(contender, errc::token_exhausted);
}

void lock_path::refuse_number(lock_contender& contender, errc why)
{
    if (!contender.waiting())
        return;
    contender.fail(why);
    queue_.leave(contender.id);
}

void lock_path::on_removed(queue::contender_id id, outcome result)
{
    --answers_due_;
    switch (result) {
    case outcome::ok:
    case outcome::no_node: return queue_.removed(id);
    case outcome::unknown:
        if (ZKLOCK_MUTANT(unknown_delete_counts_as_done))
            return queue_.removed(id);
        return queue_.remove_failed(id);
    default: // forbidden for now, say: the caller hears of it, and it is tried again until the session ends
        queue_.remove_failed(id);
        if (const auto found = contenders_.find(id); found != contenders_.end())
            found->second->finish_release(error_of(result));
        after_a_while([this, id] { queue_.retry_remove(id); });
    }
}

void lock_path::make_path(parent_kind kind)
{
    ++answers_due_;
    parents_.make(path_, kind, [this](outcome result) {
        --answers_due_;
        if (result == outcome::unknown)
            core_.contact_lost();
        else if (result == outcome::no_node)
            fail_waiting(errc::no_such_chroot);
        else if (result != outcome::ok)
            fail_waiting(error_of(result));
        advance();
    });
}

} // namespace zklock::recipes
