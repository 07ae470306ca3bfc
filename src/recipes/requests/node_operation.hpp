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

    /// A write is not repeated, unless it is certain that it was not done.
    enum class access : std::uint8_t { read, write };

    /// `bytes`: the length of what it writes.
    node_operation(session& own, access what, std::size_t bytes, done_function d, sender s)
        : request_for<Values...>(own, what == access::write ? if_lost::unknown : if_lost::asked_again, std::move(d),
                                 bytes),
          access_(what), send_(std::move(s))
    {
        if (access_ == access::write)
            this->writes();
    }

    // --- for the sender ----------------------------------------------------------------------------------------------

    /// Wraps what takes the answer.
    template <class F> [[nodiscard]] auto answered(F f, std::size_t weight = 1)
    {
        const auto take = [this, f = std::move(f)](const auto& answer) {
            if (access_ == access::write && answer.result == store::outcome::ok)
                this->session_.wrote(answer);
            f(*this, answer);
        };
        return request_for<Values...>::answered(take, weight);
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
    [[nodiscard]] bool reads() const noexcept override { return access_ == access::read; }

    const access access_;
    const sender send_;
};

} // namespace zklock::recipes
