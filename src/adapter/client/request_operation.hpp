#pragma once
#include "adapter/client/client_core.hpp"
#include "adapter/client/client_state.hpp"
#include "adapter/client/operation.hpp"
#include "recipes/session/request_line.hpp"
#include "zklock/errc.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace zklock::detail {

/// Has the log told, at level warning, what the servers have denied, if that is how something has ended: the error says
/// neither what was asked nor of which node. Called on the strand.
template <class... Parts> void log_denial(const client_state& client, error_code ec, const Parts&... what) noexcept
{
    if (const auto* const core = client.open_core(); core && ec == errc::access_denied)
        core->session.log(log_level::warning, "access denied by the servers: ", what...);
}

/// Asks the servers something, and tells the answer. When it is cancelled, it ends at once: as cancelled if nothing was
/// done and nothing will be; a write that was sent cannot be taken back, and then its outcome is unknown.
template <class... Values> class request_operation : public operation<Values...> {
protected:
    using answer = std::function<void(error_code, Values...)>;
    using operation<Values...>::operation;

    /// Starts the request. Is called on the strand.
    [[nodiscard]] virtual std::shared_ptr<recipes::withdrawable> ask(client_core&, answer) = 0;
    /// The request has ended by itself. Is called on the strand.
    virtual void answered(error_code ec, Values... values) { this->complete(ec, std::move(values)...); }

    void begin() override
    {
        if (auto* const core = this->enter_open_client())
            request_ = ask(*core, this->template if_alive<&request_operation::answered>());
    }

    [[nodiscard]] bool withdraw() override
    {
        using withdrawal = recipes::withdrawable::withdrawal;
        if (!this->client()->open_core()) // it is ended by the close
            return false;
        const auto end = request_->withdraw();
        if (end == withdrawal::too_late)
            this->complete(make_error_code(errc::outcome_unknown), Values()...);
        return end == withdrawal::withdrawn;
    }

    std::shared_ptr<recipes::withdrawable> request_;
};

/// What is asked of the servers: a text that the log puts before the path, and the path. Without a text, the
/// caller itself tells the log.
struct asked_request {
    const char* what = nullptr;
    std::string path{};
};

/// An operation that is no more than its request.
template <class... Values> class plain_request_operation final : public request_operation<Values...> {
public:
    using typename request_operation<Values...>::answer;
    using question =
        std::function<std::shared_ptr<recipes::withdrawable>(client_core&, const std::string& path, answer)>;

    plain_request_operation(std::shared_ptr<client_state> client, asked_request asked, question ask,
                            typename operation<Values...>::handler_type handler)
        : request_operation<Values...>(std::move(client), std::move(handler)), asked_(std::move(asked)),
          ask_(std::move(ask))
    {
    }

private:
    std::shared_ptr<recipes::withdrawable> ask(client_core& core, answer told) override
    {
        return std::exchange(ask_, nullptr)(core, asked_.path, std::move(told));
    }
    void answered(error_code ec, Values... values) override
    {
        if (asked_.what)
            log_denial(*this->client(), ec, asked_.what, asked_.path);
        this->complete(ec, std::move(values)...);
    }

    const asked_request asked_;
    question ask_;
};

/// Starts such an operation. While it is pending, it does not keep the client open as a handle would.
template <class... Values>
void launch_request(std::shared_ptr<client_state> client, asked_request asked,
                    typename plain_request_operation<Values...>::question ask,
                    asio::any_completion_handler<void(error_code, Values...)> handler)
{
    using request = plain_request_operation<Values...>;
    request::launch(std::make_shared<request>(std::move(client), std::move(asked), std::move(ask), std::move(handler)));
}

} // namespace zklock::detail
