#include "runtime/asio_scheduler.hpp"
#include "runtime/single_wait.hpp"
#include "runtime/stopped_with_owner.hpp"

#include <boost/asio/basic_waitable_timer.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace zklock::runtime {

namespace asio = boost::asio;

namespace {

using timer_type =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, strand>;

// Asio's timer stands still while the machine is suspended, and the lease clock does not: after a resume, deadlines are
// noticed within this time.
constexpr std::chrono::seconds longest_wait{1};

class own_scheduler final : public asio_scheduler,
                            public turns::finisher,
                            public std::enable_shared_from_this<own_scheduler> {
public:
    own_scheduler(const strand& s, std::shared_ptr<turns> of) : io_(std::in_place, s), turns_(std::move(of)) {}

    [[nodiscard]] time_point now() const override { return lease_clock::now(); }

    [[nodiscard]] timer_id call_at(time_point when, std::function<void()> f) override
    {
        if (!io_)
            return 0;
        const auto id = ++last_id_;
        due_.emplace(id, when);
        deadlines_.emplace(std::pair{when, id}, std::move(f));
        arm();
        return id;
    }

    void cancel(timer_id id) override
    {
        auto found = due_.find(id);
        if (found == due_.end())
            return;
        // The Asio timer is left as it is: at worst it wakes once for nothing.
        auto node = deadlines_.extract({found->second, id});
        due_.erase(found);
    }

    void post(store::unique_function<void()> f) override
    {
        if (!io_)
            return;
        posted_.push_back(std::move(f));
        if (!turns_->open())
            post_a_turn();
    }

    /// Runs what was posted before; what that posts has to wait for the executor's other work.
    void turn_ends() override
    {
        for (auto n = posted_.size(); n != 0 && !posted_.empty(); --n) {
            const auto f = std::move(posted_.front());
            posted_.pop_front();
            f();
        }
        if (!posted_.empty())
            post_a_turn();
        if (!armed_)
            arm();
    }

    void look_again() override
    {
        if (armed_) {
            armed_ = time_point::max(); // whatever is due comes before that
            arm();
        }
    }

    [[nodiscard]] time_point next() const noexcept override
    {
        return deadlines_.empty() ? time_point::max() : deadlines_.begin()->first.first;
    }

    void stop() override
    {
        io_.reset();
        due_.clear();
        // What a dropped function owns may come back here. (A new deque would take memory.)
        const auto dropped = std::exchange(deadlines_, {});
        while (!posted_.empty()) {
            const auto dropped_post = std::move(posted_.front());
            posted_.pop_front();
        }
    }

private:
    struct io_objects {
        explicit io_objects(const runtime::strand& s) : strand(s), timer(s) {}
        runtime::strand strand;
        timer_type timer;
    };

    /// Posts a turn with nothing in it, for its end.
    void post_a_turn()
    {
        if (io_)
            turn_.post(io_->strand, shared_from_this());
    }

    void arm()
    {
        if (!io_ || deadlines_.empty())
            return;
        auto first = deadlines_.begin()->first.first;
        if (armed_ && *armed_ <= first)
            return;
        if (wait_.under_way()) { // the end of the turn in which it ends arms again
            io_->timer.cancel();
            armed_ = time_point::min();
            return;
        }
        auto now = lease_clock::now();
        auto wait = std::min<lease_clock::duration>(std::max(first, now) - now, longest_wait);
        armed_.reset();
        io_->timer.expires_after(wait);
        auto ended = [self = shared_from_this()](const auto&) {
            if (self->io_)
                self->turns_->run([&] { self->run(); });
        };
        wait_.begin([&](auto handler) { io_->timer.async_wait(std::move(handler)); }, std::move(ended));
        armed_ = now + wait;
    }

    void run()
    {
        armed_.reset(); // until the end of the turn
        auto now = lease_clock::now();
        while (io_ && !deadlines_.empty() && deadlines_.begin()->first.first <= now) {
            auto node = deadlines_.extract(deadlines_.begin());
            due_.erase(node.key().second);
            node.mapped()();
        }
    }

    std::optional<io_objects> io_;
    const std::shared_ptr<turns> turns_;
    std::deque<store::unique_function<void()>> posted_;
    wake_up turn_{[this] { turns_->run([] {}); }};
    std::map<std::pair<time_point, timer_id>, std::function<void()>> deadlines_;
    std::unordered_map<timer_id, time_point> due_;
    std::optional<time_point> armed_; // when the Asio timer wakes; the beginning of time: as soon as a wait has ended
    single_wait wait_;
    timer_id last_id_ = 0;
};

} // namespace

auto asio_scheduler::make(const strand& s, const std::shared_ptr<turns>& of) -> std::shared_ptr<asio_scheduler>
{
    auto made = std::make_shared<own_scheduler>(s, of);
    of->add(turns::kind::scheduler, made);
    return stopped_with_owner(std::move(made));
}

} // namespace zklock::runtime
