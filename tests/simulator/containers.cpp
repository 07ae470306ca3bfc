#include "containers.hpp"

#include <utility>

namespace zklock::simulator {

container_checker::container_checker(world& w, ensemble& e, const plan& p, client_of f)
    : world_(w), ensemble_(e), client_of_(std::move(f)), calm_(is_calm(p) && !p.set.may_run_short())
{
    e.on_written.push_back([this](const transaction& t, const znode_tree::effect& effect) { written(t, effect); });
}

void container_checker::written(const transaction& t, const znode_tree::effect& e)
{
    using kind = transaction::kind;
    if (e.result != store::outcome::ok) { // a refused batch is sent again, but for one part
        if (t.what != kind::batch) return refused(t);
        if (e.failed < t.parts.size()) refused(t.parts[e.failed]);
        return;
    }
    const auto see = [this](const transaction& part) {
        if (part.what == kind::create && part.node == store::node_kind::container) created(part);
        if (part.what == kind::remove || part.what == kind::remove_idle_container) removed(part);
    };
    see(t);
    for (auto part : t.parts) {
        part.session = t.session;
        see(part);
    }
}

void container_checker::created(const transaction& t) { made_[t.path] = container{client_of_(t.session), false}; }

void container_checker::removed(const transaction& t)
{
    const auto found = made_.find(t.path);
    if (found == made_.end()) return;
    const auto* const maker = found->second.maker;
    made_.erase(found);
    if (t.session == transaction::administrator || !calm_) return;
    if (client_of_(t.session) != maker) world_.violate("a client deleted a container that it had not made: " + t.path);
}

void container_checker::refused(const transaction& t)
{
    if (t.what != transaction::kind::remove) return;
    for (std::string path = t.path; !path.empty(); path.resize(path.rfind('/'))) {
        if (const auto found = made_.find(path); found != made_.end()) found->second.kept = true;
    }
}

std::vector<std::string> container_checker::left_by(const void* client) const
{
    std::vector<std::string> left;
    for (const auto& [path, c] : made_) {
        const auto* const node = ensemble_.leaders_tree().find(path);
        if (c.maker == client && !c.kept && node != nullptr && node->children == 0) left.push_back(path);
    }
    return left;
}

} // namespace zklock::simulator
