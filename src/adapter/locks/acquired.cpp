#include "zklock/guard.hpp"
#include "zklock/multi_lock.hpp"
#include "zklock/result.hpp"
#include "zklock/semaphore.hpp"

namespace zklock {

// Not inline: gcc would take what value() gives of an error for something that was never made, and warn in programs'
// own code.
template <class T> acquired<T>::acquired(error_code why) : result<T>(why) {}

template acquired<guard>::acquired(error_code);
template acquired<multi_guard>::acquired(error_code);
template acquired<permits>::acquired(error_code);

} // namespace zklock
