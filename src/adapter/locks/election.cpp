#include "zklock/election.hpp"
#include "adapter/client/request_operation.hpp"
#include "adapter/locks/mutex_target.hpp"
#include "recipes/composed/election.hpp"

namespace zklock {
namespace detail {
namespace {

/// One participant of an election; with a candidate, what that candidate acquires.
class election_target final : public mutex_target {
public:
    using mutex_target::mutex_target;

    [[nodiscard]] const std::shared_ptr<recipes::election>& election() const noexcept { return election_; }

private:
    std::shared_ptr<recipes::election> election_ = std::make_shared<recipes::election>();
};

class candidate_target final : public lock_target {
public:
    candidate_target(std::shared_ptr<const election_target> where, std::shared_ptr<recipes::candidate> who)
        : where_(std::move(where)), who_(std::move(who))
    {
    }

    [[nodiscard]] const std::string& path() const noexcept override { return where_->path(); }
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core,
                                                                recipes::acquire_call call) const override
    {
        const auto start = [&](recipes::acquire_call inner) { return where_->acquire(core, std::move(inner)); };
        return where_->election()->stand(core.session, who_, start, std::move(call));
    }
    [[nodiscard]] last_timeout& timeouts() const noexcept override { return where_->timeouts(); }
    [[nodiscard]] live_holds* live() const noexcept override { return where_->live(); }

private:
    std::shared_ptr<const election_target> where_;
    std::shared_ptr<recipes::candidate> who_;
};

std::shared_ptr<const election_target> election_of(const lock_state& lock)
{
    return std::static_pointer_cast<const election_target>(lock.target());
}

class election_operation : public operation<> {
public:
    election_operation(const lock_state& lock, void_handler handler)
        : operation(lock.client(), std::move(handler)), election_(election_of(lock)->election())
    {
    }

protected:
    const std::shared_ptr<recipes::election> election_;
};

class resign_operation final : public election_operation {
    using election_operation::election_operation;

    void begin() override
    {
        auto* const core = client()->open_core();
        if (!core)
            return end_as_closed();
        // Cancelled or not: that only concerns the waiting.
        client()->pending().add(shared_from_this());
        election_->resign(core->session, if_alive<&resign_operation::resigned>());
        if (cancelled())
            complete(asio::error::operation_aborted);
    }
    void resigned() { complete({}); }
};

class leadership_wait final : public election_operation {
    using election_operation::election_operation;

    void begin() override
    {
        if (auto* const core = enter_open_client())
            wait_ = election_->wait_for_leadership(core->session, if_alive<&leadership_wait::ended>());
    }
    void ended(bool leads) { complete(leads ? error_code() : asio::error::operation_aborted); }
    bool withdraw() override
    {
        election_->remove(wait_);
        return true;
    }
    void end_as_closed() override
    {
        election_->remove(wait_);
        operation::end_as_closed();
    }

    recipes::election::wait_id wait_ = 0;
};

} // namespace

class candidacy {
public:
    std::shared_ptr<recipes::candidate> who;
    std::shared_ptr<lock_state> lock;
};

std::shared_ptr<candidacy> stand_for(const std::shared_ptr<lock_state>& election)
{
    const auto who = std::make_shared<recipes::candidate>();
    const auto target = std::make_shared<candidate_target>(election_of(*election), who);
    return std::make_shared<candidacy>(candidacy{who, std::make_shared<lock_state>(*election, target)});
}

const std::shared_ptr<lock_state>& lock_of(const std::shared_ptr<candidacy>& c) noexcept
{
    return c->lock;
}

bool has_resigned(const std::shared_ptr<candidacy>& c) noexcept
{
    return c->who->resigned();
}

void at_resignation(const std::shared_ptr<candidacy>& c, std::function<void()> stop)
{
    // Where there is no strand any more, nobody can resign.
    static_cast<void>(c->lock->client()->post(
        [who = c->who, stop = std::move(stop)]() mutable { who->at_resignation(std::move(stop)); }));
}

void start_resign(std::shared_ptr<lock_state> election, void_handler handler)
{
    resign_operation::launch(std::make_shared<resign_operation>(*election, std::move(handler)));
}

void start_wait_for_leadership(std::shared_ptr<lock_state> election, void_handler handler)
{
    leadership_wait::launch(std::make_shared<leadership_wait>(*election, std::move(handler)));
}

void start_leader(std::shared_ptr<lock_state> election, leader_handler handler)
{
    lock_target::listing where = election->target()->contenders();
    auto ask = [what = where.what](client_core& core, const std::string& path, auto answer) {
        const auto told = [answer = std::move(answer)](error_code ec, std::vector<contender> first) {
            answer(ec, first.empty() ? std::nullopt : std::optional(std::move(first.front())));
        };
        return recipes::list_contenders(core.session, path, told, what, 1);
    };
    launch_request<std::optional<contender>>(election->client(), {"list contenders at ", std::move(where.path)},
                                             std::move(ask), std::move(handler));
}

} // namespace detail

election::election(const client& c, std::string path, election_options options)
    : queued_lock(detail::make_lock<detail::election_target>(c, std::move(path), mutex_options(options))),
      requeue_(options.requeue)
{
}

} // namespace zklock
