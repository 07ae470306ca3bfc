#include "recipes/contender_list.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "recipes/error_mapping.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace zklock::recipes {

using store::outcome;

contender_list::contender_list(session_core& core, std::string path, std::function<void(const std::string&)> gone, done f)
    : core_(core), path_(std::move(path)), gone_(std::move(gone)), done_(std::move(f))
{
}

void contender_list::fail(errc why)
{
    if (!ended())
        core_.tell([done = std::exchange(done_, nullptr), why] { done(why, {}); });
}

bool contender_list::withdraw()
{
    return std::exchange(done_, nullptr) != nullptr;
}

void contender_list::start()
{
    found_.clear();
    cut_ = false;
    core_.store.children(path_, false, [self = shared_from_this()](const store::children_reply& answer) {
        switch (answer.result) {
        case outcome::ok: return self->list(*answer.names);
        case outcome::no_node: return self->finish();
        case outcome::unknown: return; // the session starts it again
        default: return self->fail(error_of(answer.result));
        }
    });
}

void contender_list::list(const std::vector<std::string>& names)
{
    if (ended())
        return;
    for (const std::string& name : names) {
        const auto sequence = queue::sequence_of(name);
        if (!sequence)
            continue;
        ++answers_due_;
        const std::string node = queue::child_of(path_, name);
        core_.store.get(node, false, [self = shared_from_this(), node, n = *sequence](const store::get_reply& answer) {
            if (answer.result == outcome::ok) {
                contender& c = self->found_.emplace_back();
                c.node = node;
                c.sequence = n;
                c.session_id = answer.stat.ephemeral_owner;
                c.ours = c.session_id == self->core_.session_id;
                c.identifier = answer.data.substr(0, answer.data.find('\n'));
                c.created = std::chrono::system_clock::time_point(std::chrono::milliseconds(answer.stat.ctime_ms));
            } else if (answer.result == outcome::unknown) {
                self->cut_ = true;
            } else if (answer.result == outcome::no_node) {
                self->gone_(node);
            } else {
                self->fail(error_of(answer.result));
            }
            if (--self->answers_due_ == 0)
                self->finish();
        });
    }
    if (answers_due_ == 0)
        finish();
}

void contender_list::finish()
{
    if (cut_ || ended())
        return;
    std::sort(found_.begin(), found_.end(), [](const contender& a, const contender& b) {
        return std::tie(a.sequence, a.node) < std::tie(b.sequence, b.node);
    });
    core_.tell([done = std::exchange(done_, nullptr), found = std::move(found_)] { done({}, found); });
}

} // namespace zklock::recipes
