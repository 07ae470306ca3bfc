#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/session/session.hpp"
#include "store/scheduler.hpp"
#include "store/unique_function.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

/// One acquire of several locks of any recipes: all of them, or none.
///
/// They are taken one after the other in the order of their paths, whatever order they were given in, so that two who
/// want overlapping sets never wait for each other in a circle. One deadline covers all. When one fails, those that are
/// held are given back in reverse, and that error is the result. A lock that is lost while others are waited for makes
/// it begin anew, as a waiter does whose session expired; a mere look fails with `errc::lost`.
///
/// The lock is held while all are; it is lost with the first that is.
class multi_acquisition final : public told_acquisition, public std::enable_shared_from_this<multi_acquisition> {
public:
    struct member {
        std::string path;
        acquire_function acquire;
    };

    /// It fails with `errc::invalid_option` if there are no members, or two of the same path, which would wait for each
    /// other.
    [[nodiscard]] static std::shared_ptr<acquisition> start(session&, std::vector<member>, acquire_call);

    multi_acquisition(session&, std::vector<member>, acquire_call); ///< for start()

    bool withdraw() override;
    /// Releases all members in reverse, whatever becomes of each. `released` is called when all have ended: with
    /// `errc::lost` if any was lost, else with the first error.
    void release(store::unique_function<void(error_code)> released) override;
    [[nodiscard]] known_wait describe_wait() override;
    [[nodiscard]] bool refused_for_others() const noexcept override { return refused_for_others_; }
    void note_unseen() noexcept override
    {
        for (const member_state& m : members_)
            m.now->note_unseen();
    }
    /// `asked` is called when the holder of any of them is asked.
    void on_revoked(std::function<void()> asked) override;
    [[nodiscard]] bool stands_on(const grant& given) const noexcept override;
    [[nodiscard]] std::vector<std::string> nodes_of(const grant& given) const override;
    [[nodiscard]] const std::string& path() const noexcept override;
    [[nodiscard]] bool held(store::scheduler::time_point now) const noexcept override;
    /// The loss of the first member that is lost, in the order of the paths.
    [[nodiscard]] std::optional<lock_loss> loss(store::scheduler::time_point now) const noexcept override;
    [[nodiscard]] store::scheduler::time_point held_until() const noexcept override;

private:
    /// A member, the acquire of it that waits or holds (null if none does), and what that was granted.
    struct member_state {
        member what;
        std::shared_ptr<acquisition> now{};
        grant given{};
    };

    void next(); ///< asks for the next member
    void on_done(member_state&, error_code, grant);
    void member_lost();
    void begin_anew();
    void finish(); ///< all are granted
    void fail(error_code);
    bool leave();
    void roll_back();
    [[nodiscard]] bool all_held(store::scheduler::time_point now) const noexcept;

    /// How the releases of all end.
    struct endings {
        std::size_t due;
        error_code first;
        store::unique_function<void(error_code)> released;
    };

    session& session_;
    std::vector<member_state> members_;
    std::size_t reached_ = 0; ///< how many members have been asked for
    kept_report waited_for_;
    bool refused_for_others_ = false;
    // When the end of the wait for a member was on its way, this came; it is heeded with that end.
    bool left_while_ending_ = false;   ///< its caller has left
    bool lost_while_ending_ = false;   ///< a member that it held was lost
    std::atomic<bool> granted_{false}; ///< and not released
};

} // namespace zklock::recipes
