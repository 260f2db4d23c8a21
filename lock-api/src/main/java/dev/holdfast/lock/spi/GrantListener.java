package dev.holdfast.lock.spi;

import dev.holdfast.lock.LossReason;

/** Receives a backend's observations of a grant between renewals. Thread-safe; calls are cheap and never block. */
public interface GrantListener {

    /**
     * The grant may end at any time; it counts as invalid until its next renewal is confirmed.
     *
     * @param grant the suspect grant
     * @param detail what was observed
     */
    void suspect(Grant grant, String detail);

    /**
     * The grant has ended on the server.
     *
     * @param grant the ended grant
     * @param reason why
     * @param detail what was observed
     */
    void lost(Grant grant, LossReason reason, String detail);
}
