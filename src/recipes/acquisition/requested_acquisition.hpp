#pragma once
#include "queue/owner_data.hpp"
#include "recipes/acquisition/grant_state.hpp"
#include "recipes/acquisition/timed_acquisition.hpp"
#include "recipes/session/error_mapping.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace zklock::recipes {

/// An acquisition that has nodes of its own at a path: what its caller has asked for, how far it has come, and what he
/// is told, and his listener by way of `Events`, a pointer.
template <class Self, class Wanted, class Path, class Events>
class requested_acquisition : public timed_acquisition, public std::enable_shared_from_this<Self> {
public:
    using time_point = store::scheduler::time_point;

    bool withdraw() final
    {
        if (!waiting() || !path_)
            return false;
        const auto self = this->shared_from_this();
        end_wait(cancelled());
        call_.done = nullptr;
        path_->leave(*self);
        return true;
    }
    void expect_time_out() final
    {
        if (waiting() && path_)
            path_->look_for_holder(static_cast<Self&>(*this));
    }
    void release(store::unique_function<void(error_code)> released) override
    {
        session_.lease().notice_lapse(session_.scheduler.now());
        begin_release(std::move(released));
        if (holding() && path_) {
            state_.end();
            give_back();
        } else {
            tell_released(state_.lost() ? errc::lost : errc::not_owner);
        }
    }
    void on_revoked(std::function<void()> asked) final
    {
        if (!holding() || !path_)
            return;
        holder().asked = std::move(asked);
        path_->watch(static_cast<Self&>(*this));
    }
    [[nodiscard]] const std::string& path() const noexcept override { return request_.path; }
    [[nodiscard]] bool held(time_point now) const noexcept override { return state_.held(now); }
    [[nodiscard]] std::optional<lock_loss> loss(time_point now) const noexcept override { return state_.loss(now); }
    [[nodiscard]] time_point held_until() const noexcept override { return state_.held_until(); }

    [[nodiscard]] bool waiting() const noexcept { return state_.waiting(); }
    [[nodiscard]] bool holding() const noexcept { return state_.holding(); }
    [[nodiscard]] time_point held_since() const noexcept { return state_.lease().since; }
    [[nodiscard]] bool looks_once() const noexcept { return call_.mode == acquire_mode::look_once; }
    [[nodiscard]] const auto& options() const noexcept { return request_.own_options(); }
    /// The access list of its nodes; null means the client's.
    [[nodiscard]] const access_list* access() const noexcept { return options().access ? &*options().access : nullptr; }
    /// What the data of its nodes says of it.
    [[nodiscard]] const std::string& data() const noexcept { return data_.empty() ? identifier() : data_; }
    void note_unseen() noexcept override
    {
        if (events_)
            events_->note_unseen();
    }
    /// That it waits, and behind whom, has to be told its listener.
    [[nodiscard]] bool place_untold() const noexcept { return events_ && events_->place_untold(); }
    void waits_behind(std::shared_ptr<const contender> whom) noexcept { events_->waits_behind(std::move(whom)); }

protected:
    /// If the path is null, it can only fail.
    template <class Request>
        requires(!std::is_reference_v<Request>) // it is moved from, base by base
    requested_acquisition(session& s, Path* path, Request&& request)
        : timed_acquisition(s, static_cast<acquire_call&&>(request)), request_(static_cast<Wanted&&>(request)),
          path_(path)
    {
        if (!options().properties.empty())
            data_ = queue::write_owner_data(identifier(), options().properties);
    }

    /// Its release begins: what it held is to go.
    virtual void give_back() = 0;

    [[nodiscard]] const std::string& identifier() const noexcept
    {
        const std::string& own = options().identifier;
        return own.empty() ? session_.options.identifier : own;
    }

    /// It waits no more, in vain. What its caller is told of that is another matter.
    void end_wait(error_code why)
    {
        disarm_deadline();
        state_.end();
        if (events_)
            events_->failed(why);
    }
    /// Its wait has failed. `what` it wanted, and `said` is why, as the log says.
    void fail_wait(error_code why, std::string_view what, const auto& said)
    {
        tell_end(why);
        end_wait(why);
        // A client without the permission will not get it before somebody grants that.
        const log_level level = why == errc::access_denied ? log_level::warning : log_level::debug;
        session_.log(level, "no ", what, request_.path, ": ", said);
    }
    /// What it holds is lost.
    void end_hold(const lock_loss& how)
    {
        session_.news().tell(this->shared_from_this(), [](requested_acquisition& a) { a.say_lost(); });
        state_.lose(how);
        if (holder_)
            holder_->asked = nullptr;
        if (events_)
            events_->lost(how);
    }

    // What its caller is told later.

    /// The end of the wait: what was granted, if it is held then, or why nothing was.
    void tell_end(error_code how)
    {
        session_.news().tell(this->shared_from_this(), [how](requested_acquisition& a) { a.say_done(how); });
    }
    /// That others ask him to let go, if he wants to know, and has neither released it nor lost it meanwhile.
    void tell_asked()
    {
        if (wants_to_be_asked())
            session_.news().tell(this->shared_from_this(), [](requested_acquisition& a) { a.say_asked(); });
    }
    void tell_released(error_code ec)
    {
        if (waits_for_release())
            session_.news().tell(this->shared_from_this(), [ec](requested_acquisition& a) { a.say_released(ec); });
    }

    Wanted request_;
    Path* path_;
    grant_state state_;
    Events events_; ///< if he has a listener

private:
    void say_done(error_code ec)
    {
        if (!call_.done) // its path is gone
            return;
        if (!ec && !holding())
            ec = session_.granted_and_lost();
        std::exchange(call_.done, nullptr)(ec, holder_ ? std::move(holder_->given) : grant());
    }

    std::string data_; ///< if it says more than who it is
};

/// An acquire that fails before it has come to a path: its caller is told why, later. `id`: for its listener.
template <class Refused, class Request>
[[nodiscard]] std::shared_ptr<Refused> refuse(session& s, std::uint64_t id, Request&& request, errc why)
{
    const auto refused = std::make_shared<Refused>(s, nullptr, id, std::forward<Request>(request));
    refused->fail(why);
    return refused;
}

} // namespace zklock::recipes
