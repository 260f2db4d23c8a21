package dev.holdfast.lock.redis;

/**
 * How a backend behaves. Immutable.
 *
 * @param prefix the first part of all keys and channels
 * @param recordMillis for how long a token is remembered after its grant ended
 * @param notified true if waiters queue and are called, false if they poll
 * @param pollMinMillis the first interval of polling
 * @param pollMaxMillis the longest interval of polling
 */
record RedisSettings(String prefix, long recordMillis, boolean notified, long pollMinMillis, long pollMaxMillis) {}
