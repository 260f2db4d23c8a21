package dev.holdfast.lock.redis;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A waiter on a cluster, in a JVM with an older Lettuce; the lock is held until a line comes. */
final class OlderClientProgram {

    private OlderClientProgram() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("sharded "
                + Arrays.stream(RedisPubSubAsyncCommands.class.getMethods())
                        .anyMatch(method -> method.getName().equals("ssubscribe")));
        try (LockClient holder = LockClient.connect(arguments[0]);
                LockClient waiter = LockClient.connect(arguments[0])) {
            Lease held = holder.lock("older").acquire();
            CompletableFuture<Lease> waiting = waiter.lock("older").acquireAsync(Duration.ofMinutes(2));
            System.out.println("waiting");
            System.in.read();
            held.close();
            waiting.get(1, TimeUnit.MINUTES).close();
            System.out.println("handed over");
        }
        System.exit(0);
    }
}
