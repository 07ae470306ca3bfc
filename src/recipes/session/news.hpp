#pragma once
#include "recipes/session/session_part.hpp"
#include "store/unique_function.hpp"
#include "zklock/events.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace zklock::recipes {

/// What the caller of something is to be told of it, once: a call calls `say(*what, …)`. Where it is destroyed unsaid,
/// because the client is, `what->forget_caller()` is called instead, which drops what was to be called then: a function
/// of the caller's may own `what`, which would live on for ever. Neither it nor the destruction of `say` may throw.
template <class What, class Say> class news_for {
public:
    news_for(std::shared_ptr<What> what, Say say) noexcept : what_(std::move(what)), say_(std::move(say))
    {
        static_assert(std::is_nothrow_move_constructible_v<Say>);
        static_assert(noexcept(what_->forget_caller()));
    }
    news_for(news_for&&) noexcept = default;
    news_for& operator=(news_for&&) = delete;
    ~news_for()
    {
        if (what_)
            what_->forget_caller();
    }

    template <class... Args> void operator()(Args&&... args)
    {
        const auto what = std::move(what_);
        say_(*what, std::forward<Args>(args)...);
    }

private:
    std::shared_ptr<What> what_; ///< null once it is said
    [[no_unique_address]] Say say_;
};

/// What a session calls later. Everything users are told goes this way, so that whatever they do about it comes between
/// two steps of the protocol. If the session is destroyed before, nothing of it is called.
class news : session_part {
public:
    using session_part::session_part;

    /// Calls `say` soon, after what is running now and in the order of the calls. A lease that has ended meanwhile is
    /// noticed first: news of a grant looks whether it still holds, and else tells session::granted_and_lost().
    template <class Say> void tell(Say&& say)
    {
        waiting_.emplace_back(std::forward<Say>(say));
        deliver_soon();
    }
    /// Calls `say(*what)` soon, too, which tells the caller of `what` something. If the session is destroyed before,
    /// `what->forget_caller()` is called instead; see news_for. Whatever is told by a function that a recipe keeps
    /// for its caller goes this way.
    template <class What, class Say> void tell(std::shared_ptr<What> what, Say say)
    {
        tell(news_for(std::move(what), std::move(say)));
    }
    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    /// Calls `f` after a while.
    void later(lease_clock::duration, std::function<void()> f);

private:
    void deliver_soon();
    void deliver();

    std::deque<store::unique_function<void()>> waiting_;
    bool delivering_ = false;
    /// Whether posted functions may still touch this object.
    std::shared_ptr<news*> alive_ = std::make_shared<news*>(this);
};

} // namespace zklock::recipes
