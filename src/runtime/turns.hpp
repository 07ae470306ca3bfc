#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace zklock::runtime {

/// The turns of a client's strand. A turn is what runs there in one go for one cause: what came from the socket, a
/// timer, operations that begin. At its end its finishers do what the turn has left to them: the scheduler runs what
/// was posted, other clients are told what is still to be told, then the connection sends what was held back, and
/// posts the delivery of answers that are left. So nothing of it needs a pass through the execution context.
///
/// Everything is called on the strand. A turn within a turn belongs to it.
class turns {
public:
    class finisher {
    public:
        virtual void turn_ends() = 0;
        /// An exception leaves the turn, or its end: what is left to do is to be posted.
        virtual void turn_failed() = 0;

    protected:
        ~finisher() = default;
    };

    /// They finish in this order, and those of one kind in the order in which they were added. What the end of one
    /// brings up for an earlier one has to be posted.
    enum class kind { scheduler, peers, store, client };
    void add(kind of, std::weak_ptr<finisher> last)
    {
        finishers_.insert(std::ranges::upper_bound(finishers_, of, {}, &entry::of), {of, std::move(last)});
    }

    [[nodiscard]] bool open() const noexcept { return open_; }

    /// Runs `f` in a turn. The caller keeps this object alive.
    template <class F> void run(F&& f)
    {
        if (open_) {
            f();
            return;
        }
        open_ = true;
        try {
            f();
            for (const auto& each : finishers_)
                if (const auto present = each.what.lock())
                    present->turn_ends();
        } catch (...) {
            open_ = false;
            for (const auto& each : finishers_)
                if (const auto present = each.what.lock())
                    try {
                        present->turn_failed();
                    } catch (...) { // NOLINT: what is left is done at the end of the next turn
                    }
            throw;
        }
        open_ = false;
    }

private:
    struct entry {
        kind of;
        std::weak_ptr<finisher> what;
    };

    std::vector<entry> finishers_;
    bool open_ = false;
};

} // namespace zklock::runtime
