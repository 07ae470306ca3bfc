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
    : request_for(core, if_lost::asked_again, std::move(f)), what_(listed::queue), looked_(true)
{
    nodes_.push_back(std::move(node));
}

revocation::revocation(session_core& core, std::string path, listed what, done f)
    : request_for(core, if_lost::asked_again, std::move(f)), path_(std::move(path)), what_(what), looked_(false)
{
}

void revocation::send()
{
    if (looked_)
        ask();
    else
        look();
}

void revocation::look()
{
    core_.store.children(path_, false, answered([this](const store::children_reply& answer) {
        if (ended())
            return;
        if (answer.result != outcome::ok && answer.result != outcome::no_node)
            return fail(error_of(answer.result));
        looked_ = true;
        if (answer.result == outcome::ok) {
            for (const std::string& name : what_.holders(*answer.names))
                nodes_.push_back(queue::child_of(path_, name));
        }
        ask();
    }));
}

void revocation::ask()
{
    asked_ = 0;
    cut_ = false;
    answers_due_ = nodes_.size();
    if (nodes_.empty())
        return end({}, 0);
    for (const std::string& node : nodes_)
        ask(node);
}

void revocation::ask(const std::string& node)
{
    core_.store.set(node, queue::revocation_request, store::any_version,
                    [this, self = shared_from_this(), node](const store::stat_reply& answer) {
                        if (answer.result == outcome::ok)
                            ++asked_;
                        else if (answer.result == outcome::unknown)
                            cut_ = true;
                        else if (answer.result != outcome::no_node)
                            fail(error_of(answer.result));
                        else if (const std::string next = reader_after(node); !next.empty() && !ended())
                            return ask(next);
                        if (--answers_due_ != 0 || ended())
                            return;
                        if (cut_)
                            lose_answer();
                        else
                            end({}, asked_);
                    });
}

} // namespace zklock::recipes
