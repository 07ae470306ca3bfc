#pragma once
#include "recipes/session/news_for.hpp"
#include "store/unique_function.hpp"
#include "zklock/events.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace zklock::recipes {

class session;

/// What a session calls later. Everything users are told goes this way, so that whatever they do about it comes between
/// two steps of the protocol. If the session is destroyed before, nothing of it is called.
class news {
public:
    explicit news(session& s) : session_(s) {}
    news(const news&) = delete;
    news& operator=(const news&) = delete;

    /// Calls `say` soon, after what is running now and in the order of the calls. A lease that has ended meanwhile is
    /// noticed first: news of a grant looks whether it still holds, and else tells session::granted_and_lost().
    template <class Say> void tell(Say&& say)
    {
        waiting_.emplace_back(std::forward<Say>(say));
        deliver_soon();
    }
    /// Calls `say(*what)` soon, too, which tells the caller of `what` something. If the session is destroyed before,
    /// `what->forget_caller()` is called instead; see news_for.hpp. Whatever is told by a function that a recipe keeps
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

    session& session_;
    std::deque<store::unique_function<void()>> waiting_;
    bool delivering_ = false;
    /// Whether posted functions may still touch this object.
    std::shared_ptr<news*> alive_ = std::make_shared<news*>(this);
};

} // namespace zklock::recipes
