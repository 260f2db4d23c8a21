package dev.holdfast.examples.deploy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import java.time.Duration;

/** An application that takes a lock on each store given as an argument, and prints a line for each. */
public final class OneLockOnEach {

    /** Each store's client is loaded for its first connection, which on a busy machine takes seconds. */
    private static final LockClientOptions OPTIONS =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(10)).build();

    private OneLockOnEach() {}

    /**
     * Runs it.
     *
     * @param uris the stores' addresses
     */
    public static void main(String[] uris) {
        for (String uri : uris) {
            String scheme = uri.substring(0, uri.indexOf(':'));
            try (LockClient client = LockClient.connect(uri, OPTIONS);
                    Lease lease = client.lock("first/hour").acquire()) {
                System.out.println(scheme + ": token " + (lease.token() > 0));
            } catch (LockException | InterruptedException e) {
                System.out.println(scheme + ": " + e);
            } catch (Error e) {
                System.out.println(scheme + ": bare " + e);
            }
        }
    }
}
