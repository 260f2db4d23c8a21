package dev.holdfast.examples.sale;

import dev.holdfast.examples.parts.AtExit;
import dev.holdfast.examples.parts.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One sale from start to end: starts the worker processes, shows progress, kills one of them on request, and counts what
 * was sold. Not thread-safe.
 */
final class Sale {

    private static final long START_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final SaleConfig config;
    private final int processes;
    private final int stock;
    private final Duration length;
    private final Path log;
    private final Progress progress;
    private final SaleCounts counts = new SaleCounts();
    private final List<ChildJvm> workers = new ArrayList<>();

    Sale(SaleConfig config, int processes, int stock, Duration length, Path log, Progress progress) {
        this.config = config;
        this.processes = processes;
        this.stock = stock;
        this.length = length;
        this.log = log;
        this.progress = progress;
    }

    /** Runs the sale; with {@code killOne}, a process is killed while it holds the lock. */
    SaleResult run(boolean killOne) throws IOException, SQLException, InterruptedException {
        AtExit end = AtExit.run(this::killAll);
        try (end;
                Shop shop = Shop.open(config.shop())) {
            shop.stock(stock);
            startWorkers();
            long startNanos = System.nanoTime();
            workers.forEach(worker -> worker.tell("go"));
            long endNanos = sell(shop, startNanos, killOne);
            stopWorkers();
            progress.end();
            failOnError();
            return new SaleResult(
                    stock,
                    shop.look().stock(),
                    shop.sold(),
                    (endNanos - startNanos) / 1e9,
                    counts.waitMillis(50),
                    counts.waitMillis(99),
                    counts.takeOverNanos(),
                    counts.refused(),
                    counts.lost());
        }
    }

    private void startWorkers() throws IOException, InterruptedException {
        for (int i = 0; i < processes; i++) {
            workers.add(ChildJvm.start(Worker.class, config.environment(), log, counts::onOutput));
        }
        boolean ready =
                counts.await(START_NANOS, () -> counts.ready() == processes || counts.error() != null || anyDead());
        failOnError();
        if (!ready || anyDead()) {
            throw new IOException("the worker processes did not start; their log:\n" + Files.readString(log));
        }
    }

    /** Until it is sold out or the time is over, and the killed process has been replaced. */
    private long sell(Shop shop, long startNanos, boolean killOne) throws SQLException, InterruptedException {
        boolean toldToHold = false;
        boolean killed = false;
        long hardEndNanos =
                length.toNanos() + TimeUnit.MILLISECONDS.toNanos(3 * config.leaseMillis()) + START_NANOS / 2;
        while (true) {
            long ranNanos = System.nanoTime() - startNanos;
            int left = shop.look().stock();
            progress.show(ranNanos, stock, left, shop.sold());
            boolean late = ranNanos > length.toNanos() / 3 || left < stock * 2 / 3;
            if (killOne && !toldToHold && late) {
                workers.forEach(worker -> worker.tell("hold"));
                toldToHold = true;
            }
            ChildJvm holder = counts.holder();
            if (holder != null && !killed) {
                kill(holder);
                killed = true;
            }
            boolean tookOver = !killOne || counts.takeOverNanos().isPresent();
            boolean over = left <= 0 || ranNanos > length.toNanos();
            if (counts.error() != null || (over && (tookOver || ranNanos > hardEndNanos)) || allDone()) {
                return System.nanoTime();
            }
            boolean waitForHolder = toldToHold && !killed;
            counts.await(TICK_NANOS, () -> allDone() || (waitForHolder && counts.holder() != null));
        }
    }

    private void kill(ChildJvm victim) {
        counts.killed();
        victim.kill();
        workers.forEach(worker -> worker.tell("carry-on"));
        progress.say("process " + victim.pid() + " holds the lock and gets SIGKILL; its lease has "
                + config.leaseMillis() / 1_000.0 + " s or less to go");
    }

    private boolean allDone() {
        return workers.stream().noneMatch(ChildJvm::isAlive) || counts.ended() == processes;
    }

    private boolean anyDead() {
        return workers.stream().anyMatch(worker -> !worker.isAlive());
    }

    private void stopWorkers() throws InterruptedException {
        workers.forEach(worker -> worker.tell("stop"));
        for (ChildJvm worker : workers) {
            worker.awaitEnd(TimeUnit.NANOSECONDS.toSeconds(START_NANOS));
        }
    }

    private void failOnError() throws IOException {
        @Nullable String error = counts.error();
        if (error != null) {
            throw new IOException("a worker process failed: " + error.replaceFirst("^error ", ""));
        }
    }

    private void killAll() {
        workers.forEach(ChildJvm::close);
    }
}
