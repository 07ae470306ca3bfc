#pragma once
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/request_for.hpp"

#include <cstddef>
#include <functional>
#include <utility>

namespace zklock::recipes {

/// One operation of a user's own on the nodes: one request to the servers.
template <class... Values> class node_operation final : public request_for<Values...> {
public:
    using typename request_for<Values...>::done_function;
    using sender = std::function<void(node_operation&)>;

    /// A write is not repeated, unless it is certain that it was not done. `bytes`: the length of what it writes.
    node_operation(session& own, bool writes, std::size_t bytes, done_function d, sender s)
        : request_for<Values...>(own, writes ? if_lost::unknown : if_lost::asked_again, std::move(d), bytes),
          writes_(writes), send_(std::move(s))
    {
        if (writes_)
            this->writes();
    }

    // --- for the sender ----------------------------------------------------------------------------------------------

    /// Wraps what takes the answer.
    template <class F> [[nodiscard]] auto answered(F f, std::size_t weight = 1)
    {
        const auto take = [this, f = std::move(f)](const auto& answer) {
            if (writes_ && answer.result == store::outcome::ok)
                this->session_.wrote(answer);
            f(answer);
        };
        return request_for<Values...>::answered(take, weight);
    }
    /// Takes the answer, which ends it; with what `value` makes of the answer, if that is a value.
    template <class... F> [[nodiscard]] auto ends_with(F... value)
    {
        return answered(
            [this, value...](const auto& answer) { this->end(answer.result, std::invoke(value, answer)...); });
    }

    using request_for<Values...>::end;
    /// Ends it by an answer of the server's.
    void end(store::outcome result, Values... values)
    {
        if (result == store::outcome::ok)
            end(error_code(), std::move(values)...);
        else
            this->fail(node_error_of(result));
    }

private:
    void send() override { send_(*this); }
    [[nodiscard]] bool reads() const noexcept override { return !writes_; }

    const bool writes_;
    const sender send_;
};

} // namespace zklock::recipes
