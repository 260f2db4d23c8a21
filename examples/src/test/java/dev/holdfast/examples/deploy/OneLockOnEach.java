package dev.holdfast.examples.deploy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;

/** An application that takes a lock on each store that it is told, and prints a line for each. */
public final class OneLockOnEach {

    private OneLockOnEach() {}

    /**
     * Runs it.
     *
     * @param uris the stores' addresses
     */
    public static void main(String[] uris) {
        for (String uri : uris) {
            String scheme = uri.substring(0, uri.indexOf(':'));
            try (LockClient client = LockClient.connect(uri);
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
