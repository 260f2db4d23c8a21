package dev.holdfast.lock.spi;

/** The server's answer to a release. */
public enum ReleaseResult {
    /** The grant was held and has been released. */
    RELEASED,
    /** The grant was not held any more: expired, deleted, taken over, or released before. */
    NOT_HELD
}
