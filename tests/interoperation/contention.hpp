#pragma once
#include "interoperation/peer.hpp"
#include "support/one_server.hpp"
#include "support/proxy.hpp"

namespace zklock::test {

/// One in the queue of a path.
struct place {
    peer* who;
    std::string attempt;

    void acquire(const std::string& recipe, const std::string& path, const std::string& options = {}) const
    {
        who->say("acquire " + attempt + " " + recipe + " " + path + " " + options);
    }
    [[nodiscard]] bool granted() const { return who->count(attempt, "granted") != 0; }
    void until_granted() const { who->wait_for(attempt, "granted"); }
    void release() const { who->say("release " + attempt); }
    void until_done() const { who->wait_for(attempt, "done"); }
    void give_up() const
    {
        who->say("cancel " + attempt);
        who->wait_for(attempt, "gave-up");
    }
};

/// Who contends, by which recipe and with which options.
struct rival {
    peer* who;
    std::string recipe;
    std::string options = {};
    int attempts = 3; ///< that its peer can make at once

    place acquire(const std::string& attempt, const std::string& path, const std::string& more = {}) const
    {
        const place one{who, attempt};
        one.acquire(recipe, path, options + " " + more);
        return one;
    }
};

/// A peer behind a proxy.
struct remote_peer {
    remote_peer(peer_scene& scene, maker of, const std::string& name, std::uint16_t server_port,
                milliseconds session_timeout = milliseconds{30'000})
        : link(server_port), process(scene, of, name, link.address(), session_timeout)
    {
    }
    proxy link;
    peer process;
};

void wait_ready(const std::vector<peer*>& peers);

/// Curator's, kazoo's and ours at the server, when all are ready. Its parts are meant to be bound to names.
struct three_peers {
    three_peers() { wait_ready({&curator, &kazoo, &ours}); }
    peer_scene scene;
    peer curator{scene, maker::curator, "curator", server().address()};
    peer kazoo{scene, maker::kazoo, "kazoo", server().address()};
    peer ours{scene, maker::zklock, "zklock", server().address()};
    admin_client admin{server().port()};
};
/// And two of ours that hand locks over past the servers.
struct three_and_two_direct_peers {
    three_and_two_direct_peers() { wait_ready({&curator, &kazoo, &ours, &one, &two}); }
    peer_scene scene;
    peer curator{scene, maker::curator, "curator", server().address()};
    peer kazoo{scene, maker::kazoo, "kazoo", server().address()};
    peer ours{scene, maker::zklock, "zklock", server().address()};
    peer one{scene, maker::zklock_direct, "zklock-direct-1", server().address()};
    peer two{scene, maker::zklock_direct, "zklock-direct-2", server().address()};
    admin_client admin{server().port()};
    std::vector<std::string> paths; ///< on which they have contended

    /// As contend(), on one path after another, until one of the two had the lock by word of the other.
    void until_handed_over(const std::string& path, const std::vector<rival>& contenders, int times);
    void quit_and_look();
};
/// Each behind a proxy of its own.
struct three_remote_peers {
    three_remote_peers() { wait_ready({&curator.process, &kazoo.process, &ours.process}); }
    peer_scene scene;
    remote_peer curator{scene, maker::curator, "curator", server().port()};
    remote_peer kazoo{scene, maker::kazoo, "kazoo", server().port()};
    remote_peer ours{scene, maker::zklock, "zklock", server().port()};
    admin_client admin{server().port()};
};
/// Somebody else's and ours.
struct two_peers {
    explicit two_peers(maker of_theirs)
        : theirs(scene, of_theirs, of_theirs == maker::kazoo ? "kazoo" : "curator", server().address())
    {
        wait_ready({&theirs, &ours});
    }
    peer_scene scene;
    peer theirs;
    peer ours{scene, maker::zklock, "zklock", server().address()};
    admin_client admin{server().port()};
};
/// A survivor and a victim of each maker; the sessions of the victims end soon after they are killed.
struct mortal_peers {
    mortal_peers() { wait_ready({&curator, &kazoo, &ours, &curator_victim, &kazoo_victim, &our_victim}); }
    peer_scene scene;
    peer curator{scene, maker::curator, "curator", server().address()};
    peer kazoo{scene, maker::kazoo, "kazoo", server().address()};
    peer ours{scene, maker::zklock, "zklock", server().address()};
    peer curator_victim{scene, maker::curator, "curator-victim", server().address(), 5s};
    peer kazoo_victim{scene, maker::kazoo, "kazoo-victim", server().address(), 5s};
    peer our_victim{scene, maker::zklock, "zklock-victim", server().address(), 5s};
    admin_client admin{server().port()};
};

void await_queue(admin_client& admin, const std::string& path, std::size_t count);

/// Their turns come in the order in which they have queued, one at a time, past those who gave up; the first place is
/// that of a node `first` that the test makes.
void queue_in_order(admin_client& admin, journal& noted, const std::string& path, const std::string& first,
                    const std::vector<rival>& contenders);

/// All of them at once, `times` turns for each attempt; every other attempt runs out of time now and then, and
/// between the turns connections are cut. They hold for a millisecond, if their options say nothing else. `permits`
/// tells where the nodes are that stand for permits, and how many there may be; without it the nodes of the path itself
/// have to be gone at the end.
void contend(admin_client& admin, journal& noted, const std::string& path, const std::vector<rival>& contenders,
             int times, const std::vector<proxy*>& links = {}, const std::map<std::string, std::size_t>& permits = {});

/// Nothing may be left when they have done what they were told, nor when they have ended, which they are told now.
void quit_and_look(zookeeper_server& server, const std::vector<peer*>& peers, const std::vector<std::string>& paths);

} // namespace zklock::test
