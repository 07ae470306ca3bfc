#include "containers.hpp"

namespace zklock::simulator {

container_checker::container_checker(world& w, ensemble& e, const plan& p, client_of f)
    : world_(w), ensemble_(e), client_of_(std::move(f)), scarce_(p.set.may_run_short())
{
    e.on_written.push_back([this](const transaction& t, const znode_tree::effect& effect) { written(t, effect); });
}

void container_checker::written(const transaction& t, const znode_tree::effect& e)
{
    using kind = transaction::kind;
    if (e.result != store::outcome::ok) { // a refused batch is sent again, but for one part
        if (t.what != kind::batch)
            return refused(t);
        if (e.failed < t.parts.size())
            refused(t.parts[e.failed]);
        return;
    }
    const auto see = [this](const transaction& part) {
        if (part.what == kind::create)
            created(part);
        if (part.what == kind::set_data)
            written_into(part);
        if (part.what == kind::remove || part.what == kind::remove_idle_container)
            removed(part);
    };
    see(t);
    for (auto part : t.parts) {
        part.session = t.session;
        part.zxid = t.zxid;
        see(part);
    }
}

void container_checker::created(const transaction& t)
{
    const bool container = t.node == store::node_kind::container;
    if (!container && t.node != store::node_kind::persistent)
        return;
    const auto maker = client_of_(t.session);
    nodes_[t.path] = {maker, container, false, t.zxid, t.zxid};
    writers_[t.zxid] = maker;
}

void container_checker::written_into(const transaction& t)
{
    writers_[t.zxid] = client_of_(t.session);
    if (const auto found = nodes_.find(t.path); found != nodes_.end())
        found->second.mzxid = t.zxid;
}

void container_checker::removed(const transaction& t)
{
    const auto found = nodes_.find(t.path);
    if (found == nodes_.end())
        return;
    const node gone = found->second;
    nodes_.erase(found);
    const auto client = client_of_(t.session);
    if (t.what == transaction::kind::remove_idle_container || client == nullptr || scarce_)
        return;
    const auto look = looks_.find({client, t.path});
    const bool believed =
        look != looks_.end() && (is_own(client, look->second) || may_be_own(client, t.path, look->second));
    if (!believed)
        world_.violate("a client deleted what it had not made, or others had written into: " + t.path);
    else if (look->second.num_children != 0)
        world_.violate("a client deleted a container that it had seen in use: " + t.path);
    else if (look->second.czxid == gone.czxid && look->second.mzxid != gone.mzxid)
        world_.violate("a client deleted a container that somebody has written into since it looked: " + t.path);
}

void container_checker::refused(const transaction& t)
{
    if (t.what == transaction::kind::remove)
        keep(t.path);
}

void container_checker::keep(std::string path)
{
    for (; !path.empty(); path.resize(path.rfind('/'))) {
        if (const auto found = nodes_.find(path); found != nodes_.end())
            found->second.kept = true;
    }
}

bool container_checker::is_own(client c, const store::node_stat& stat) const
{
    const auto is_writer = [&](std::int64_t zxid) {
        const auto found = writers_.find(zxid);
        return found != writers_.end() && found->second == c;
    };
    return is_writer(stat.czxid) && is_writer(stat.mzxid);
}

bool container_checker::may_be_own(client c, const std::string& path, const store::node_stat& stat)
{
    return c->found_first(path, stat.czxid) && is_unused(stat);
}

bool container_checker::is_unused(const store::node_stat& stat)
{
    return stat.cversion == 0 && stat.version == 0 && stat.data_length == 0;
}

void container_checker::looked(const simulated_store& client, const std::string& path, const store::node_stat* shown)
{
    if (shown == nullptr)
        return keep(path);
    const store::node_stat& stat = *shown;
    if (stat.ephemeral_owner != 0)
        return;
    looks_[{&client, path}] = stat;
    const bool may_go = is_own(&client, stat) && !client.in_doubt(path);
    const bool may_be = may_be_own(&client, path, stat) || (client.never_looked(path) && is_unused(stat));
    if (stat.num_children != 0 || (!may_go && !may_be))
        keep(path);
}

std::vector<std::string> container_checker::left_by(const simulated_store& client) const
{
    std::vector<std::string> left;
    for (const auto& [path, n] : nodes_) {
        const auto* const here = ensemble_.leaders_tree().find(path);
        if (!n.container || n.maker != &client || n.kept || here == nullptr || here->children != 0)
            continue;
        const auto stat = znode_tree::stat(*here);
        const bool neglected = client.never_looked(path) && is_unused(stat);
        if (client.in_doubt(path) ? neglected || may_be_own(&client, path, stat) : is_own(&client, stat))
            left.push_back(path);
    }
    return left;
}

} // namespace zklock::simulator
