package dev.holdfast.lock.etcd;

import java.util.Objects;

/**
 * A user of etcd. Immutable; its text form hides the password.
 *
 * @param user the user's name
 * @param password the password
 */
public record EtcdCredentials(String user, String password) {
    /**
     * Validates.
     *
     * @param user not empty
     * @param password not empty
     * @throws IllegalArgumentException if one of them is empty
     */
    public EtcdCredentials {
        Objects.requireNonNull(user, "user");
        Objects.requireNonNull(password, "password");
        if (user.isEmpty() || password.isEmpty()) {
            throw new IllegalArgumentException("etcd needs a user and a password, neither of them empty");
        }
    }

    @Override
    public String toString() {
        return "EtcdCredentials[user=" + user + "]";
    }
}
