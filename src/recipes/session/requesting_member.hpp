#pragma once
#include "recipes/session/session.hpp"
#include "recipes/session/session_member.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

namespace zklock::recipes {

/// A member that makes requests of its own, and has to stay as long as an answer to one is due.
class requesting_member : public session_member {
protected:
    explicit requesting_member(session& s) : session_(s) {}

    [[nodiscard]] bool answers_due() const noexcept { return answers_due_ + waits_ != 0; }
    /// An answer is due that does not come by way of expect(); answer_came() is called when it has come.
    void answer_due() noexcept { ++answers_due_; }
    void answer_came() noexcept { --answers_due_; }

    /// Wraps the function that takes an answer.
    template <class F> [[nodiscard]] auto expect(F f)
    {
        answer_due();
        return [this, f = std::move(f)](const auto& answer) {
            answer_came();
            if (answer.result == store::outcome::unknown)
                session_.contact_lost();
            f(answer);
            advance();
        };
    }

    /// Calls `f` after a second: for requests that the server has refused, and may not refuse for ever.
    void after_a_while(std::function<void()> f)
    {
        constexpr std::chrono::seconds before_next_attempt{1};
        session_.news().later(before_next_attempt, [this, f = std::move(f)] {
            --waits_;
            f();
            advance();
        });
        ++waits_;
    }

    session& session_;

private:
    std::size_t answers_due_ = 0;
    std::size_t waits_ = 0; ///< that have not ended
};

} // namespace zklock::recipes
