package dev.holdfast.examples.spring;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClosedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.event.EventListener;
import org.springframework.stereotype.Component;

/** One instance leads until it ends; then the lock client is closed, and the next one leads at once. */
@Component
public class Leader {
    private static final Logger LOG = LoggerFactory.getLogger(Leader.class);

    private final DistributedLock lock;

    Leader(LockClient locks) {
        lock = locks.lock("shop/leader");
    }

    @EventListener(ApplicationReadyEvent.class)
    void start() {
        Thread thread = new Thread(this::lead, "leader");
        thread.setDaemon(true);
        thread.start();
    }

    private void lead() {
        try {
            while (true) {
                try (Lease lease = lock.acquire()) {
                    LOG.info("this instance leads, token {}", lease.token());
                    LOG.info(
                            "this instance leads no more: {}",
                            lease.lost().toCompletableFuture().join());
                } catch (LeaseLostException e) {
                    LOG.info("asks again");
                }
            }
        } catch (LockClosedException e) {
            LOG.debug("the application ends", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
