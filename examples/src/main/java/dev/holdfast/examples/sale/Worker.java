package dev.holdfast.examples.sale;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One process of the sale. It reads {@code go}, {@code hold}, {@code carry-on} and {@code stop} on its standard input,
 * and says one line for each sale. It ends when its input does, so that it never outlives the program that started it.
 */
final class Worker {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long HOLD_NANOS = 10_000_000;

    private final SaleConfig config;
    private final PrintStream out;
    private final CountDownLatch go = new CountDownLatch(1);
    private final CountDownLatch open;
    private final CountDownLatch done;
    private volatile boolean hold;
    private volatile boolean stopped;

    private Worker(SaleConfig config, PrintStream out) {
        this.config = config;
        this.out = out;
        this.open = new CountDownLatch(config.threads());
        this.done = new CountDownLatch(config.threads());
    }

    /**
     * Runs a worker.
     *
     * @param arguments none; see {@link SaleConfig}
     */
    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        int status = 0;
        try {
            new Worker(SaleConfig.read(System.getenv()), out).run();
        } catch (Exception e) {
            out.println("error " + oneLine(e));
            status = 1;
        }
        System.exit(status);
    }

    private void run() throws Exception {
        daemon("orders", this::obey);
        String backend = config.backend();
        if (backend == null) {
            sellWith(null);
            return;
        }
        LockOptions options = LockOptions.builder()
                .lease(Duration.ofMillis(config.leaseMillis()))
                .build();
        try (LockClient client = LockClient.connect(
                backend, LockClientOptions.builder().lockOptions(options).build())) {
            sellWith(client);
        }
    }

    private void sellWith(@Nullable LockClient client) throws InterruptedException {
        for (int i = 0; i < config.threads(); i++) {
            daemon("seller-" + i, () -> sellUntilStopped(client));
        }
        open.await(); // the sale's time begins with what is ready, and connecting takes seconds on a busy machine
        out.println("ready");
        done.await();
        out.println("done");
    }

    private void sellUntilStopped(@Nullable LockClient client) {
        try (Shop shop = Shop.open(config.shop())) {
            open.countDown();
            go.await();
            DistributedLock lock = client == null ? null : client.lock(config.lock());
            boolean more = true;
            while (more && !stopped) {
                more = lock == null ? sellUnlocked(shop) : sellLocked(shop, lock);
            }
        } catch (InterruptedException | LockClosedException e) {
            Thread.currentThread().interrupt();
        } catch (SQLException | RuntimeException e) {
            out.println("error " + oneLine(e));
            open.countDown(); // it may not have been opened; an error ends the sale
        } finally {
            done.countDown();
        }
    }

    private boolean sellUnlocked(Shop shop) throws SQLException {
        Shop.Offer offer = shop.look();
        if (offer.stock() <= 0) {
            return false;
        }
        Shop.think(config.thinkMicros());
        shop.sell(offer, 0);
        out.println("sold 0 0");
        return true;
    }

    private boolean sellLocked(Shop shop, DistributedLock lock) throws SQLException, InterruptedException {
        long startNanos = System.nanoTime();
        try (Lease lease = lock.acquire(PATIENCE)) {
            long waitedMicros = (System.nanoTime() - startNanos) / 1_000;
            Shop.Offer offer = shop.look();
            if (offer.stock() <= 0) {
                return false;
            }
            holdIfTold(lease);
            Shop.think(config.thinkMicros());
            boolean accepted = shop.sell(offer, lease.token());
            out.println((accepted ? "sold " : "refused ") + lease.token() + " " + waitedMicros);
        } catch (LeaseLostException e) {
            out.println("lost 0 0");
        }
        return true;
    }

    /** Pauses in the middle of a sale, holding and renewing the lock, until the process is killed or reads {@code carry-on}. */
    private void holdIfTold(Lease lease) {
        if (hold) {
            out.println("holding " + lease.token() + " 0");
            while (hold && !stopped) {
                LockSupport.parkNanos(this, HOLD_NANOS);
            }
        }
    }

    private void obey() {
        try (BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                switch (order) {
                    case "go" -> go.countDown();
                    case "hold" -> hold = true;
                    case "carry-on" -> hold = false;
                    default -> stopped = true;
                }
            }
        } catch (IOException e) {
            out.println("error " + oneLine(e));
        }
        Runtime.getRuntime().halt(2);
    }

    private void daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static String oneLine(Throwable failure) {
        return String.valueOf(failure).replaceAll("\\s+", " ");
    }
}
