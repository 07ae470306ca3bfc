#include "zklock/mutex.hpp"
#include "adapter/guard_state.hpp"
#include "adapter/operation.hpp"

namespace zklock {
namespace detail {

class mutex_state {
public:
    mutex_state(std::shared_ptr<client_handle> client, std::string path, mutex_options options)
        : client_(std::move(client)), path_(std::move(path)), options_(std::move(options))
    {
    }

    [[nodiscard]] const std::shared_ptr<client_state>& client() const noexcept { return client_->state(); }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] const mutex_options& options() const noexcept { return options_; }

private:
    std::shared_ptr<client_handle> client_;
    std::string path_;
    mutex_options options_;
};

namespace {

class acquire_operation final : public operation<guard> {
public:
    acquire_operation(const mutex_state& mutex, acquire_mode mode, std::optional<lease_clock::duration> timeout,
                      guard_handler handler)
        : operation(mutex.client(), std::move(handler))
    {
        request_.path = mutex.path();
        request_.options = mutex.options();
        once_ = mode == acquire_mode::wait && timeout && *timeout <= lease_clock::duration::zero();
        if (mode == acquire_mode::try_once || once_)
            request_.mode = recipes::patience::look_once;
        else if (timeout)
            request_.deadline = deadline_after(*timeout);
    }

private:
    void begin() override
    {
        auto* const core = enter_open_client();
        if (!core)
            return;
        lock_ = std::make_shared<guard_state>(client());
        // Not a strong pointer: the acquisition keeps this function, and is kept by the operation.
        request_.done = [this, self = weak_from_this()](error_code ec, const recipes::grant& grant) {
            if (const auto alive = self.lock())
                finish(ec, grant);
        };
        request_.lost = [lock = std::weak_ptr(lock_)] {
            if (const auto held = lock.lock())
                held->lost();
        };
        acquisition_ = core->session.acquire(std::move(request_));
    }

    void finish(error_code ec, const recipes::grant& grant)
    {
        auto acquisition = std::move(acquisition_);
        auto lock = std::move(lock_);
        if (ec) {
            // A look that had no time to wait found nothing: for its caller the time is up.
            const bool nothing_yet = ec == errc::busy || ec == errc::not_connected;
            complete(once_ && nothing_yet ? make_error_code(errc::timed_out) : ec, guard());
        } else {
            lock->granted(std::move(acquisition), grant);
            complete({}, guard(std::move(lock))); // if nobody can take it any more, it is given back here
        }
    }

    bool withdraw() override
    {
        // Without an open client it is ended by the close.
        if (!client()->open_core() || !acquisition_->withdraw())
            return false;
        acquisition_.reset();
        lock_.reset();
        return true;
    }

    void end_as_closed() override
    {
        acquisition_.reset();
        lock_.reset();
        complete(client()->refusal(), guard());
    }

    bool once_ = false;
    recipes::acquire_request request_;
    std::shared_ptr<recipes::acquisition> acquisition_;
    std::shared_ptr<guard_state> lock_;
};

class contenders_operation final : public operation<std::vector<contender>> {
public:
    contenders_operation(const mutex_state& mutex, contenders_handler handler)
        : operation(mutex.client(), std::move(handler)), path_(mutex.path())
    {
    }

private:
    void begin() override
    {
        if (auto* const core = enter_open_client())
            list_ = core->session.contenders(
                path_, [this, self = weak_from_this()](error_code ec, std::vector<contender> found) {
                    if (const auto alive = self.lock())
                        complete(ec, std::move(found));
                });
    }
    bool withdraw() override
    {
        // Without an open client it is ended by the close.
        return client()->open_core() && list_->withdraw();
    }
    void end_as_closed() override { complete(client()->refusal(), {}); }

    std::string path_;
    std::shared_ptr<recipes::contender_list> list_;
};

} // namespace

void start_acquire(std::shared_ptr<mutex_state> mutex, acquire_mode mode, std::optional<lease_clock::duration> timeout,
                   guard_handler handler)
{
    acquire_operation::launch(std::make_shared<acquire_operation>(*mutex, mode, timeout, std::move(handler)));
}

void start_contenders(std::shared_ptr<mutex_state> mutex, contenders_handler handler)
{
    contenders_operation::launch(std::make_shared<contenders_operation>(*mutex, std::move(handler)));
}

asio::any_io_executor executor_of(const std::shared_ptr<mutex_state>& mutex)
{
    return mutex->client()->executor();
}

} // namespace detail

mutex::mutex(const client& c, std::string path, mutex_options options)
    : state_(std::make_shared<detail::mutex_state>(c.handle_, std::move(path), std::move(options)))
{
}

const std::string& mutex::path() const noexcept
{
    return state_->path();
}

} // namespace zklock
