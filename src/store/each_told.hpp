#pragma once
#include <exception>
#include <utility>

namespace zklock::store {

/// For telling several users one after another: one who throws, say out of an executor, keeps none of the others from
/// being told. The first exception goes on when all have been.
class each_told {
public:
    template <class F> void operator()(F&& tell) noexcept
    {
        try {
            std::forward<F>(tell)();
        } catch (...) {
            if (!first_)
                first_ = std::current_exception();
        }
    }
    void rethrow()
    {
        if (first_)
            std::rethrow_exception(first_);
    }

private:
    std::exception_ptr first_;
};

} // namespace zklock::store
