#include "recipes/semaphore/semaphore_acquisition.hpp"

#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/error_mapping.hpp"
#include "store/if_alive.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

semaphore_acquisition::semaphore_acquisition(session& s, semaphore_path* path, std::uint64_t id,
                                             permits_request request)
    : requested_acquisition(s, path, std::move(request))
{
    if (options().listener)
        events_ = std::make_shared<permit_events>(options().listener, s, id, request_.path);
}

semaphore_acquisition::~semaphore_acquisition() = default; // here its path is known

// --- the line --------------------------------------------------------------------------------------------------------

void semaphore_acquisition::line_up()
{
    mutex_options line = path_->layout().options_of_line(options());
    line.listener = events_;
    line.max_attempts = options().max_attempts == 0 ? 0 : options().max_attempts - setbacks_;
    acquire_request lock{{}, {path_->layout().line, std::move(line), queue::contender_kind::mutex, true}};
    lock.mode = call_.mode;
    const auto mine = std::make_shared<place>();
    lock.done = [self = shared_from_this(), mine](error_code ec, const grant& given) {
        self->on_place(mine, ec, given);
    };
    mine->lock = path_->take_place(std::move(lock));
    place_ = mine;
}

void semaphore_acquisition::on_place(const std::shared_ptr<place>& mine, error_code ec, const grant& given)
{
    if (mine->dropped) {
        if (const auto late = std::exchange(mine->lock, nullptr); !ec)
            late->release({});
        return;
    }
    setbacks_ += std::max(mine->lock->attempts(), 1u) - 1;
    if (ec == errc::lost && !looks_once()) { // before it could be told; or that was the last attempt
        place_ = nullptr;
        if (attempt_again(errc::lost))
            line_up();
    } else if (ec) {
        note_refusal(mine->lock->refused_for_others() && !path_->head_finds_room());
        place_ = nullptr;
        fail(ec);
    } else {
        mine->granted = true;
        mine->lock->on_lost(store::if_alive<&semaphore_acquisition::begin_anew>(weak_from_this()));
        setback_ = errc::lost;
        token_ = given.fencing_token;
        path_->make_nodes(*this);
    }
}

void semaphore_acquisition::leave_line()
{
    const auto mine = std::exchange(place_, nullptr);
    if (!mine || mine->dropped)
        return;
    if (!mine->granted && mine->lock->withdraw()) {
        mine->lock = nullptr;
        return;
    }
    mine->dropped = true;
    if (mine->granted)
        std::exchange(mine->lock, nullptr)->release({});
}

bool semaphore_acquisition::attempt_again(errc why)
{
    ++setbacks_;
    setback_ = why;
    const unsigned allowed = request_.options.max_attempts;
    const bool may_go_on = allowed == 0 || setbacks_ < allowed;
    if (!may_go_on)
        fail(why);
    return waiting();
}

void semaphore_acquisition::begin_anew()
{
    if (!waiting())
        return;
    if (looks_once())
        return fail(errc::lost);
    if (!attempt_again(setback_))
        return;
    path_->step_back(*this);
    drop_all();
    line_up();
    path_->advance();
}

// --- how it ends -----------------------------------------------------------------------------------------------------

void semaphore_acquisition::drop_nodes(const std::shared_ptr<semaphore_acquisition>& ending)
{
    const auto dropped = std::exchange(nodes, {});
    for (const permit_ptr& node : dropped) {
        node->owner = nullptr;
        node->ending = ending;
    }
    for (const permit_ptr& node : dropped)
        path_->nodes().drop(node);
    path_->nodes().flush(); // before the lock: who has it next shall not find them
}

void semaphore_acquisition::drop_all()
{
    drop_nodes(nullptr);
    leave_line();
}

void semaphore_acquisition::fail(error_code why)
{
    if (!waiting())
        return;
    const auto self = shared_from_this();
    fail_wait(why, "permits of ", why);
    if (path_)
        path_->leave(*this);
}

grant semaphore_acquisition::given() const
{
    return {path_->nodes().path_of(*nodes.front()), token_};
}

void semaphore_acquisition::grant_all()
{
    const auto self = shared_from_this();
    count_ = nodes.size();
    holder().given = given();
    tell_end({});
    state_.grant(session_.lease().held_since(session_.scheduler.now()));
    for (const permit_ptr& node : nodes)
        node->events = events_;
    if (events_)
        events_->granted(holder_->given.node, token_, count_);
    disarm_deadline();
    path_->wait_ended(*this);
    leave_line();
    session_.lease().granted(*path_);
}

