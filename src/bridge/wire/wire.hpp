#pragma once
#include "bridge/wire/decoy.hpp"
#include "bridge/wire/inbox.hpp"
#include "bridge/wire/session_question.hpp"
#include "bridge/wire/store_requests.hpp"
#include "bridge/wire/wire_log.hpp"
#include "runtime/forks.hpp"
#include "zklock/errc.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

struct _zhandle;

namespace zklock::bridge {

/// What the C client waits for next.
struct interest {
    bool write = false;
    std::chrono::milliseconds within{0};
};

/// One handle of the C client, made to keep the store's contract: whatever the library does to a connection, its
/// requests are all answered before `disconnected` enters the inbox, and no watch outlives it.
///
/// The caller makes the TCP connections, because their order and pace are its own; the library is given one that is
/// there, in place of the socket with which it connects to a decoy (`decoy.hpp`: a bound port). Everything that the
/// library calls back only fills the inbox. No two threads are inside the library at once, whatever handle they use.
class wire {
public:
    wire(inbox& in, store_requests& requests, const client_options& options);
    ~wire();

    /// An attempt to connect to that address begins: the caller makes a TCP connection, and calls connect() or
    /// unreached(). One that asks for anything but service always fails.
    void begin(const std::string& address, session_question);
    /// The TCP connection could not be made.
    void unreached(const error_code& why);
    /// There is a TCP connection, and the caller is agreeing on TLS with the server before it calls connect().
    void tls_begins() noexcept { phase_ = phase::securing; }
    /// Before there is a TCP connection, the caller asks for tickets, with which the client identifies itself.
    void asks_kdc() noexcept { phase_ = phase::identifying; }
    [[nodiscard]] bool waits_for_kdc() const noexcept { return phase_ == phase::identifying; }
    /// They are there: the caller makes a TCP connection.
    void dials() noexcept { phase_ = phase::dialing; }
    /// There is a session, of which the C client is not told before the server and the client know each other.
    void authenticates() noexcept { authenticating_ = true; }
    [[nodiscard]] bool is_authenticating() const noexcept { return authenticating_; }
    /// They do.
    void has_authenticated(std::string_view by);
    /// Ends the attempt: the server refuses this client's identity.
    void sasl_refused(std::string_view why);
    /// Ends the attempt, at whatever point: no host name leads to that address any more.
    void leave();
    /// Ends the attempt, at whatever point: TLS has failed; or the client cannot identify itself by SASL, or the two do
    /// not come to know each other.
    void tls_failed(std::string_view why) { fail(loss::security, "TLS", why); }
    void sasl_failed(std::string_view why) { fail(loss::connection, "SASL", why); }
    /// The library goes on with a duplicate of that connected socket, and asks for the session. False, with a line in
    /// the log, when that failed at once.
    [[nodiscard]] bool connect(int socket);
    /// An attempt has begun, and the library has no socket yet.
    [[nodiscard]] bool is_dialing() const noexcept
    {
        return phase_ == phase::dialing || phase_ == phase::securing || phase_ == phase::identifying;
    }
    /// Has the library use a duplicate of that socket in place of the one that it has, where both lead to the same
    /// server and nothing is on its way. False if that failed: then it keeps the other.
    [[nodiscard]] bool go_on_with(int socket) noexcept;
    /// The library has a socket: it waits for a session, or is connected. Requests are made only in the latter case.
    [[nodiscard]] bool has_socket() const noexcept { return phase_ == phase::associating || is_connected(); }
    [[nodiscard]] bool is_connected() const noexcept { return phase_ == phase::connected; }
    /// How long the servers keep the present session without a connection.
    [[nodiscard]] std::chrono::milliseconds granted() const noexcept { return granted_; }
    /// Every server that answers refuses the credentials, or demands some: never connect again.
    void refused_by_all();
    /// Whether a server that says that the session is over is believed. If not, it ends the attempt by saying so.
    void believe_expiry(bool yes) noexcept { believes_expiry_ = yes; }
    /// What the last attempt has failed by, or the connection; it is told once.
    [[nodiscard]] loss take_loss() noexcept;
    /// What the last attempt was told; it is told once.
    [[nodiscard]] session_answer take_answer() noexcept { return std::exchange(answer_, session_answer::none); }
    /// Between two attempts: the servers have no such session any more.
    void give_session_up();
    /// How far the present attempt to connect has come; nothing if there is none.
    [[nodiscard]] std::optional<std::string> attempt() const;

