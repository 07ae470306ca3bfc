#pragma once
#include "recipes/request_line.hpp"
#include "recipes/session_core.hpp"
#include "store/store.hpp"
#include "zklock/errc.hpp"

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace zklock::recipes {

using boost::system::error_code;

/// What becomes of a request that was sent, and whose answer was lost.
enum class if_lost : std::uint8_t {
    asked_again, ///< on the next connection: to be asked twice is no harm
    unknown      ///< it may have been done, and is not repeated: `errc::outcome_unknown`
};

/// A user's request that ends with some values, told once and later. It is sent when there is a connection. If it is
/// certain that the servers have not done it, for it never left, it waits for the next one, whatever it is.
template <class... Values> class request_for : public user_request {
public:
    using done = std::function<void(error_code, Values...)>;

    void start() final
    {
        if (ended())
            return;
        if (if_lost_ == if_lost::asked_again) // it reads
            core_.catch_up_for_users();
        sent_ = true;
        send();
    }

    void fail(errc why) final { end(make_error_code(why), Values()...); }

    withdrawal withdraw() final
    {
        if (ended())
            return withdrawal::ended;
        done_ = nullptr;
        core_.requests.leave(*this);
        return sent_ && if_lost_ == if_lost::unknown ? withdrawal::too_late : withdrawal::withdrawn;
    }

    void end_unsent(errc why) final
    {
        if (ended())
            return;
        unsent_end_ = why;
        if (sent_)
            return;
        core_.requests.leave(*this);
        fail(why);
    }

protected:
    request_for(session_core& core, if_lost what_then, done d)
        : core_(core), if_lost_(what_then), done_(std::move(d))
    {
    }

    /// Makes the request, or the first of several.
    virtual void send() = 0;

    [[nodiscard]] bool ended() const noexcept { return !done_; }

    void end(error_code ec, Values... values)
    {
        if (!ended())
            core_.tell([d = std::exchange(done_, nullptr), ec, ... v = std::move(values)]() mutable {
                d(ec, std::move(v)...);
            });
    }

    /// Wraps what takes an answer: `f` hears of it unless it was lost.
    template <class F> [[nodiscard]] auto answered(F f)
    {
        return [this, self = shared_from_this(), f = std::move(f)](const auto& answer) {
            if (answer.result == store::outcome::unknown)
                lose_answer(answer.undone);
            else if (if_lost_ == if_lost::asked_again && core_.behind_users())
                did_not_catch_up();
            else
                f(answer);
        };
    }

    /// `undone`: it never left, or the servers did not look at it.
    void lose_answer(bool undone = false)
    {
        core_.contact_lost();
        if (!undone && if_lost_ == if_lost::unknown) {
            return fail(errc::outcome_unknown);
        }
        sent_ = false;
        if (ended())
            return;
        if (unsent_end_)
            fail(*unsent_end_);
        else
            core_.requests.enter(shared_from_this());
    }

    session_core& core_;

private:
    /// It was answered by a server that may be behind.
    void did_not_catch_up()
    {
        if (core_.connected)
            fail(errc::server_error); // the sync was refused
        else
            lose_answer();
    }

    const if_lost if_lost_;
    done done_;
    std::optional<errc> unsent_end_;
    bool sent_ = false;
};

/// One whose last step is several requests at once. If answers were lost all of it is repeated, once the others are
/// there.
template <class... Values> class request_of_several : public request_for<Values...> {
protected:
    using request_for<Values...>::request_for;

    /// All have been answered, and none was lost.
    virtual void finish() = 0;

    /// Wraps what takes the answer to one of them: `f` hears of it unless it was lost. It may make one more request.
    template <class F> [[nodiscard]] auto one_answered(F f)
    {
        ++answers_due_;
        return [this, self = this->shared_from_this(), f = std::move(f)](const auto& answer) {
            if (answer.result == store::outcome::unknown)
                cut_ = true;
            else
                f(answer);
            --answers_due_;
            finish_if_answered();
        };
    }

    /// To be called when they were sent: there may have been none.
    void finish_if_answered()
    {
        if (answers_due_ != 0 || this->ended())
            return;
        if (std::exchange(cut_, false))
            this->lose_answer();
        else
            finish();
    }

private:
    std::size_t answers_due_ = 0;
    bool cut_ = false; ///< the connection ended meanwhile
};

} // namespace zklock::recipes
