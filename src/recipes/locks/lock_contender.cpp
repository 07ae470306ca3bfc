#include "recipes/locks/lock_contender.hpp"

#include "queue/node_path.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/session/error_mapping.hpp"

#include <utility>

namespace zklock::recipes {

lock_contender::lock_contender(session& s, lock_path* path, queue::contender_id the_id, acquire_request&& request)
    : requested_acquisition(s, path, std::move(request)), id(the_id)
{
    if (options().listener)
        events_ = std::make_unique<acquire_events>(options().listener, s, id, request_.path);
}

lock_contender::~lock_contender() = default; // here its path is known

const std::string& lock_contender::data() const noexcept
{
    if (offer && offer->data)
        return *offer->data;
    return requested_acquisition::data();
}

void lock_contender::queued(std::string_view node) noexcept
{
    events_->queued(node, request_.options->rules.sequence_of(queue::name_of(node)).value_or(0));
}

void lock_contender::describe(zklock::contender& as) const
{
    as.session_id = session_.id();
    as.ours = true;
    as.identifier = identifier();
    as.properties = options().properties;
}

void lock_contender::time_out(errc why)
{
    fail(why);
    path_->leave(*this);
}

known_wait lock_contender::waits_for()
{
    return path_ && waiting() ? path_->holder().describe_wait(*this) : known_wait();
}

void lock_contender::grant(std::string node, std::int64_t fencing_token, store::scheduler::time_point now)
{
    if (!waiting())
        return;
    recipes::grant& given = holder().given; // before anybody hears of it: there may be no memory
    tell_end({});
    fencing_token_ = fencing_token;
    disarm_deadline();
    state_.grant(session_.lease().held_since(now));
    if (events_) {
        queued(node); // if it took over the node of another one
        events_->acquired(node, fencing_token);
    }
    given = {.node = std::move(node), .fencing_token = fencing_token, .kind = request_.kind};
}

void lock_contender::fail(errc why)
{
    if (waiting())
        fail_wait(why, "lock on ", to_string(why));
}

void lock_contender::lose(std::string_view node)
{
    if (!holding())
        return;
    const lock_loss how = session_.losses().of(held_since());
    if (request_.internal && how.reason == loss_reason::node_deleted)
        session_.losses().note_waiters_node_gone(request_.path, node);
    else
        log_loss(how, node);
    finish_downgrade(errc::lost, {});
    end_hold(how);
}

void lock_contender::log_loss(const lock_loss& how, std::string_view node) const noexcept
{
    if (!request_.internal)
        session_.losses().log(how, request_.path, node, fencing_token_);
    else
        session_.log(log_level::debug, "lost the place in the line of ", request_.path, ": ", node);
}

void lock_contender::give_back()
{
    gives_back_ = true;
    path_->leave(*this);
}

bool lock_contender::downgrade(std::function<void(error_code, recipes::grant)> done)
{
    if (request_.kind != queue::contender_kind::writer || waiting() || waits_for_downgrade())
        return false;
    session_.lease().notice_lapse(session_.scheduler.now());
    const bool holds = holding() && path_;
    holder().downgraded = std::move(done);
    if (holds)
        path_->downgrade(*this);
    else
        tell_downgraded(errc::lost, {});
    return true;
}

/// The token stays: it is still larger than those of all who held before, and smaller than those of all who come later.
void lock_contender::finish_downgrade(error_code ec, std::string node)
{
    leaves_its_node_ = false;
    if (!ec)
        request_.kind = queue::contender_kind::reader;
    if (waits_for_downgrade())
        tell_downgraded(ec, std::move(node));
}

void lock_contender::tell_downgraded(error_code ec, std::string node)
{
    holder_->given = {.node = std::move(node), .fencing_token = fencing_token_, .kind = request_.kind};
    session_.news().tell(shared_from_this(), [ec](lock_contender& c) {
        if (c.waits_for_downgrade()) // not released meanwhile
            std::exchange(c.holder_->downgraded, nullptr)(ec || c.holding() ? ec : errc::lost,
                                                          std::move(c.holder_->given));
    });
}

void lock_contender::finish_release(error_code ec)
{
    tell_released(ec);
    if (ec && !session_.over())
        return; // it is tried again
    gives_back_ = false;
    if (events_ && state_.done())
        events_->released(ec);
}

void lock_contender::wait_no_longer()
{
    if (gives_back_)
        tell_released({});
}

void lock_contender::delete_answered(store::outcome result, bool vanished) noexcept
{
    using store::outcome;
    deleting_ = false;
    switch (result) {
    case outcome::ok:
    case outcome::unknown: may_be_deleted_ = true; break;
    case outcome::no_node: found_gone_ = true; break;
    default: // refused: who deletes it after that, as far as is known, does what it wanted
        may_be_deleted_ = may_be_deleted_ || !vanished;
    }
}

void lock_contender::node_vanished(std::string_view node)
{
    if (!gives_back_ || may_be_deleted_)
        return finish_release({});
    release_lost(node);
}

void lock_contender::release_lost(std::string_view node)
{
    if (!gives_back_)
        return;
    lock_loss how = session_.losses().of(held_since());
    if (found_gone_)
        how.reason = loss_reason::node_deleted;
    tell_released(errc::lost);
    gives_back_ = false;
    log_loss(how, node);
    if (events_)
        events_->lost(how);
}

void lock_contender::detach(std::string_view node) noexcept
{
    if (holding() && !request_.internal)
        session_.losses().log_left_held(request_.path, node, fencing_token_);
    disarm_deadline();
    path_ = nullptr;
    offer.reset();
    forget_caller();
    state_.close(session_);
}

/// What is sent after a downgrade is executed after it, when the writer's node is gone.
bool lock_contender::stands_on(const recipes::grant& given) const noexcept
{
    return given.kind != queue::contender_kind::writer || (given.kind == request_.kind && !leaves_its_node_);
}

} // namespace zklock::recipes
