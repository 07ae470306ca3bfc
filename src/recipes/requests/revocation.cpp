#include "recipes/requests/revocation.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/session/error_mapping.hpp"

#include <string>
#include <utility>
#include <vector>

namespace zklock::recipes {

using store::outcome;

namespace {

/// Who is gone has let go; but a writer may hold on as a reader, by that node. Empty if it is no writer's.
std::string reader_after(const std::string& node)
{
    const auto name = queue::name_rules().parse(queue::name_of(node));
    if (!name || name->kind != queue::contender_kind::writer)
        return {};
    return queue::child_of(queue::parent_of(node), queue::reader_name(queue::name_of(node)));
}

} // namespace

revocation::revocation(session& s, std::string node, done_function f)
    : request_of_several(s, if_lost::asked_again, std::move(f)), nodes_{std::move(node)}
{
    writes();
}

revocation::revocation(session& s, std::string path, list_kind what, done_function f)
    : request_of_several(s, if_lost::asked_again, std::move(f)), unseen_(holders{std::move(path), what})
{
    writes();
}

void revocation::restart()
{
    std::erase(nodes_, std::string()); // others are in their places
    next_ = 0;
    asked_ = 0;
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
    list_children(unseen_->path, [this](const std::vector<std::string>* names) {
        if (names)
            for (const std::string& name : unseen_->what.holders(*names))
                nodes_.push_back(queue::child_of(unseen_->path, name));
        unseen_.reset();
    });
}

void revocation::ask()
{
    if (next_ == nodes_.size()) // there was nobody to ask, and the connection has ended since
        return finish();
    const std::size_t which = next_;
    const auto take = [this, which](const store::stat_reply& answer) {
        if (ended())
            return;
        if (answer.result == outcome::ok) {
            ++asked_;
            session_.log(log_level::info, "has asked the holder of this node to let go: ", nodes_[which]);
        } else if (answer.result != outcome::no_node)
            fail(error_of(answer.result));
        else if (std::string reader = reader_after(nodes_[which]); !reader.empty()) {
            nodes_[which].clear();
            nodes_.push_back(std::move(reader));
        }
    };
    session_.store.set(nodes_[which], queue::revocation_request, store::any_version, one_answered(take));
    ++next_;
}

void revocation::finish()
{
    end({}, asked_);
}

} // namespace zklock::recipes
