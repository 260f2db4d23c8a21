package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.EventLog;
import dev.holdfast.lock.LockClient;
import java.io.IOException;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.function.BooleanSupplier;

/** One thread that works until it is asked to stop. The seed decides what it does next. */
final class Worker implements Runnable {
    private final WorkerContext bench;
    private final Work work;
    private final BooleanSupplier stopped;

    Worker(
            ClientConfig config,
            LockClient client,
            EventLog log,
            int thread,
            BooleanSupplier stopped,
            ExecutorService others)
            throws IOException {
        this.bench = new WorkerContext(
                config,
                client,
                log,
                thread,
                others,
                new RegisterClient(config.controlPort()),
                new SplittableRandom(config.seed()
                        + 1_000_003L * config.process().client()
                        + 10_007L * config.process().incarnation()
                        + thread));
        this.work = work(bench);
        this.stopped = stopped;
    }

    private static Work work(WorkerContext bench) {
        return switch (bench.config().workload()) {
            case MUTEX, RW -> new LockWork(bench);
            case SEMAPHORE -> new SemaphoreWork(bench);
            case ELECTION -> new ElectionWork(bench);
            case MULTI -> new MultiWork(bench);
        };
    }

    @Override
    public void run() {
        try (RegisterClient register = bench.register()) {
            while (!stopped.getAsBoolean()) {
                work.step();
                if (!bench.config().isThroughput()) {
                    Thread.sleep(bench.random().nextInt(1, 20));
                }
            }
            work.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            // The controller has gone.
        }
    }
}
