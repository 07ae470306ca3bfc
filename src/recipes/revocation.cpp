#include "recipes/revocation.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/error_mapping.hpp"

#include <utility>

namespace zklock::recipes {

using store::outcome;

namespace {

/// Who is gone has let go; but a writer may hold on as a reader, by that node. Empty if it is no writer's.
std::string reader_after(const std::string& node)
{
    const auto name = queue::parse_name(queue::name_of(node));
    if (!name || name->kind != queue::contender_kind::writer)
        return {};
    return queue::child_of(queue::parent_of(node), queue::reader_name(queue::name_of(node)));
}

} // namespace

revocation::revocation(session_core& core, std::string node, done f)
    : request_of_several(core, if_lost::asked_again, std::move(f)), nodes_{std::move(node)}
{
}

revocation::revocation(session_core& core, std::string path, listed what, done f)
    : request_of_several(core, if_lost::asked_again, std::move(f)), unseen_(holders{std::move(path), what})
{
}

void revocation::send()
{
    if (unseen_)
        look();
    else
        ask();
}

void revocation::look()
{
    core_.store.children(unseen_->path, false, answered([this](const store::children_reply& answer) {
        if (ended())
            return;
        if (answer.result != outcome::ok && answer.result != outcome::no_node)
            return fail(error_of(answer.result));
        if (answer.result == outcome::ok) {
            for (const std::string& name : unseen_->what.holders(*answer.names))
                nodes_.push_back(queue::child_of(unseen_->path, name));
        }
        unseen_.reset();
        ask();
    }));
}

void revocation::ask()
{
    asked_ = 0;
    for (const std::string& node : nodes_)
        ask(node);
    finish_if_answered();
}

void revocation::ask(const std::string& node)
{
    core_.store.set(node, queue::revocation_request, store::any_version,
                    one_answered([this, node](const store::stat_reply& answer) {
                        if (answer.result == outcome::ok)
                            ++asked_;
                        else if (answer.result != outcome::no_node)
                            fail(error_of(answer.result));
                        else if (const std::string next = reader_after(node); !next.empty() && !ended())
                            ask(next);
                    }));
}

void revocation::finish()
{
    end({}, asked_);
}

} // namespace zklock::recipes
