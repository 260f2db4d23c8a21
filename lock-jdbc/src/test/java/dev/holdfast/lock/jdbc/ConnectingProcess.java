package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;

/** A child process that locks once and says so, or says why not. */
public final class ConnectingProcess {
    private ConnectingProcess() {}

    /** Argument: the address. */
    public static void main(String[] args) {
        try (LockClient client = LockClient.connect(args[0], HoldingProcess.PATIENT)) {
            client.lock("a name").acquire().close();
            System.out.println("locked");
        } catch (LockConfigurationException e) {
            System.out.println(e.getMessage());
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
