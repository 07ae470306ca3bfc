#pragma once
#include "recipes/acquisition/acquisition.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <memory>
#include <mutex>

namespace zklock::detail {

class live_holds;
class lock_target;

/// What one acquire takes of a lock.
struct lock_share {
    bool shared = false;     ///< other readers may hold it, too
    std::size_t permits = 1; ///< of a semaphore
};

/// The place of a hold among those of its lock, for whoever asks what is held. To enter takes no memory. All functions
/// are for one thread at a time.
class live_hold : public boost::intrusive::list_base_hook<> {
public:
    live_hold() noexcept = default;
    ~live_hold() { leave(); }
    live_hold(const live_hold&) = delete;
    live_hold& operator=(const live_hold&) = delete;

    /// It counts from now on, while `what` is held, which has to live until leave(). The lock has the list, and is kept
    /// until then. Nothing happens if it has none.
    void enter(std::shared_ptr<const lock_target> lock, const recipes::acquisition& what, lock_share) noexcept;
    /// Other readers may hold the lock from now on, too; or the servers have refused that, and none may.
    void set_shared(bool) noexcept;
    /// So many of its permits were given back.
    void give_back(std::size_t permits) noexcept;
    /// So many of its permits are held by `part` from now on; `what` says whether they are.
    void split_off(live_hold& part, const recipes::acquisition& what, std::size_t permits) noexcept;
    /// It counts no more. Nothing happens if it does not.
    void leave() noexcept;

private:
    friend class live_holds;

    std::shared_ptr<const lock_target> lock_;
    live_holds* among_ = nullptr; ///< while it counts
    const recipes::acquisition* what_ = nullptr;
    lock_share takes_;
};

/// What is held of one lock. From any thread.
class live_holds {
public:
    live_holds() = default;
    live_holds(const live_holds&) = delete;
    live_holds& operator=(const live_holds&) = delete;

    /// How many permits are held now, by readers or by others. Where there are no permits, each holder counts for one.
    [[nodiscard]] std::size_t held(bool shared) const noexcept;

private:
    friend class live_hold;

    mutable std::mutex mutex_; // guards the list, and what its members say
    boost::intrusive::list<live_hold, boost::intrusive::constant_time_size<false>> all_;
};

} // namespace zklock::detail
