#include "recipes/contender_list.hpp"

#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/error_mapping.hpp"

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

} // namespace

constinit const listed listed::queue{queue::parse_name, numbered_before, queue::holders_of};

contender_list::contender_list(session_core& core, std::string path, std::function<void(const std::string&)> gone, done f,
                               listed what)
    : request_for(core, if_lost::asked_again, std::move(f)), path_(std::move(path)), gone_(std::move(gone)), what_(what)
{
}

void contender_list::send()
{
    found_.clear();
    cut_ = false;
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
        ++answers_due_;
        const std::string node = queue::child_of(path_, name);
        core_.store.get(node, false, [this, self = shared_from_this(), node, n = *parsed](const store::get_reply& answer) {
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
            } else if (answer.result == outcome::unknown) {
                cut_ = true;
            } else if (answer.result == outcome::no_node) {
                gone_(node);
            } else {
                fail(error_of(answer.result));
            }
            if (--answers_due_ == 0)
                finish();
        });
    }
    if (answers_due_ == 0)
        finish();
}

void contender_list::finish()
{
    if (ended())
        return;
    if (cut_)
        return lose_answer();
    std::sort(found_.begin(), found_.end(), what_.before);
    end({}, std::move(found_));
}

} // namespace zklock::recipes
