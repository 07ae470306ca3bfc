// Prints how large the types are that programs and the shared library hand to each other, a line for each: layout.sh.
#include <zklock/zklock.hpp>

#include <cstddef>
#include <iostream>

namespace {

template <class T> void print(const char* name)
{
    std::cout << name << ' ' << sizeof(T) << ' ' << alignof(T) << '\n';
}

} // namespace

#define PRINT(type) print<zklock::type>(#type)

int main()
{
    PRINT(access_entry);
    PRINT(access_list);
    PRINT(acquired<zklock::guard>);
    PRINT(client);
    PRINT(client_options);
    PRINT(commit_result);
    PRINT(connection_event);
    PRINT(contender);
    PRINT(credentials);
    PRINT(election);
    PRINT(election_options);
    PRINT(guard);
    PRINT(held_lock);
    PRINT(latency_histogram);
    PRINT(leadership);
    PRINT(lock_event);
    PRINT(lock_loss);
    PRINT(lock_metrics);
    PRINT(lock_owner);
    PRINT(lockable);
    PRINT(metrics);
    PRINT(multi_guard);
    PRINT(multi_lock);
    PRINT(mutex);
    PRINT(mutex_options);
    PRINT(node_access);
    PRINT(node_content);
    PRINT(node_stat);
    PRINT(operation_result);
    PRINT(option_fault);
    PRINT(owned_shared_mutex);
    PRINT(permits);
    PRINT(reentrant_mutex);
    PRINT(semaphore);
    PRINT(semaphore_options);
    PRINT(shared_mutex);
    PRINT(shared_mutex_options);
    PRINT(tls_options);
    PRINT(transaction);
    PRINT(transaction::operation);
    PRINT(wait_report);
}
