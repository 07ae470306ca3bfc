#include "recipes/locks/lock_nodes.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/option_faults.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace zklock::recipes {

using store::outcome;

lock_nodes::~lock_nodes()
{
    session_.writes().forget(*this);
    session_.scheduler.cancel(linger_timer_);
}

void lock_nodes::settle()
{
    session_.writes().name_create(*this, next_to_create());
    if (wants_budget_ && queue_.own().wanted().empty()) {
        wants_budget_ = false;
        session_.budget().leave(lock_);
    }
}

void lock_nodes::budget_freed()
{
    wants_budget_ = false;
    if (session_.over())
        return;
    session_.writes().name_create(*this, next_to_create());
}

void lock_nodes::take_back_unsent()
{
    session_.writes().take_back(*this, [this](queue::contender_id unsent) { queue_.remove_failed(unsent); });
}

void lock_nodes::expect_czxid()
{
    lock_.answer_due();
}

void lock_nodes::writes_answered()
{
    lock_.carry_out_decisions();
}

bool lock_nodes::prepare(node_write& next)
{
    return next.creates ? prepare_create(next) : prepare_delete(next);
}

bool lock_nodes::prepare_delete(node_write& next)
{
    if (!queue_.own().knows(next.id))
        return false; // others have deleted its node meanwhile
    lock_contender& contender = *contenders_.at(next.id);
    queue::child_of(lock_.path(), queue_.own().node(next.id), next.node);
    contender.delete_sent();
    if (lock_.handoffs())
        lock_.handoffs()->delete_goes(contender, queue::name_of(next.node));
    lock_.answer_due();
    return true;
}

bool lock_nodes::prepare_create(node_write& next)
{
    lock_contender& contender = *contenders_.at(next.id);
    const bool can_be_done = may_attempt(contender) && reserve(contender);
    if (can_be_done)
        create(contender, next);
    session_.writes().name_create(*this, next_to_create());
    return can_be_done;
}

/// The one place where the queue is asked whose node is to be created next: after each step, after each create, and
/// when a create has found no parent. 0 if none can be now.
queue::contender_id lock_nodes::next_to_create()
{
    if (queue_.own().wanted().empty() || lock_.makes_path())
        return 0;
    const queue::contender_id id = queue_.next_to_create();
    const bool may_have_room = !wants_budget_ || queue_.own().with_node() == 0; // the first of a path need not wait
    return id != 0 && (may_have_room || contenders_.at(id)->reserved != 0) ? id : 0;
}

/// A contender that has sent as many creates as it may ends with why the last one was not enough.
bool lock_nodes::may_attempt(lock_contender& contender)
{
    const unsigned allowed = contender.options().max_attempts;
    if (allowed == 0 || contender.creates < allowed)
        return true;
    lock_.refuse(contender, contender.setback);
    return false;
}

void lock_nodes::create(lock_contender& contender, node_write& next)
{
    const bool hands_over = lock_.handoffs() && contender.hands_over();
    std::string uuid = hands_over ? lock_.handoffs()->offer(contender) : session_.new_uuid();
    const path_options& options = lock_.options();
    const std::string prefix = options.rules.prefix(options.names, contender.kind(), std::move(uuid));
    next.data = contender.data();
    next.access = contender.access();
    queue::child_of(lock_.path(), prefix, next.node);
    queue_.create_sent(contender.id, prefix);
    ++contender.creates;
    contender.setback = errc::lost;
    // Nodes of one transaction share a czxid, and only the last of them can count on from its own place.
    contender.grants_before = 0;
    if (last_of_batch_) {
        contender.grants_before = last_of_batch_->grants_before + 1;
        last_of_batch_->further_grants = 0;
    }
    contender.further_grants = grants_of_a_czxid - 1 - contender.grants_before;
    last_of_batch_ = &contender;
    lock_.answer_due();
}

/// Reserves room in the node budget for the contender's node. Where there is none, the contender waits, or fails.
bool lock_nodes::reserve(lock_contender& contender)
{
    if (contender.reserved != 0)
        return true;
    switch (session_.budget().reserve(node_cost_, queue_.own().with_node() == 0)) {
    case budget_line::verdict::granted: contender.reserved = node_cost_; return true;
    case budget_line::verdict::wait:
        wants_budget_ = true;
        session_.budget().wait(lock_);
        // among readers, for the others are no obstacle
        for (queue::contender_id id : queue_.own().looking_without_node())
            lock_.refuse(*contenders_.at(id), errc::busy);
        return false;
    case budget_line::verdict::exhausted: break;
    }
    lock_.refuse(contender, errc::over_budget);
    return false;
}

