#pragma once
#include <memory>
#include <utility>

namespace zklock::store {

template <class Function> struct member_of;
template <class Result, class Class, class... Args> struct member_of<Result (Class::*)(Args...)> {
    using type = Class;
};

/// A function that calls that member function of `who`, if `who` is there then. It does not keep him alive.
template <auto What, class Who> [[nodiscard]] auto if_alive(std::weak_ptr<Who> who) noexcept
{
    return [who = std::move(who)]<class... Args>(Args&&... args) {
        if (const auto self = who.lock())
            (static_cast<typename member_of<decltype(What)>::type&>(*self).*What)(std::forward<Args>(args)...);
    };
}

} // namespace zklock::store
