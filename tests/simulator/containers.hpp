#pragma once
#include "plan.hpp"
#include "simulated_store.hpp"

namespace zklock::simulator {

/// That each client deletes the containers that it made itself when nobody uses them any more, and no node that others
/// have made, or written into. It may be wrong about that in two cases, which zklock documents: others have put a node
/// in the place of its own since it looked; or the answer to its own create was lost, and they have made one, that
/// nobody has used, before it looked over the next connection.
class container_checker {
public:
    /// A client as long as its process lives: null for a session of somebody else.
    using client = const simulated_store*;
    using client_of = std::function<client(std::int64_t session)>;

    container_checker(world& w, ensemble& e, const plan& p, client_of);

    /// What a client was shown of a node that it may delete next; null if it may not read it.
    void looked(const simulated_store& client, const std::string& path, const store::node_stat* stat);

    /// The ensemble: what is there then is left to the servers, for the clients that made it may have forgotten it.
    void set_back() { nodes_.clear(); }
    /// Those of that client that are empty and still there, although nobody has kept it from deleting them, or what it
    /// has made in them.
    [[nodiscard]] std::vector<std::string> left_by(const simulated_store& client) const;

private:
    struct node {
        client maker = nullptr;
        bool container = false;
        bool kept = false; ///< it or one below it is not to be deleted, or could not be: it is left to the servers
        std::int64_t czxid = 0;
        std::int64_t mzxid = 0;
    };

    void written(const transaction& t, const znode_tree::effect& e);
    void created(const transaction& t);
    void written_into(const transaction& t);
    void removed(const transaction& t);
    void refused(const transaction& t);
    void keep(std::string path);
    /// The client made it, and nobody else has written into it.
    [[nodiscard]] bool is_own(client c, const store::node_stat& stat) const;
    /// Nobody can tell whose it is.
    [[nodiscard]] static bool may_be_own(client c, const std::string& path, const store::node_stat& stat);
    [[nodiscard]] static bool is_unused(const store::node_stat& stat);

    world& world_;
    const ensemble& ensemble_;
    const client_of client_of_;
    const bool scarce_;                      ///< a path's numbers may be: then whoever needs some deletes it
    std::map<std::string, node> nodes_;      ///< those that are there, and live longer than a session
    std::map<std::int64_t, client> writers_; ///< who made a node, or wrote its data, by the transaction
    std::map<std::pair<client, std::string>, store::node_stat> looks_; ///< the last of each
};

} // namespace zklock::simulator
