package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What the strategies do with rows in the same way. */
public final class ExpiryRows {
    /** To MariaDB's driver: a statement whose length varies is not to be kept on the server. */
    public static final String PASSING = "/*client prepare*/";

    /** Added to the remaining milliseconds of a row that readers have, or some with permits. */
    public static final long BESIDE_SHARES = 1L << 50;

    private ExpiryRows() {}

    /** Tells within this package that a mutex found shares or permits; never leaves it. */
    public enum BesideShares implements Ticket {
        TICKET
    }

    /** Reads token, identity, and since in milliseconds. */
    public static Optional<HolderInfo> holder(Connection connection, String sql, String name) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            new StatementBinder(statement).name(name);
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next()) {
                    return Optional.empty();
                }
                Instant since = Instant.ofEpochMilli(rows.getLong(3));
                return Optional.of(Identity.decode(rows.getString(2)).holderInfo(rows.getLong(1), since));
            }
        }
    }

    /** An answer to an attempt: the token if it was granted, else the holder's remaining milliseconds. */
    public static AcquireResult granted(AcquireRequest request, long token) {
        return new AcquireResult.Granted(new Grant(request.acquisition(), token, request.leaseMillis(), null));
    }

    /** Zero and less mean that the holder is gone or about to: then nothing is known. */
    public static AcquireResult.Busy busy(long remainingMillis) {
        if (remainingMillis >= BESIDE_SHARES) {
            return new AcquireResult.Busy(busy(remainingMillis - BESIDE_SHARES).remainingMillis(), BesideShares.TICKET);
        }
        return new AcquireResult.Busy(remainingMillis > 0 ? remainingMillis : -1, null);
    }

    public static byte[][] names(List<Grant> grants) {
        return grants.stream()
                .map(grant -> LockName.utf8(grant.acquisition().name()))
                .toArray(byte[][]::new);
    }

    public static String[] owners(List<Grant> grants) {
        return grants.stream()
                .map(grant -> StatementBinder.ownerOf(grant.acquisition()))
                .toArray(String[]::new);
    }

    /** Collects the owners in the first column. */
    public static Set<OwnerId> owners(ResultSet rows, List<Grant> grants) throws SQLException {
        Map<String, OwnerId> asked = new HashMap<>();
        for (Grant grant : grants) {
            AcquisitionId acquisition = grant.acquisition();
            asked.put(StatementBinder.ownerOf(acquisition), acquisition.owner());
        }
        Set<OwnerId> found = new HashSet<>();
        while (rows.next()) {
            OwnerId owner = asked.get(rows.getString(1));
            if (owner != null) {
                found.add(owner);
            }
        }
        return found;
    }

    /** Splits a list where a statement's size has a limit. */
    public static <T> List<List<T>> chunks(List<T> all, int size) {
        List<List<T>> chunks = new ArrayList<>();
        for (int from = 0; from < all.size(); from += size) {
            chunks.add(all.subList(from, Math.min(all.size(), from + size)));
        }
        return Collections.unmodifiableList(chunks);
    }
}
