#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace zklock::bridge {

/// The client's end of what is spoken with the server on one connection, without a socket: its owner, who has the
/// socket, gives it what comes from there by put(), and sends what is pending(). Each call that is not const may make
/// something pending, read() too.
///
/// Not thread-safe: all calls come one after the other, each from any thread. No call blocks, throws or writes to a
/// descriptor; where memory fails, the connection has failed.
class engine {
public:
    enum class state : std::uint8_t {
        handshaking,
        open,
        ended, ///< the server says that nothing more will come: nothing can be read or written
        failed ///< failure() tells why; what is pending() tells the server
    };

    engine& operator=(engine&&) = delete;
    virtual ~engine() = default;

    [[nodiscard]] virtual state now_in() const noexcept = 0;

    /// Goes on with the handshake, as far as what was put() allows. The first call makes what begins it pending. It
    /// does nothing in other states.
    virtual state advance() noexcept = 0;

    /// Takes what came from the server. Nothing is decrypted yet: advance() or read() does that.
    virtual void put(std::span<const char> came) noexcept = 0;
    /// No more will come from the server: it has hung up (`why` is empty), or the socket says why in words. What was
    /// put() before should be read() before. Then the engine is `failed` or `ended`.
    virtual void no_more(std::string_view why) noexcept = 0;

    /// What is to be sent to the server now. It is valid until the next call that is not const.
    [[nodiscard]] virtual std::span<const char> pending() const noexcept = 0;
    /// The owner has sent so many bytes from the beginning of pending().
    virtual void sent(std::size_t) noexcept = 0;

    /// Makes all of it pending, as the server is to get it. Unless the engine is open, it does nothing, and returns
    /// false.
    virtual bool write(std::span<const char> plain) noexcept = 0;
    /// Reads what was put(), until `plain` is full or nothing whole is left, and returns how many bytes it wrote there.
    /// If that is less than there is room for, now_in() tells whether more may come.
    virtual std::size_t read(std::span<char> plain) noexcept = 0;

    /// Tells the server that nothing more will come, if the engine is open and has a way to say so.
    virtual void shut_down() noexcept = 0;

    /// Why it has failed, in one line. It is empty as long as nothing has failed, and if there was no memory for it.
    [[nodiscard]] virtual const std::string& failure() const noexcept = 0;
    /// Whether read() has returned something.
    [[nodiscard]] virtual bool heard() const noexcept = 0;
};

} // namespace zklock::bridge
