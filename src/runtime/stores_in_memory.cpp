#include "runtime/stores_in_memory.hpp"

#include <atomic>

namespace zklock::runtime {

namespace {

std::atomic<store_maker> maker{nullptr};
std::atomic<std::size_t> real{0};

} // namespace

void ask_for_stores(store_maker m) noexcept
{
    maker.store(m, std::memory_order_release);
}
store_maker maker_of_stores() noexcept
{
    return maker.load(std::memory_order_acquire);
}

std::size_t real_clients() noexcept
{
    return real.load(std::memory_order_relaxed);
}
real_client::real_client() noexcept
{
    real.fetch_add(1, std::memory_order_relaxed);
}
real_client::~real_client()
{
    real.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace zklock::runtime
