#pragma once
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

} // namespace zklock::recipes
