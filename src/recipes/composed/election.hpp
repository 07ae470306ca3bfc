#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/session/session.hpp"
#include "store/scheduler.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// One who stands for election, term after term until he resigns: whether he has, and how he is asked to stop leading.
class candidate {
public:
    /// Whether he has resigned. May be called from any thread.
    [[nodiscard]] bool resigned() const noexcept { return resigned_; }
    /// Calls `stop` when the candidate resigns; at once if he has. It replaces what was to be called before.
    void at_resignation(std::function<void()> stop)
    {
        stop_ = std::move(stop);
        if (resigned_)
            ask_to_stop();
    }

private:
    friend class election;
    void ask_to_stop()
    {
        if (stop_)
            std::exchange(stop_, nullptr)();
    }

    std::atomic<bool> resigned_{false};
    std::function<void()> stop_;
};

/// What one participant of an election does: he leads while he holds the lock of its path. It keeps who stands and who
/// leads, of this participant alone. Everything is called on the client's strand.
class election : public std::enable_shared_from_this<election> {
public:
    using wait_id = std::uint64_t;

    /// Stands for one term: an acquire, whose grant is the leadership.
    /// It fails with `operation_canceled` (of the system category) once the candidate has resigned.
    [[nodiscard]] std::shared_ptr<acquisition> stand(session&, std::shared_ptr<candidate>, const acquire_function&,
                                                     acquire_call);

    /// All who stand resign: those who wait end at once, those who lead are asked to stop. `out` is called later, when
    /// none of them leads any more.
    void resign(session&, std::function<void()> out);

    [[nodiscard]] bool leads(store::scheduler::time_point now) const noexcept;

    /// Calls `f` with true when this participant leads, or with false when it resigns; never inside this call.
    wait_id wait_for_leadership(session&, std::function<void(bool)> f);
    void remove(wait_id id) { waits_.erase(id); }

private:
    class term;
    /// One call of resign() that is not done.
    struct resignation {
        std::vector<std::weak_ptr<term>> due; ///< who has to end first
        std::function<void()> out;
    };

    void ended(const term&);
    void tell_waits(bool leads);

    std::vector<std::weak_ptr<candidate>> candidates_;
    std::vector<std::weak_ptr<term>> terms_; ///< waiting or leading
    std::map<wait_id, std::function<void(bool)>> waits_;
    wait_id last_wait_ = 0;
    std::list<resignation> resignations_;
};

} // namespace zklock::recipes