/// What the queue wanted was carried out before the writes were prepared. Mostly, that they were sent changes nothing.
void lock_nodes::writes_sent()
{
    last_of_batch_ = nullptr;
    if (wants_budget_ || queue_.unsettled())
        lock_.carry_out_decisions();
}

void lock_nodes::create_goes_again(queue::contender_id id)
{
    queue_.create_sent_again(id);
    lock_contender& contender = *contenders_.at(id);
    contender.grants_before = 0;
    contender.further_grants = grants_of_a_czxid - 1;
}

void lock_nodes::on_created(queue::contender_id id, const store::create_reply& answer)
{
    lock_.answer_came();
    lock_contender& contender = *contenders_.at(id);
    switch (answer.result) {
    case outcome::ok: {
        const std::string_view node = queue::name_of(answer.path);
        const std::int32_t sequence = lock_.options().rules.sequence_of(node).value_or(queue::sequence_limit);
        queue_.created(id, node, sequence, answer.stat.czxid);
        if (sequence < 0 || sequence >= queue::sequence_limit)
            return out_of_numbers(contender, errc::sequence_exhausted);
        if (contender.listens())
            lock_.holder().queued(contender, lock_.full(node));
        if (answer.stat.czxid != 0)
            take_czxid(contender, answer.stat.czxid);
        break;
    }
    case outcome::unknown:
        contender.setback = errc::not_connected;
        queue_.create_unknown(id);
        break;
    case outcome::no_node:
        --contender.creates; // there was nothing to attempt
        lock_.path_missing();
        queue_.create_failed(id);
        if (next_to_create() != 0)
            lock_.make_path(contender.options().parents, contender.options().access);
        break;
    default:
        lock_.notice_refusal(answer.result);
        log_refusal(session_, lock_.path(), contender.options().access, answer.result);
        contender.fail(error_of(answer.result));
        queue_.create_failed(id);
        if (queue_.own().knows(id))
            queue_.leave(id);
    }
}

void lock_nodes::on_czxid(const node_write& made, std::int64_t czxid)
{
    lock_.answer_came();
    // Another node was looked at: that of this contender may be gone meanwhile, and another one may be on its way.
    if (!queue_.own().stands_on(made.id, queue::name_of(made.node)))
        return;
    const contender_ptr* const its = contenders_.find(made.id);
    if (!its)
        return;
    if (czxid != 0)
        take_czxid(**its, czxid);
    else
        queue_.token_missed(made.id);
}

void lock_nodes::take_czxid(lock_contender& contender, std::int64_t czxid)
{
    constexpr std::int64_t largest_zxid = std::int64_t{1} << 51;
    contender.czxid = czxid;
    if (czxid > 0 && czxid < largest_zxid)
        queue_.token_known(contender.id, contender.further_grants, czxid);
    else
        out_of_numbers(contender, errc::token_exhausted);
}

void lock_nodes::out_of_numbers(lock_contender& contender, errc why)
{
    if (contender.waiting())
        lock_.refuse(contender, why);
}

void lock_nodes::begin_to_linger()
{
    lingers_since_ = session_.scheduler.now();
    if (linger_timer_ == 0)
        plan_end_of_lingering();
}

/// One timer serves many releases: it looks how long ago the last one was.
void lock_nodes::plan_end_of_lingering()
{
    linger_timer_ = session_.scheduler.call_at(lingers_since_ + lock_.options().linger, [this] {
        linger_timer_ = 0;
        if (queue_.own().lingering() == nullptr)
            return;
        if (session_.scheduler.now() < lingers_since_ + lock_.options().linger)
            return plan_end_of_lingering();
        queue_.stop_lingering();
        lock_.advance();
    });
}

void lock_nodes::on_removed(queue::contender_id id, outcome result)
{
    lock_.answer_came();
    const contender_ptr contender = contenders_.at(id);
    const bool vanished = !queue_.own().knows(id); // that was heard first
    contender->delete_answered(result, vanished);
    if (vanished) {
        lock_.notice_refusal(result);
        return lock_.end_release(*contender, {});
    }
    switch (result) {
    case outcome::ok:
    case outcome::no_node: return queue_.removed(id, result == outcome::ok);
    case outcome::unknown: return queue_.remove_failed(id);
    default: // forbidden for now, say: the caller hears of it, and it is tried again until the session ends
        lock_.notice_refusal(result);
        queue_.remove_failed(id);
        contender->finish_release(error_of(result));
        lock_.after_a_while([this, id] { queue_.retry_remove(id); });
    }
}

} // namespace zklock::recipes
