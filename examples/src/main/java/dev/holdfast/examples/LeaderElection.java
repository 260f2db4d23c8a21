package dev.holdfast.examples;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Leadership;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** One of two nodes leads. When it closes, the other one leads, with a higher token, so that the bills refuse the first. */
public final class LeaderElection {
    private static final long PATIENCE_SECONDS = 60;

    /** What the leader writes to: it refuses a token lower than the highest that it has seen. */
    private static final class Bills {
        private final AtomicLong highest = new AtomicLong();

        boolean write(long token) {
            return highest.accumulateAndGet(token, Math::max) == token;
        }
    }

    /** A process of the cluster. */
    private static final class Node implements AutoCloseable {
        private final Bills bills;
        private final CompletableFuture<Long> elected = new CompletableFuture<>();
        private final CompletableFuture<Long> revoked = new CompletableFuture<>();
        private final LockClient client;
        private final Election election;

        Node(String address, String who, Bills bills) {
            this.bills = bills;
            client = LockClient.connect(
                    address, LockClientOptions.builder().who(who).build());
            election = client.election("billing")
                    .onElected(this::lead)
                    .onRevoked(leadership -> revoked.complete(leadership.token()))
                    .start();
        }

        private void lead(Leadership leadership) throws InterruptedException {
            while (leadership.isValid() && bills.write(leadership.token())) {
                elected.complete(leadership.token());
                TimeUnit.MILLISECONDS.sleep(100); // an interrupt ends the leadership's work
            }
        }

        @Override
        public void close() {
            election.close();
            client.close();
        }
    }

    private LeaderElection() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws Exception if the store fails
     */
    public static void main(String[] arguments) throws Exception {
        String address = StoreAddress.of(arguments);
        Bills bills = new Bills();
        long token;
        Node second;
        try (Node first = new Node(address, "node 1", bills)) {
            token = first.elected.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            second = new Node(address, "node 2", bills);
            System.out.println("node 1 leads: " + first.election.isLeader());
            System.out.println("node 2 leads beside it: " + second.election.isLeader());
            first.election.close();
            System.out.println(
                    "node 1 was revoked: " + (first.revoked.get(PATIENCE_SECONDS, TimeUnit.SECONDS) == token));
        }
        try (second) {
            long next = second.elected.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            System.out.println("node 2 follows with a higher token: " + (next > token));
            System.out.println("a late write of node 1 is accepted: " + bills.write(token));
        }
    }
}
