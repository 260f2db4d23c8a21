package dev.holdfast.examples;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.MultiLease;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Transfers in both directions at once. Taken one by one, the two locks would sooner or later be waited for in a circle. */
public final class SeveralLocks {
    private static final int TRANSFERS = 20;

    /** Two accounts; {@code transfer} needs the locks of both. */
    private static final class Accounts {
        private final int[] balance = {100, 100};

        void transfer(int from, int to) {
            int read = balance[from];
            int other = balance[to];
            Thread.yield(); // another thread would read the same here
            balance[from] = read - 1;
            balance[to] = other + 1;
        }
    }

    private SeveralLocks() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws Exception if the store fails
     */
    public static void main(String[] arguments) throws Exception {
        String address = StoreAddress.of(arguments);
        Accounts accounts = new Accounts();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try (LockClient one = LockClient.connect(address);
                LockClient other = LockClient.connect(address)) {
            List<Callable<Integer>> directions =
                    List.of(() -> transfer(one, accounts, 0, 1), () -> transfer(other, accounts, 1, 0));
            int transfers = 0;
            for (Future<Integer> direction : pool.invokeAll(directions)) {
                transfers += direction.get();
            }
            System.out.println("transfers: " + transfers);
            System.out.println("balances: " + accounts.balance[0] + " and " + accounts.balance[1]);
            try (MultiLease held = one.lockAll("account/0", "account/1").acquire()) {
                System.out.println("one of them is free meanwhile: "
                        + other.lock("account/1").tryAcquire().isPresent());
                System.out.println("tokens: one each, " + (held.token("account/0") > 0 && held.token("account/1") > 0));
            }
        } finally {
            pool.shutdown();
        }
    }

    private static int transfer(LockClient client, Accounts accounts, int from, int to) throws InterruptedException {
        for (int i = 0; i < TRANSFERS; i++) {
            try (MultiLease leases =
                    client.lockAll("account/" + from, "account/" + to).acquire(Duration.ofMinutes(1))) {
                leases.ensure(Duration.ofSeconds(1));
                accounts.transfer(from, to);
            }
        }
        return TRANSFERS;
    }
}
