package dev.holdfast.benchmarks.candidate;

import java.time.Duration;
import java.util.Set;

/** One way to lock. Immutable and thread-safe; everything that costs is in the session. */
public interface Candidate {

    /**
     * The candidate's name in tables and on command lines.
     *
     * @return lower case, without spaces
     */
    String name();

    /**
     * The name by which a worker process finds it.
     *
     * @return the same, unless the worker has the classes of another commit
     */
    default String workerName() {
        return name();
    }

    /**
     * What it is there for.
     *
     * @return the role
     */
    Role role();

    /**
     * What its sessions have.
     *
     * @return a lock, unless it says otherwise
     */
    default Set<Primitive> primitives() {
        return Set.of(Primitive.LOCK);
    }

    /**
     * Returns whether its {@code lock} waits for a busy lock. The others take part in uncontended scenarios only.
     *
     * @return whether it waits
     */
    default boolean waits() {
        return true;
    }

    /**
     * Returns whether it excludes other processes. The others are there for comparison within one.
     *
     * @return whether it does
     */
    default boolean spansProcesses() {
        return true;
    }

    /**
     * Returns whether it stands for its library where there is no time for all: in the scenarios of many locks, many waiters and
     * growth.
     *
     * @return whether it does
     */
    default boolean representative() {
        return false;
    }

    /**
     * Whether the documentation recommends it for locks that are handed on often between processes.
     *
     * @return true if so
     */
    default boolean forHandingOn() {
        return false;
    }

    /**
     * How long its lock outlives a killed holder by its defaults, without the time to notice: what the killed-holder scenario
     * has to expect.
     *
     * @return the time; zero if there is nothing to kill for
     */
    default Duration outlives() {
        return Duration.ofSeconds(60);
    }

    /**
     * Commands that Redis counts for this candidate in addition to scripts and subscriptions, which are counted for all. What
     * scripts call inside is not counted.
     *
     * @return names as in INFO commandstats
     */
    default Set<String> plainCommands() {
        return Set.of();
    }

    /**
     * Connects to the store.
     *
     * @param address of the store, as {@code LockClient.connect} takes it
     * @return a session for all threads of this process
     * @throws Exception if it cannot connect
     */
    Session open(String address) throws Exception;
}
