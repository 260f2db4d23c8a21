package dev.holdfast.lock.spring;

import dev.holdfast.lock.Leadership;

/**
 * This process has been elected: an event of an election that {@link LeaderEvents} has started. Listeners run on the election's thread for the leader: they may block, and
 * are interrupted when the leadership ends. A listener that throws makes this process resign.
 *
 * @param election the election's name
 * @param leadership the leadership that began
 */
public record LeaderElectedEvent(String election, Leadership leadership) {}
