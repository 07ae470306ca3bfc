#pragma once
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/request_line.hpp"
#include "recipes/session/session.hpp"
#include "store/store.hpp"
#include "zklock/errc.hpp"

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

namespace zklock::recipes {

using boost::system::error_code;

/// What becomes of a request that was sent, and whose answer was lost.
enum class if_lost : std::uint8_t {
    asked_again, ///< on the next connection: to be asked twice is no harm
    unknown      ///< it may have been done, and is not repeated: `errc::outcome_unknown`
};

/// A user's request that ends with some values, told once and later. It is sent when there is a connection and it has
/// come up. If it is certain that the servers have not done it, because it never left, it waits for the next
/// connection, whatever it is.
template <class... Values> class request_for : public user_request {
public:
    using done_function = std::function<void(error_code, Values...)>;

    void send_next() final
    {
        if (ended())
            return;
        if (!std::exchange(sent_, true)) {
            restart();
            comes_after_ = reads() ? session_.catch_up().for_users() : 0;
        }
        send();
    }

    void begin_again() final { lose_answer(true); }

    void fail(errc why) final { end(make_error_code(why), Values()...); }
    withdrawal withdraw() final
    {
        if (ended())
            return withdrawal::ended;
        done_ = nullptr;
        write_.close();
        session_.requests().leave(*this);
        return sent_ && if_lost_ == if_lost::unknown ? withdrawal::too_late : withdrawal::withdrawn;
    }

    void end_unsent(errc why) final
    {
        if (ended())
            return;
        unsent_end_ = why;
        if (sent_)
            return;
        session_.requests().leave(*this);
        fail(why);
    }

    /// Nobody will be told anything any more.
    void forget_caller() noexcept { done_ = nullptr; }

protected:
    request_for(session& s, if_lost what_then, done_function d, std::size_t bytes = 0)
        : user_request(bytes), session_(s), if_lost_(what_then), done_(std::move(d))
    {
    }

    /// Forgets what was sent: nothing has been, or an answer was lost, and what is sent next is the first request.
    virtual void restart() {}
    /// It writes for its user: nobody is to be handed a lock past the servers that was held meanwhile.
    void writes()
    {
        if (session_.handoffs())
            write_.begin(session_.handoffs()->writes);
    }
    /// Makes the next request.
    virtual void send() = 0;

    /// Whether the next request, the first of a connection, tells its user what others have written.
    [[nodiscard]] virtual bool reads() const noexcept = 0;

    [[nodiscard]] bool ended() const noexcept { return !done_ || end_; }

    void end(error_code ec, Values... values)
    {
        if (ended())
            return;
        end_.emplace(ec, std::move(values)...);
        write_.close();
        session_.news().tell(std::static_pointer_cast<request_for>(shared_from_this()), [](request_for& r) {
            if (const auto done = std::exchange(r.done_, nullptr))
                std::apply(done, std::move(*r.end_));
        });
    }

    /// Wraps what takes an answer: `f` hears of it unless it was lost. `weight`: see request_line.
    template <class F> [[nodiscard]] auto answered(F f, std::size_t weight = 1)
    {
        return counted(weight, [this, f = std::move(f), was_read = reads()](const auto& answer) {
            if (answer.result == store::outcome::unknown)
                lose_answer(answer.undone);
            else if (was_read && session_.catch_up().behind_users(comes_after_))
                did_not_catch_up();
            else
                f(answer);
        });
    }

    /// Wraps what takes an answer, whatever it is: when it has been taken, others may send theirs.
    template <class F> [[nodiscard]] auto counted(std::size_t weight, F f)
    {
        session_.requests().sends(*this, weight);
        write_.sends();
        return [this, self = shared_from_this(), weight, f = std::move(f)](const auto& answer) {
            session_.requests().answered(*this, weight);
            write_.answered(answer);
            f(answer);
            if (ended())
                write_.close();
            session_.requests().proceed();
        };
    }

    /// `undone`: it never left, or the servers did not look at it.
    void lose_answer(bool undone = false)
    {
        session_.contact_lost();
        session_.requests().leave(*this);
        if (!undone && if_lost_ == if_lost::unknown) {
            return fail(errc::outcome_unknown);
        }
        sent_ = false;
        if (ended())
            return;
        if (unsent_end_)
            return fail(*unsent_end_);
        session_.requests().enter(shared_from_this());
    }

    session& session_;

private:
    /// It was answered by a server that may be behind.
    void did_not_catch_up()
    {
        if (session_.connected())
            fail(session_.catch_up().refusal());
        else
            lose_answer();
    }

    const if_lost if_lost_;
    done_function done_;
    user_write write_;                                     ///< if it writes
    std::uint64_t comes_after_ = 0;                        ///< what is read: see catch_up::for_users()
    std::optional<std::tuple<error_code, Values...>> end_; ///< what its user is to be told
    std::optional<errc> unsent_end_;
    bool sent_ = false;
};

/// A user's request that takes many requests to the servers, each sent when it comes up. If answers were lost, all of
/// it is repeated, once the other answers are there.
template <class... Values> class request_of_several : public request_for<Values...> {
protected:
    using request_for<Values...>::request_for;

    /// All have been answered, none was lost, and there are no more to be sent.
    virtual void finish() = 0;

    [[nodiscard]] std::size_t answers_due() const noexcept { return answers_due_; }

    /// Wraps what takes the answer to one of them: `f` hears of it unless it was lost. There may be more to be sent
    /// then.
    template <class F> [[nodiscard]] auto one_answered(F f, std::size_t weight = 1)
    {
        auto taken = this->counted(weight, [this, f = std::move(f)](const auto& answer) {
            --answers_due_;
            if (answer.result == store::outcome::unknown) {
                cut_ = true;
                this->session_.contact_lost();
            } else {
                f(answer);
            }
            advance();
        });
        ++answers_due_;
        return taken;
    }

    /// Does what is to be done when more is known.
    void advance()
    {
        if (this->ended())
            return;
        if (!cut_ && this->has_more())
            return this->session_.requests().go_on(*this);
        if (answers_due_ != 0)
            return;
        if (std::exchange(cut_, false))
            this->lose_answer();
        else
            finish();
    }

    /// Lists the children of a path, and calls `take` with their names; a node that is not there has none. There may
    /// be more to be sent then.
    template <class Take> void list_children(const std::string& path, Take take)
    {
        const auto listed = [this, take](const store::children_reply& answer) {
            if (this->ended())
                return;
            if (answer.result != store::outcome::ok && answer.result != store::outcome::no_node)
                return this->fail(error_of(answer.result));
            take(*answer.names);
            advance();
        };
        this->session_.store.children(path, false, this->answered(listed, request_line::weight_of_list));
    }

private:
    std::size_t answers_due_ = 0;
    bool cut_ = false; ///< the connection ended meanwhile
};

} // namespace zklock::recipes
