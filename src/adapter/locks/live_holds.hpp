#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "runtime/forks.hpp"
#include "store/process_mutex.hpp"

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace zklock::detail {

class live_holds;
class lock_target;

/// What one acquire takes of a lock.
struct lock_share {
    bool shared = false;     ///< other readers may hold it, too
    std::size_t permits = 1; ///< of a semaphore
};

/// Its destructor leaves the list alone: in a process that was forked off nobody can take anything out of that.
using place_among_holds = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;

/// The place of a hold among those of its lock, for callers that ask what is held. To enter takes no memory. All
/// functions are for one thread at a time.
class live_hold : public place_among_holds {
public:
    ~live_hold() { leave(); }
    live_hold& operator=(live_hold&&) = delete;

    /// It counts from now on, while `what` is held, which has to live until leave(). The lock has the list, and is kept
    /// until then. Nothing happens if it has none.
    void enter(std::shared_ptr<const lock_target> lock, const recipes::acquisition& what, lock_share) noexcept;
    /// Other readers may hold the lock from now on, too; or the servers have refused that, and none may.
    void set_shared(bool) noexcept;
    /// So many of its permits were given back.
    void give_back(std::size_t permits) noexcept;
    /// So many of its permits are held by `part` from now on; `what` says whether they are.
    void split_off(live_hold& part, const recipes::acquisition& what, std::size_t permits) noexcept;
    /// It counts no more. Nothing happens if it does not, nor in a process that was forked off since it did.
    void leave() noexcept
    {
        if (among_)
            leave_the_list();
    }

private:
    friend class live_holds;

    void leave_the_list() noexcept;

    std::shared_ptr<const lock_target> lock_;
    live_holds* among_ = nullptr;                ///< while it counts
    const recipes::acquisition* what_ = nullptr; ///< null: not a hold, but how far somebody has counted
    lock_share takes_;
};

/// What is held of one lock. Any thread may call.
class live_holds {
public:
    live_holds& operator=(live_holds&&) = delete;

    /// How many permits are held now, by readers or by others. Where there are no permits, each holder counts for one.
    /// A thread that changes what is held does not wait until many are counted; it goes first, and they are counted
    /// anew. If that happens again and again, those who come and those who go meanwhile may both be counted.
    [[nodiscard]] std::size_t held(bool shared) const noexcept;

private:
    friend class live_hold;

    /// For one change of what is held.
    class change {
    public:
        explicit change(live_holds& in) noexcept;
        ~change();
        change& operator=(change&&) = delete;

    private:
        live_holds& in_;
    };
    struct counted {
        std::size_t permits = 0;
        bool unchanged = true; ///< meanwhile
    };
    [[nodiscard]] counted count(bool shared) const noexcept;

    using list = boost::intrusive::list<live_hold, boost::intrusive::constant_time_size<false>>;
    /// Guards the list, what its members say, and the number of changes.
    mutable store::process_mutex mutex_{&runtime::fork_count};
    mutable list all_;
    std::size_t changes_ = 0;
    std::atomic<unsigned> waiting_{0}; ///< changes that are to be made
};

} // namespace zklock::detail
