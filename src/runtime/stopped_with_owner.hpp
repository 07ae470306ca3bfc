#pragma once
#include <memory>
#include <utility>

namespace zklock::runtime {

/// It is stopped when the last copy of the given pointer goes. What is under way may keep it in memory for a while.
template <class T> [[nodiscard]] std::shared_ptr<T> stopped_with_owner(std::shared_ptr<T> made)
{
    T* const it = made.get();
    return {it, [made = std::move(made)](T* own) { own->stop(); }};
}

} // namespace zklock::runtime
