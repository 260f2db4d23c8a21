package dev.holdfast.benchmarks.candidate;

import java.time.Duration;
import java.util.Set;

/** A candidate of ours as an earlier commit has it: its workers run on that commit's classes. */
public final class Earlier implements Candidate {
    private final Candidate now;
    private final String revision;

    /**
     * The earlier state of a candidate.
     *
     * @param now the candidate; the earlier commit has one of the same name
     * @param revision the commit's name, for tables
     */
    public Earlier(Candidate now, String revision) {
        this.now = now;
        this.revision = revision;
    }

    @Override
    public String name() {
        return now.name() + "@" + revision;
    }

    @Override
    public String workerName() {
        return now.name();
    }

    @Override
    public Role role() {
        return now.role();
    }

    @Override
    public Set<Primitive> primitives() {
        return now.primitives();
    }

    @Override
    public boolean waits() {
        return now.waits();
    }

    @Override
    public boolean spansProcesses() {
        return now.spansProcesses();
    }

    @Override
    public boolean representative() {
        return now.representative();
    }

    @Override
    public boolean forHandingOn() {
        return now.forHandingOn();
    }

    @Override
    public Duration outlives() {
        return now.outlives();
    }

    @Override
    public Set<String> plainCommands() {
        return now.plainCommands();
    }

    @Override
    public Session open(String address) {
        throw new IllegalStateException(name() + " runs on other classes than this process has");
    }
}
