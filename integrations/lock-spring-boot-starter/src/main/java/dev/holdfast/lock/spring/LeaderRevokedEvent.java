package dev.holdfast.lock.spring;

import dev.holdfast.lock.Leadership;

/**
 * This process does not lead any more: an event of an election that {@link LeaderEvents} has started. Comes once for each {@link LeaderElectedEvent}, after its listeners have
 * returned.
 *
 * @param election the election's name
 * @param leadership the leadership that ended
 */
public record LeaderRevokedEvent(String election, Leadership leadership) {}
