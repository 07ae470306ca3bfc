#include "recipes/composed/reentrant_locks.hpp"

#include "recipes/composed/reentrant_tenure.hpp"
#include "recipes/session/option_faults.hpp"
#include "zklock/errc.hpp"

#include <optional>
#include <utility>

namespace zklock::recipes {

reentrant_locks::reentrant_locks(locks& l, store::scheduler& scheduler, std::shared_ptr<hold_counts> counts)
    : locks_(l), scheduler_(scheduler), counts_(std::move(counts))
{
}

reentrant_locks::~reentrant_locks()
{
    for (const auto& [who, ended] : tenures_)
        ended->detach();
}

std::shared_ptr<acquisition> reentrant_locks::acquire(owner_id owner, std::string path, shared_options options,
                                                      acquire_call call, queue::contender_kind kind)
{
    const key who{std::move(path), owner};
    std::shared_ptr<tenure> own;
    if (const auto found = tenures_.find(who); found != tenures_.end())
        own = found->second;
    const bool shared = kind != queue::contender_kind::mutex;
    std::optional<option_fault> fault;
    if (own) {
        const shared_options& before = own->options();
        fault = contradiction_in_names(before->names, before->rules, options->names, options->rules,
                                       ", as in the acquire before");
        if (!fault && own->shared() != shared)
            fault = contradiction(path_options(before, own->kind()), path_options(options, kind));
    }
    if (fault) {
        report_fault(locks_.session(), who.first, *fault);
        const auto refused = std::make_shared<hold>(locks_.session(), nullptr, std::move(call), kind);
        locks_.session().news().tell(refused, [](hold& h) { h.end_wait(make_error_code(errc::invalid_option), {}); });
        return refused;
    }
    if (!own)
        own = std::make_shared<tenure>(*this, who, std::move(options), shared);
    const auto entered = std::make_shared<hold>(locks_.session(), own, std::move(call), kind);
    tenures_.emplace(who, own);
    own->add(entered);
    return entered;
}

} // namespace zklock::recipes