void semaphore_acquisition::lose(std::string_view node)
{
    if (!holding())
        return;
    const lock_loss how = session_.losses().of(held_since());
    if (session_.log.on(log_level::warning))
        log_loss(how, node.empty() ? first_node() : node);
    const auto self = shared_from_this();
    end_hold(how);
    path_->forget(*this);
    drop_nodes(nullptr);
}

void semaphore_acquisition::log_loss(const lock_loss& how, std::string_view node) const noexcept
{
    session_.losses().log(how, request_.path, node, token_);
}

void semaphore_acquisition::node_gone(std::string_view node)
{
    if (holding()) {
        lose(node);
        return;
    }
    if (waiting())
        setback_ = session_.losses().note_waiters_node_gone(path_->path(), node);
    begin_anew();
}

void semaphore_acquisition::give_back()
{
    if (revoked_ && session_.log.on(log_level::info))
        session_.log(log_level::info, "lets go of permits of ", request_.path, ", as it was asked to: ", first_node());
    const auto self = shared_from_this();
    due_ = nodes.size();
    drop_nodes(self);
    path_->advance();
}

bool semaphore_acquisition::returned(error_code ec)
{
    const bool first_loss = ec == errc::lost && first_ != errc::lost;
    if (first_loss || !first_)
        first_ = ec;
    if (--due_ == 0) {
        tell_released(first_);
        path_->forget(*this);
    }
    return first_loss;
}

void semaphore_acquisition::wait_no_longer()
{
    tell_released(first_);
}

void semaphore_acquisition::revoked()
{
    if (holding() && !std::exchange(revoked_, true) && session_.log.on(log_level::info))
        session_.log(log_level::info, "is asked to let go of permits of ", path_->path(), ": ", first_node());
    tell_asked();
}

auto semaphore_acquisition::split(std::size_t count, const std::function<void(const part&)>& both_hold) -> part
{
    session_.lease().notice_lapse(session_.scheduler.now());
    if (!holding() || !path_ || count == 0 || count > nodes.size())
        return nullptr;
    permits_request request;
    request.path = request_.path;
    const auto self = shared_from_this();
    const auto taken = std::make_shared<semaphore_acquisition>(session_, path_, 0, std::move(request));
    const auto first = nodes.end() - static_cast<std::ptrdiff_t>(count);
    taken->nodes.assign(first, nodes.end());
    path_->adopt(taken);
    for (const permit_ptr& node : taken->nodes)
        node->owner = taken.get();
    taken->events_ = events_;
    taken->token_ = token_;
    taken->count_ = count;
    taken->state_.grant(state_.lease());
    if (both_hold)
        both_hold(taken);
    nodes.erase(first, nodes.end());
    count_ = nodes.size();
    if (nodes.empty()) {
        state_.end();
        begin_release({});
        path_->forget(*this);
    }
    return taken;
}

void semaphore_acquisition::detach() noexcept
{
    if (holding() && path_)
        session_.losses().log_left_held(path_->path(), first_node(), token_);
    disarm_deadline();
    path_ = nullptr;
    forget_caller();
    place_ = nullptr;
    nodes.clear();
    state_.close(session_);
}

/// All its permits', as of now: some may have been released since the grant.
std::vector<std::string> semaphore_acquisition::nodes_of(const grant&) const
{
    std::vector<std::string> all;
    all.reserve(nodes.size());
    for (const permit_ptr& node : nodes)
        all.push_back(path_->nodes().path_of(*node));
    return all;
}

// --- at its deadline -------------------------------------------------------------------------------------------------

/// Its place is that in the line. The first in the line holds no permit, but waits for one, too: if that is one of ours
/// it keeps nobody waiting by itself.
known_wait semaphore_acquisition::waits_for()
{
    known_wait report;
    if (!waiting() || !path_)
        return report;
    if (place_ && !place_->granted && place_->lock)
        report = place_->lock->describe_wait();
    else
        report.others = lacks_room();
    report.others = report.others && !path_->head_finds_room();
    if (!nodes.empty() && nodes.front()->now == permit_node::phase::there)
        report.node = path_->nodes().path_of(*nodes.front());
    report.path = path_->path();
    report.held_by = path_->in_use().holder_seen();
    report.permits = path_->permits_known();
    return report;
}

} // namespace zklock::recipes
