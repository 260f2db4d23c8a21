package dev.holdfast.lock.testkit.server.network;

/** Which way bytes go through a {@link FaultProxy}. */
public enum Direction {
    /** What clients send. */
    TO_SERVER,
    /** What the server answers. */
    TO_CLIENT
}
