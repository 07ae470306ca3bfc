#pragma once
#include "adapter/client/agreed_options.hpp"
#include "adapter/client/client_core.hpp"
#include "adapter/locks/last_timeout.hpp"
#include "adapter/locks/live_holds.hpp"
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/locks/lock_contender.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/semaphore/semaphore_acquisition.hpp"
#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/option_faults.hpp"
#include "zklock/errc.hpp"

#include <memory>
#include <string>
#include <utility>

namespace zklock::detail {

/// Has the locks of one client on one path agree about its options. While somebody uses the path, the recipes refuse
/// an acquire that comes with others. Here it is refused, in the same way, while the path is at rest as well, as long
/// as a lock lives that was acquired, or waited for, with its own.
///
/// Each lock has one of these. It is for the strand, but is destroyed on any thread. `Refused` is the acquisition that
/// a refused acquire has.
template <class Options, class Refused> class admission {
public:
    admission& operator=(admission&&) = delete;

    /// Starts an acquire of the lock by `start`; or has it refused, if other locks are in the way of `wanted()`, the
    /// options of its path. Nothing is looked up once an acquire was not refused.
    template <class Request, class Wanted, class Start>
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core, agreed_options<Options>& agreed,
                                                                Request&& request, Wanted wanted, Start start)
    {
        if (*own_)
            return start(std::forward<Request>(request));
        const Options options = wanted();
        claim there = agreed.claim_path(request.path, options);
        if (*there != options) {
            auto why = core.session.why_unusable(request.path, false);
            if (!why)
                why = report_fault(core.session, request.path, contradiction(*there, options));
            return recipes::refuse<Refused>(core.session, core.locks.new_id(), std::forward<Request>(request), *why);
        }
        request.done = [own = kept_claim(own_, std::move(there)),
                        done = std::move(request.done)](error_code ec, recipes::grant given) mutable {
            if (kept_claim ended = std::move(own); ec == errc::invalid_option || ec == errc::invalid_path)
                ended.path = nullptr;
            done(ec, std::move(given));
        };
        return start(std::forward<Request>(request));
    }

private:
    using claim = typename agreed_options<Options>::claim;

    /// A claim that the lock keeps when this goes: the wait of an acquire has ended, or it was withdrawn.
    struct kept_claim {
        kept_claim(std::shared_ptr<claim> k, claim p) noexcept : keeper(std::move(k)), path(std::move(p)) {}
        kept_claim(kept_claim&&) noexcept = default;
        ~kept_claim()
        {
            if (keeper && path)
                *keeper = std::move(path);
        }

        std::shared_ptr<claim> keeper;
        claim path; ///< null if it was refused
    };

    const std::shared_ptr<claim> own_ = std::make_shared<claim>(); ///< null in it: not yet
};

using lock_admission = admission<recipes::path_options, recipes::lock_contender>;
using semaphore_admission = admission<recipes::semaphore_path_options, recipes::semaphore_acquisition>;

/// What all share that acquire one lock with the same options.
template <class Options, class Admission> struct lock_settings {
    lock_settings(std::string p, Options o) : path(std::move(p)), options(std::move(o)) {}

    std::string path;
    Options options;
    mutable last_timeout timeouts;
    mutable live_holds live;
    mutable Admission admission;
};

} // namespace zklock::detail
