#pragma once
#include "zklock/errc.hpp"

#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace zklock::runtime {

/// The turns of a client's strand. A turn is what runs there in one go for one cause: what came from the socket, a
/// timer, operations that begin. At its end its finishers do what the turn has left to them: the scheduler runs what
/// was posted, other clients are told what is still to be told, then the connection sends what was held back, and
/// posts the delivery of answers that are left. So nothing of it needs a pass through the execution context.
///
/// A turn is also the boundary of what is thrown: memory has failed, say. Nobody inside puts anything right that an
/// exception has left half done. The client fails as a whole, its owner is told, and there are no more turns.
///
/// Everything is called on the strand. A turn within a turn belongs to it.
class turns {
public:
    class finisher {
    public:
        virtual void turn_ends() = 0;

    protected:
        ~finisher() = default;
    };

    class owner {
    public:
        /// An exception has left a turn, and nothing that the turn has called is on the stack any more. `why`:
        /// `not_enough_memory`; or `errc::closed`, where it is another. `words`: what it says of itself.
        virtual void turn_failed(const boost::system::error_code& why, std::string_view words) noexcept = 0;

    protected:
        ~owner() = default;
    };

    /// They finish in this order, one of each kind. What the end of one brings up for an earlier one has to be posted.
    enum class kind { scheduler, peers, store, client };
    /// In place of the one before of that kind, which has to be done with turns.
    void add(kind of, std::weak_ptr<finisher> one) { finishers_[static_cast<std::size_t>(of)] = std::move(one); }
    /// Whom it tells that a turn has failed. Without an owner, every exception is passed on to who runs the turn.
    void belong_to(std::weak_ptr<owner> who) { owner_ = std::move(who); }

    [[nodiscard]] bool open() const noexcept { return open_; }

    /// Runs `f` in a turn; or does nothing, after one that has failed. The caller keeps this object alive, and does
    /// nothing after it that needs the client. A lack of memory ends here, anything else is passed on.
    template <class F> void run(F&& f)
    {
        if (open_)
            return f(); // what it throws is the outer turn's
        if (failed_)
            return;
        open_ = true;
        try {
            f();
            for (const auto& each : finishers_)
                if (const auto present = each.lock())
                    present->turn_ends();
        } catch (const std::bad_alloc&) {
            if (!fail())
                throw;
        } catch (...) {
            fail();
            throw;
        }
        open_ = false;
    }

    /// Tells an owner what that exception is.
    static void tell(owner& who, const std::exception_ptr& thrown) noexcept
    {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::bad_alloc&) {
            who.turn_failed(make_error_code(boost::system::errc::not_enough_memory), "there is no memory");
        } catch (const std::exception& e) {
            who.turn_failed(make_error_code(errc::closed), e.what());
        } catch (...) {
            who.turn_failed(make_error_code(errc::closed), "something is thrown that is no std::exception");
        }
    }

private:
    /// With what is being caught. False if there is nobody to tell.
    bool fail() noexcept
    {
        open_ = false;
        failed_ = true;
        const auto who = owner_.lock();
        if (who)
            tell(*who, std::current_exception());
        return who != nullptr;
    }

    std::array<std::weak_ptr<finisher>, static_cast<std::size_t>(kind::client) + 1> finishers_; ///< by their kinds
    std::weak_ptr<owner> owner_;
    bool open_ = false;
    bool failed_ = false;
};

} // namespace zklock::runtime