    /// The library's own descriptor, or -1.
    [[nodiscard]] int descriptor() const noexcept { return has_socket() ? fd_ : -1; }
    /// What came of attempts; and where the caller says why it is about to end a connection.
    [[nodiscard]] wire_log& log() noexcept { return log_; }

    /// What to wait for. The call also pings, and notices a dead server: so call it when `within` is over.
    [[nodiscard]] interest next_interest();
    /// After so many packets, the executor's other work comes first.
    static constexpr int packets_at_once = 64;
    /// Reads up to `limit` packets and writes what waits. True when there may be more to read.
    bool process(bool writable, int limit);
    /// Ends the connection or the attempt; the session lives on.
    void sever();
    /// Ends an attempt that has had its time: the log tells what came of it.
    void end_attempt();

    /// Runs what makes a request.
    template <class F> void run(F make)
    {
        library_call in_library(*this);
        make();
        settle(); // a failed send closes the socket in there, silently
    }

    /// Ends session and connection. While connected, the socket must be readable and have nothing waiting to be
    /// written, or the library stops the thread.
    void close();
    /// Ends session and connection without those conditions, and without waiting: the server may not hear of it. In a
    /// forked process it only closes the descriptor.
    void abandon();
    /// Whether this is a copy: session and connection are those of a process that this one was forked off.
    [[nodiscard]] bool is_forked() const noexcept { return runtime::fork_count() != fork_count_; }

    /// What the library calls, beside the answers to requests: in a call to it, with this as context. Like these, it
    /// calls nobody back, and fills the inbox.
    static void on_event(_zhandle*, int type, int state, const char* path, void* self) noexcept;

private:
    enum class phase : std::uint8_t { none, identifying, dialing, securing, associating, connected };

    /// Stands around every call into the library: it has global state without locks, and its log callback has no
    /// context.
    class library_call {
    public:
        explicit library_call(wire& caller) : lock_(mutex) { current = &caller; }
        ~library_call() { current = nullptr; }

        static inline wire* current = nullptr; // guarded by the mutex

    private:
        static inline std::mutex mutex;
        std::lock_guard<std::mutex> lock_;
    };

    static void on_log(const char* line) noexcept;
    void on_session_event(int state);
    [[nodiscard]] int socket_towards(decoy&);
    [[nodiscard]] bool point_at(decoy&);
    [[nodiscard]] bool server_has_answered();
    void hung_up_unanswered();
    struct how_far;
    [[nodiscard]] how_far has_come() const noexcept;
    void fail(loss, std::string_view by, std::string_view why);
    void settle();
    [[nodiscard]] bool must_cut() const noexcept { return must_cut_ || requests_.in_doubt(); }
    void forget_to_cut() noexcept;
    void follow_state();
    void follow_question();
    void set_handle_aside() noexcept;
    void take_handle_back();
    void prepare_to_close();
    void end_epoch();
    void cut();
    void fail_unanswered();
    void drop_handle();
    void leave_to_parent();

    inbox& inbox_;
    const client_options& options_;
    wire_log log_;
    store_requests& requests_;
    const unsigned fork_count_; // of the process to which the handle belongs

    _zhandle* handle_ = nullptr;
    std::array<decoy, 2> decoys_{decoy(decoy::family::ipv4), decoy(decoy::family::ipv6)};
    decoy* decoy_ = nullptr; // at which the handle is pointed
    session_question asks_ = session_question::service;
    session_answer answer_ = session_answer::none;
    // The usual handle, while another asks; where it is pointed, and whether it is new.
    std::optional<std::tuple<_zhandle*, decoy*, bool>> aside_;
    phase phase_ = phase::none;
    int fd_ = -1;
    bool handle_is_new_ = false; // it has had no connection, and so has seen nothing
    bool believed_ = false;      // a ZooKeeper server gave the first answer on this connection
    bool authenticating_ = false;
    bool must_cut_ = false; // nothing more may come on this connection
    bool believes_expiry_ = true;
    loss loss_ = loss::connection;

    // The session, to go on with it in another handle.
    std::int64_t session_id_ = 0;
    char session_secret_[16] = {};
    std::chrono::milliseconds granted_{0};
};

} // namespace zklock::bridge
