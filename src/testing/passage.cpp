#include "testing/passage.hpp"
#include "runtime/stores_in_memory.hpp"
#include "testing/memory_store.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

namespace zklock::testing {

namespace {

/// What becomes ready takes so many passes through an executor at most until it asks the servers for something, or
/// has come to its end.
constexpr int passes = 8;
constexpr std::chrono::seconds longest_step{1};

} // namespace

struct passage::shared {
    shared(handler h, asio::any_io_executor e) : told(std::move(h)), executor(std::move(e)) {}

    handler told;
    asio::any_io_executor executor; ///< the handler's. Not in work: its context may end before this, as a test fails
    std::mutex mutex;               // guards these
    std::condition_variable changed;
    std::size_t awaited = 0;                                       ///< functions that are to run
    lease_clock::time_point next = lease_clock::time_point::max(); ///< deadline of a client
    bool stops = false;
    bool over = false;
};

/// Goes with a function that is posted: with its end that has had its turn, or never will.
struct passage::turn {
    explicit turn(std::shared_ptr<shared> whose) : of(std::move(whose)) {}
    ~turn()
    {
        {
            const std::scoped_lock lock(of->mutex);
            --of->awaited;
            of->stops = of->stops || dropped;
            of->next = std::min(of->next, deadline);
        }
        of->changed.notify_all();
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

    const std::shared_ptr<shared> of;
    lease_clock::time_point deadline = lease_clock::time_point::max();
    bool dropped = false; ///< its execution context has ended, unless the function says otherwise
};

passage::passage(std::shared_ptr<memory_ensemble> servers, std::chrono::nanoseconds time, handler h,
                 asio::any_io_executor executor)
    : servers_(std::move(servers)), until_(lease_clock::now() + time),
      shared_(std::make_shared<shared>(std::move(h), std::move(executor))), thread_([this] { run(); })
{
}

passage::~passage()
{
    {
        const std::scoped_lock lock(shared_->mutex);
        shared_->stops = true;
    }
    shared_->changed.notify_all();
    thread_.join();
}

bool passage::over() const
{
    const std::scoped_lock lock(shared_->mutex);
    return shared_->over;
}

bool passage::ended() const
{
    const std::scoped_lock lock(shared_->mutex);
    return shared_->stops;
}

void passage::run()
{
    for (settle(); !ended(); settle()) {
        const auto now = lease_clock::now();
        if (now >= until_)
            break;
        auto next = std::min({until_, servers_->next_due(), now + longest_step});
        {
            const std::scoped_lock lock(shared_->mutex);
            next = std::min(next, shared_->next);
        }
        if (next > now)
            runtime::move_lease_clock(next - now);
        servers_->look_again();
        for (const auto& each : servers_->clients())
            each->post([](memory_store& s) { s.look_again(); });
    }
    if (ended())
        return;
    auto executor = std::exchange(shared_->executor, {});
    auto told = std::move(shared_->told);
    {
        const std::scoped_lock lock(shared_->mutex);
        shared_->over = true;
    }
    asio::post(executor, [told = std::move(told)]() mutable { std::move(told)(error_code()); });
}

/// Until nothing has been asked or told for a while.
void passage::settle()
{
    for (auto before = servers_->activity() - 1; before != servers_->activity() && !ended();) {
        before = servers_->activity();
        run_dry();
    }
}

void passage::pass_again(const std::shared_ptr<memory_store>& through, std::shared_ptr<turn> t, int left)
{
    through->post([through, t = std::move(t), left](memory_store& s) {
        if (left == 0)
            t->deadline = s.next_deadline();
        else
            pass_again(through, t, left - 1);
    });
}

void passage::pass_again(const asio::any_io_executor& through, std::shared_ptr<turn> t, int left)
{
    t->dropped = true;
    asio::post(through, [through, t = std::move(t), left] {
        t->dropped = false;
        if (left != 0)
            pass_again(through, t, left - 1);
    });
}

/// Everything that is ready in any executor, and what follows from it, has its turn.
void passage::run_dry()
{
    const auto clients = servers_->clients();
    {
        const std::scoped_lock lock(shared_->mutex);
        shared_->awaited = clients.size() + 1;
        shared_->next = lease_clock::time_point::max();
    }
    for (const auto& each : clients)
        pass_again(each, std::make_shared<turn>(shared_), passes);
    pass_again(shared_->executor, std::make_shared<turn>(shared_), passes);
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait(lock, [&] { return shared_->awaited == 0 || shared_->stops; });
}

} // namespace zklock::testing
