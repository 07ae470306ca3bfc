#pragma once
#include "queue/owner_data.hpp"
#include "recipes/acquisition/grant_state.hpp"
#include "recipes/acquisition/timed_acquisition.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace zklock::recipes {

/// An acquisition that has nodes of its own: what its caller has asked for, how far it has come, and what he is told.
template <class Self, class Request>
class requested_acquisition : public timed_acquisition, public std::enable_shared_from_this<Self> {
public:
    using time_point = store::scheduler::time_point;

    [[nodiscard]] const std::string& path() const noexcept override { return request_.path; }
    [[nodiscard]] bool held(time_point now) const noexcept override { return state_.held(now); }
    [[nodiscard]] std::optional<lock_loss> loss(time_point now) const noexcept override { return state_.loss(now); }
    [[nodiscard]] time_point held_until() const noexcept override { return state_.held_until(); }

    [[nodiscard]] bool waiting() const noexcept { return state_.waiting(); }
    [[nodiscard]] bool holding() const noexcept { return state_.holding(); }
    [[nodiscard]] time_point held_since() const noexcept { return state_.lease().since; }
    [[nodiscard]] bool looks_once() const noexcept { return request_.mode == acquire_mode::look_once; }
    [[nodiscard]] const auto& options() const noexcept { return request_.own_options(); }
    /// The access list of its nodes; null means the client's.
    [[nodiscard]] const access_list* access() const noexcept { return options().access ? &*options().access : nullptr; }
    /// What the data of its nodes says of it.
    [[nodiscard]] const std::string& data() const noexcept { return data_.empty() ? identifier() : data_; }
    /// Nobody will be told anything any more.
    void forget_caller() noexcept
    {
        request_.done = nullptr;
        request_.lost = nullptr;
        asked_ = nullptr;
    }

protected:
    requested_acquisition(session& s, Request&& request) : timed_acquisition(s), request_(std::move(request))
    {
        if (!options().properties.empty())
            data_ = queue::write_owner_data(identifier(), options().properties);
    }

    [[nodiscard]] std::optional<time_point> deadline() const noexcept override { return request_.deadline; }
    [[nodiscard]] const std::string& identifier() const noexcept
    {
        const std::string& own = options().identifier;
        return own.empty() ? session_.options.identifier : own;
    }

    // What its caller is told later.

    /// The end of the wait: what was granted, if it is held then, or why nothing was.
    void tell_end(error_code how)
    {
        session_.news().tell(this->shared_from_this(), [how](requested_acquisition& a) { a.tell_done(how); });
    }
    /// The loss of what he holds, unless he has released it meanwhile.
    void tell_loss()
    {
        session_.news().tell(this->shared_from_this(), [](requested_acquisition& a) {
            if (a.request_.lost)
                std::exchange(a.request_.lost, nullptr)();
        });
    }
    /// That others ask him to let go, if he wants to know, and has neither released it nor lost it meanwhile.
    void tell_asked()
    {
        if (!asked_)
            return;
        session_.news().tell(this->shared_from_this(), [](requested_acquisition& a) {
            if (const std::function<void()> asked = std::exchange(a.asked_, nullptr))
                asked();
        });
    }

    Request request_;
    grant given_;                 ///< until it is told
    std::function<void()> asked_; ///< to be called when he is asked to let go
    grant_state state_;

private:
    void tell_done(error_code ec)
    {
        if (!request_.done) // its path is gone
            return;
        if (!ec && !holding()) {
            ec = session_.granted_and_lost();
            request_.lost = nullptr;
        }
        std::exchange(request_.done, nullptr)(ec, std::move(given_));
    }

    std::string data_; ///< if it says more than who it is
};

} // namespace zklock::recipes
