// Calls of a KDC that does not answer: nobody waits for them.
#include "bridge/sasl/kdc_calls.hpp"
#include "support/polling.hpp"

#include <doctest/doctest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace zklock;
using namespace zklock::test;
using bridge::kdc_calls;
namespace asio = boost::asio;

namespace {

/// A KDC that answers nobody before it is told to.
class silent_kdc {
public:
    void be_asked() noexcept
    {
        std::unique_lock lock(mutex_);
        ++asking_;
        most_ = std::max(most_, asking_);
        ++asked_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return answers_; });
        --asking_;
        changed_.notify_all();
    }
    void answer()
    {
        const std::lock_guard lock(mutex_);
        answers_ = true;
        changed_.notify_all();
    }
    /// Waits until so many have asked. False if they have not in time.
    [[nodiscard]] bool was_asked(std::size_t times)
    {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, default_limit, [&] { return asked_ >= times; });
    }
    void await_asked(std::size_t times) { REQUIRE(was_asked(times)); }
    void await_none()
    {
        std::unique_lock lock(mutex_);
        REQUIRE(changed_.wait_for(lock, default_limit, [&] { return asking_ == 0; }));
    }
    [[nodiscard]] std::size_t asked()
    {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    [[nodiscard]] std::size_t most_at_once()
    {
        const std::lock_guard lock(mutex_);
        return most_;
    }

private:
    std::mutex mutex_; // guards what follows
    std::condition_variable changed_;
    bool answers_ = false;
    std::size_t asking_ = 0, most_ = 0, asked_ = 0;
};

class question final : public runtime::blocking_call {
public:
    explicit question(std::shared_ptr<silent_kdc> kdc) : kdc_(std::move(kdc)) {}
    [[nodiscard]] bool wanted() const noexcept override { return wanted_; }
    void run() noexcept override { kdc_->be_asked(); }
    void forget() noexcept { wanted_ = false; }

private:
    const std::shared_ptr<silent_kdc> kdc_;
    std::atomic<bool> wanted_{true};
};

/// A context, and what its calls were told.
struct asker {
    asio::io_context io;
    std::shared_ptr<silent_kdc> kdc = std::make_shared<silent_kdc>();
    std::vector<std::string> told;
    std::shared_ptr<int> kept = std::make_shared<int>(); ///< by all that wait to be told

    std::shared_ptr<question> ask()
    {
        const auto asked = std::make_shared<question>(kdc);
        asio::use_service<kdc_calls>(io).begin(asked, [this, kept = kept](const char* why_not) {
            asio::post(io, [this, text = std::string(why_not ? why_not : "answered")] { told.push_back(text); });
        });
        return asked;
    }
    /// Says whether it was told so often, and no more.
    [[nodiscard]] bool is_told(std::size_t times)
    {
        io.restart();
        const auto work = asio::make_work_guard(io);
        const auto end = steady_clock::now() + default_limit;
        while (told.size() < times && steady_clock::now() < end)
            io.run_one_until(end);
        return told.size() == times;
    }
};

/// For the child: it asks in the same context, with all the threads that it may have. They are its own, since it waits
/// for them here. The parent's KDC is left alone, since threads wait there that the child does not have.
bool asks_by_own_threads(asker& child)
{
    const auto of_parent = std::exchange(child.kdc, std::make_shared<silent_kdc>());
    child.told.clear();
    for (std::size_t i = 0; i < kdc_calls::at_once; ++i)
        (void)child.ask();
    const bool all_ask = child.kdc->was_asked(kdc_calls::at_once);
    child.kdc->answer();
    const bool told = child.is_told(kdc_calls::at_once);
    child.kdc = of_parent;
    return all_ask && told && child.told == std::vector<std::string>(kdc_calls::at_once, "answered");
}

} // namespace

TEST_CASE("calls of a KDC: so many at once, and the others in their turn, if they are still wanted")
{
    asker one;
    for (std::size_t i = 0; i < kdc_calls::at_once; ++i)
        (void)one.ask();
    one.kdc->await_asked(kdc_calls::at_once);
    std::vector<std::shared_ptr<question>> waiting;
    for (int i = 0; i < 32; ++i)
        waiting.push_back(one.ask());
    for (std::size_t i = 0; i < 10; ++i)
        waiting[i]->forget();
    CHECK(one.kdc->asked() == kdc_calls::at_once);
    one.kdc->answer();
    REQUIRE(one.is_told(kdc_calls::at_once + 22));
    CHECK(one.kdc->asked() == kdc_calls::at_once + 22);
    CHECK(one.kdc->most_at_once() <= kdc_calls::at_once);
    CHECK(std::ranges::count(one.told, "answered") == static_cast<std::ptrdiff_t>(one.told.size()));
    wait_until("nothing of the calls is kept", default_limit, [&] { return one.kept.use_count() == 1; });
}

TEST_CASE("calls of a KDC: the context's end does not wait, and lets go of all that belongs to it")
{
    const auto kdc = std::make_shared<silent_kdc>();
    std::weak_ptr<int> kept;
    {
        asker one;
        kept = one.kept;
        const auto asked = std::make_shared<question>(kdc);
        asio::use_service<kdc_calls>(one.io).begin(asked, [&one, kept = one.kept](const char*) { one.told.clear(); });
        asio::use_service<kdc_calls>(one.io).begin(std::make_shared<question>(kdc), [kept = one.kept](const char*) {});
        kdc->await_asked(2);
    }
    CHECK(kept.expired());
    CHECK(kdc->asked() == 2);
    kdc->answer(); // and nobody is told
    kdc->await_none();
}

TEST_CASE("calls of a KDC: a fork does not wait; the parent is told later; the child is told at once that it is not, "
          "and asks "
          "by threads of its own")
{
    asker one;
    (void)one.ask();
    one.kdc->await_asked(1);
    one.io.notify_fork(asio::execution_context::fork_prepare);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        one.io.notify_fork(asio::execution_context::fork_child);
        const bool told = one.is_told(1);
        if (!told || one.told.front() != "the process was forked off while a KDC was being asked")
            ::_exit(1);
        ::_exit(asks_by_own_threads(one) ? 0 : 2);
    }
    one.io.notify_fork(asio::execution_context::fork_parent);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(one.told.empty());
    one.kdc->answer();
    REQUIRE(one.is_told(1));
    CHECK(one.told.front() == "answered");
}

TEST_CASE("calls of a KDC: a child that is forked off by surprise has threads of its own")
{
    asker one;
    (void)one.ask();
    one.kdc->await_asked(1);
    const pid_t child = ::fork();
    if (child == 0) {
        asker own;
        own.kdc->answer();
        (void)own.ask();
        ::_exit(own.is_told(1) && own.told == std::vector<std::string>{"answered"} ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    one.kdc->answer();
    REQUIRE(one.is_told(1));
}
