#include "recipes/contender_list.hpp"

#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/error_mapping.hpp"
#include "recipes/semaphore_layout.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace zklock::recipes {

using store::outcome;

namespace {

bool numbered_before(const contender& a, const contender& b)
{
    return std::tie(a.sequence, a.node) < std::tie(b.sequence, b.node);
}

std::optional<queue::contender_name> any_child(std::string_view name) noexcept
{
    return queue::contender_name{lease_sequence(name), queue::contender_kind::mutex};
}

/// kazoo's leases have no numbers: of those, their age tells the order.
bool lease_before(const contender& a, const contender& b)
{
    return std::tie(a.sequence, a.created, a.node) < std::tie(b.sequence, b.created, b.node);
}

std::vector<std::string> all_children(const std::vector<std::string>& children)
{
    return children;
}

} // namespace

constinit const listed listed::queue{queue::parse_name, numbered_before, queue::holders_of};
constinit const listed listed::leases{any_child, lease_before, all_children};

contender_list::contender_list(session_core& core, std::string path, std::function<void(const std::string&)> gone,
                               done f, listed what)
    : request_of_several(core, if_lost::asked_again, std::move(f)), path_(std::move(path)), gone_(std::move(gone)),
      what_(what)
{
}

void contender_list::send()
{
    found_.clear();
    core_.store.children(path_, false, answered([this](const store::children_reply& answer) {
        switch (answer.result) {
        case outcome::ok: return list(*answer.names);
        case outcome::no_node: return finish();
        default: return fail(error_of(answer.result));
        }
    }));
}

void contender_list::list(const std::vector<std::string>& names)
{
    if (ended())
        return;
    for (const std::string& name : names) {
        const auto parsed = what_.read(name);
        if (!parsed)
            continue;
        const std::string node = queue::child_of(path_, name);
        core_.store.get(node, false, one_answered([this, node, n = *parsed](const store::get_reply& answer) {
            if (answer.result == outcome::ok) {
                contender& c = found_.emplace_back();
                c.node = node;
                c.sequence = n.sequence;
                c.shared = queue::is_shared(n.kind);
                c.session_id = answer.stat.ephemeral_owner;
                c.ours = c.session_id == core_.session_id;
                queue::owner_data owner = queue::read_owner_data(answer.data);
                c.identifier = std::move(owner.identifier);
                c.properties = std::move(owner.more);
                c.revoked = owner.revoked;
                c.created = answer.stat.created;
            } else if (answer.result == outcome::no_node) {
                gone_(node);
            } else {
                fail(error_of(answer.result));
            }
        }));
    }
    finish_if_answered();
}

void contender_list::finish()
{
    std::sort(found_.begin(), found_.end(), what_.before);
    end({}, std::move(found_));
}

} // namespace zklock::recipes
