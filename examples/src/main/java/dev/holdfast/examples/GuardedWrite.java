package dev.holdfast.examples;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.jdbc.GuardedUpdate;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;

/**
 * A write that is safe even if its writer pauses for longer than the lease: the row stores the highest token that
 * has written it, and takes nothing from a lower one. The lock may be in any store; the row is in a database.
 */
public final class GuardedWrite {
    private static final GuardedUpdate SELL =
            GuardedUpdate.of("UPDATE item SET stock = ?, lock_token = :token WHERE id = ? AND lock_token <= :token");

    private GuardedWrite() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws Exception if the database or the store fails
     */
    public static void main(String[] arguments) throws Exception {
        try (LockClient client = LockClient.connect(StoreAddress.of(arguments));
                Connection database = DriverManager.getConnection("jdbc:h2:mem:guarded")) {
            try (Statement statement = database.createStatement()) {
                statement.execute(
                        "CREATE TABLE item (id INT PRIMARY KEY, stock INT, lock_token BIGINT NOT NULL DEFAULT 0)");
                statement.execute("INSERT INTO item VALUES (42, 10, 0)");
            }
            long staleToken; // of a holder that will pause, and be overtaken
            try (Lease lease = client.lock("item/42").acquire()) {
                staleToken = lease.token();
            }
            try (Lease lease = client.lock("item/42").acquire()) {
                System.out.println("rows written by the holder: " + SELL.execute(database, lease.token(), 9, 42));
            }
            System.out.println(
                    "rows written by the earlier holder, late: " + SELL.execute(database, staleToken, 9, 42));
        }
    }
}
