#include "recipes/lock_path.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "recipes/error_mapping.hpp"

#include <utility>
#include <vector>

namespace zklock::recipes {

using store::outcome;

lock_path::lock_path(session_core& core, std::string path, naming names, std::function<void()> idle)
    : core_(core), path_(std::move(path)), names_(names), on_idle_(std::move(idle)), parents_(core.store)
{
    core_.add(*this);
    if (core_.connected)
        queue_.epoch_began();
}

lock_path::~lock_path()
{
    for (auto& [id, contender] : contenders_)
        contender->detach();
    core_.remove(*this);
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
    idle_told_ = false;
    const auto contender = std::make_shared<lock_contender>(core_, this, id, std::move(request));
    contenders_.emplace(id, contender);
    contender->arm_deadline();
    if (contender->looks_once())
        look(contender);
    else
        queue_.join(id, false);
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
    if (queue_.contended())
        return refuse(*contender, errc::busy);
    core_.store.children(path_, false, expect([this, contender, refuse](const store::children_reply& answer) {
        if (!contender->waiting())
            return forget(contender->id);
        if (answer.result != outcome::ok && answer.result != outcome::no_node)
            return refuse(*contender, error_of(answer.result));
        // Others of ours may have come meanwhile: behind them it might wait for the node budget.
        if (queue_.contended() || (answer.result == outcome::ok && queue_.busy(*answer.names)))
            return refuse(*contender, errc::busy);
        queue_.join(contender->id, true);
    }));
}

void lock_path::leave(lock_contender& contender)
{
    if (queue_.knows(contender.id))
        queue_.leave(contender.id);
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
        contender->lose();
        contender->finish_release(why);
    }
}

bool lock_path::notice_long_holder(store::scheduler::time_point now)
{
    constexpr std::chrono::milliseconds long_hold{100};
    const auto holder = contenders_.find(holder_);
    if (holder == contenders_.end() || !holder->second->holding())
        return false;
    if (now - held_since_ < long_hold)
        return true;
    queue_.hold_on(holder_);
    advance();
    return false;
}

void lock_path::on_node_event(store::event_kind kind, std::string_view node)
{
    if (kind == store::event_kind::deleted || ZKLOCK_MUTANT(every_event_is_a_deletion))
        queue_.node_gone(node);
    else
        queue_.watch_fired(node);
    advance();
}

// --- doing what is to be done --------------------------------------------------------------------------------------------

void lock_path::advance()
{
    if (core_.over)
        return;
    while (send_create() == sent::create) {
    }
    act();
}

void lock_path::act()
{
    for (const queue::action& action : queue_.next(core_.lease_fresh()))
        perform(action);
    if (idle() && !std::exchange(idle_told_, true))
        core_.tell(on_idle_);
}

lock_path::sent lock_path::create_one()
{
    if (core_.over)
        return sent::nothing_to_create;
    const sent what = send_create();
    act();
    return what;
}

lock_path::sent lock_path::send_create()
{
    while (!parents_.busy()) {
        const queue::contender_id id = queue_.next_to_create();
        if (id == 0)
            break;
        lock_contender& contender = *contenders_.at(id);
        const unsigned allowed = contender.options().max_attempts;
        if (allowed != 0 && contender.attempts >= allowed) {
            contender.fail(contender.setback);
            queue_.leave(id);
            continue;
        }
        if (contender.reserved == 0) {
            const std::size_t name = queue::name_prefix(names_, std::string(36, '-')).size() + queue::sequence_digits;
            const std::size_t bytes = node_budget::cost(core_.options.chroot.size() + path_.size() + 1 + name);
            const node_budget::verdict verdict = core_.reserve(bytes, !queue_.has_node());
            if (verdict == node_budget::verdict::wait) {
                core_.wait_for_budget(*this);
                return sent::no_room;
            }
            if (verdict == node_budget::verdict::exhausted) {
                contender.fail(errc::over_budget);
                queue_.leave(id);
                continue;
            }
            contender.reserved = bytes;
        }
        create(contender);
        return sent::create;
    }
    return sent::nothing_to_create;
}

void lock_path::create(lock_contender& contender)
{
    const queue::contender_id id = contender.id;
    std::string prefix = queue::name_prefix(names_, core_.new_uuid());
    const std::string node = full(prefix);
    ++contender.attempts;
    queue_.create_sent(id, std::move(prefix));
    core_.store.create(node, contender.data(), store::node_kind::ephemeral_sequential,
                       expect([this, id](const store::create_reply& answer) { on_created(*contenders_.at(id), answer); }));
}

void lock_path::on_created(lock_contender& contender, const store::create_reply& answer)
{
    core_.heard(answer);
    switch (answer.result) {
    case outcome::ok: {
        const std::string_view node = queue::name_of(answer.path);
        const std::int32_t sequence = queue::sequence_of(node).value_or(queue::sequence_limit);
        queue_.created(contender.id, node, sequence);
        numbered(contender, answer.stat.czxid, sequence);
        break;
    }
    case outcome::unknown:
        contender.setback = errc::not_connected;
        queue_.create_unknown(contender.id);
        break;
    case outcome::no_node:
        --contender.attempts; // there was nothing to attempt
        queue_.create_failed(contender.id);
        if (!parents_.busy())
            make_path(contender.options().parents);
        break;
    default:
        contender.fail(error_of(answer.result));
        queue_.create_failed(contender.id);
        if (queue_.knows(contender.id))
            queue_.leave(contender.id);
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

bool lock_path::numbered(lock_contender& contender, std::int64_t czxid, std::int32_t sequence)
{
    constexpr std::int64_t largest_zxid = std::int64_t{1} << 51;
    contender.czxid = czxid;
    const bool token_fits = czxid > 0 && czxid < largest_zxid;
    if (token_fits && sequence >= 0 && sequence < queue::sequence_limit)
        return true;
    if (contender.waiting()) {
        contender.fail(token_fits ? errc::sequence_exhausted : errc::token_exhausted);
        queue_.leave(contender.id);
    }
    return false;
}

} // namespace zklock::recipes
