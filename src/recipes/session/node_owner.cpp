#include "recipes/session/node_owner.hpp"

#include "queue/owner_data.hpp"
#include "recipes/session/session.hpp"

#include <utility>

namespace zklock::recipes {

contender contender_by_name(std::string node, const std::optional<queue::contender_name>& name)
{
    contender c;
    c.node = std::move(node);
    if (name) {
        c.sequence = name->sequence;
        c.shared = queue::is_shared(name->kind);
    }
    return c;
}

contender contender_as_read(const session& reader, std::string node, std::optional<queue::contender_name> name,
                            const store::get_reply& answer)
{
    contender c = contender_by_name(std::move(node), name);
    c.session_id = answer.stat.ephemeral_owner;
    c.ours = c.session_id == reader.id();
    queue::owner_data owner = queue::read_owner_data(answer.data);
    c.identifier = std::move(owner.identifier);
    c.properties = std::move(owner.more);
    c.revoked = owner.revoked;
    c.created = answer.stat.created;
    return c;
}

} // namespace zklock::recipes
