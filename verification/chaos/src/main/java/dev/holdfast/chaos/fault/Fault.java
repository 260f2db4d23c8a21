package dev.holdfast.chaos.fault;

import dev.holdfast.lock.testkit.server.network.Direction;
import java.util.Optional;

/**
 * One fault of a schedule.
 *
 * @param kind what
 * @param atMillis when, since the first fault could be
 * @param durationMillis for how long
 * @param target a number that chooses the client, the server or the connections
 * @param direction which way, for faults of the network; empty for both
 * @param amount milliseconds of added latency, or until clients lose the connections of what is late; or requests that are
 *     still answered. What is late and cut off arrives in the two and a half
 *     leases before the last
 */
public record Fault(
        FaultKind kind, long atMillis, long durationMillis, int target, Optional<Direction> direction, int amount) {}
