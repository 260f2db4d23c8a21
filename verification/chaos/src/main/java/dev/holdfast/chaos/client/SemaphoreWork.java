package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.Permit;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.ExecutionException;

/** Acquires one to three of the permits of a semaphore, in all the ways there are. */
final class SemaphoreWork implements Work {
    private static final int MOST = 3;

    private final WorkerContext bench;

    SemaphoreWork(WorkerContext bench) {
        this.bench = bench;
    }

    @Override
    public void step() throws IOException, InterruptedException {
        OpKind kind = bench.drawKind();
        int name = bench.drawName();
        int permits = bench.random().nextInt(1, MOST + 1);
        Hold hold = bench.hold(name, kind, new Demand.Permits(permits, Workload.LIMIT));
        DistributedSemaphore semaphore =
                bench.client().semaphore(ClientConfig.lockName(name), Workload.LIMIT, bench.options(kind));
        Section section = new Section(bench, hold, name, false);
        bench.attempt(hold, () -> perform(kind, semaphore, permits, section));
    }

    private void perform(OpKind kind, DistributedSemaphore semaphore, int permits, Section section)
            throws IOException, InterruptedException, ExecutionException {
        switch (kind) {
            case TRY_LOCK -> held(semaphore.tryAcquire(permits), section, kind);
            case TIMED, NOT_RENEWED -> held(semaphore.tryAcquire(permits, bench.patience()), section, kind);
            case LOCK -> held(Optional.of(semaphore.acquire(permits)), section, kind);
            case FIFO -> {
                Permit permit = semaphore.acquire(permits, WorkerContext.FIFO_PATIENCE);
                section.hold().acquired(System.nanoTime(), permit);
                section.pass(permit, bench.fifoHoldMillis(), false);
                WorkerContext.release(section.hold(), permit::close);
            }
            case CLOSED_ELSEWHERE -> {
                Permit permit = semaphore.acquire(permits);
                section.hold().acquired(System.nanoTime(), permit);
                section.pass(permit, bench.holdMillis(), false);
                bench.releaseElsewhere(section.hold(), permit::close);
            }
            case ASYNC -> bench.async(semaphore.acquireAsync(permits, bench.patience()), section);
            case LEFT_TO_CLOSE, DOWNGRADE -> throw new IllegalStateException("not drawn");
        }
    }

    private void held(Optional<Permit> permit, Section section, OpKind kind) throws IOException, InterruptedException {
        long nanos = System.nanoTime();
        if (permit.isEmpty()) {
            section.hold().failed(Outcome.BUSY);
        } else {
            section.hold().acquired(nanos, permit.get());
            bench.pass(section, permit.get(), kind);
            WorkerContext.release(section.hold(), permit.get()::close);
        }
    }
}
