package dev.holdfast.lock.redis;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.util.function.Consumer;

/** An application in a class loader of its own, from its start to its end. */
public final class RedeployedProgram implements Consumer<String> {
    @Override
    public void accept(String uri) {
        try (LockClient locks = LockClient.connect(uri);
                Lease lease = locks.lock("redeployed").acquire()) {
            if (!lease.isValid()) {
                throw new IllegalStateException("the lease is not valid");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
